/** What came of each row, in the order of the input: results to stdout, failures to whoever sits there. */
import type { RowResult } from '../../bulk/task.ts';
import { Failure } from '../../errors.ts';
import type { Item } from '../../item.ts';
import { objectFrom } from '../../json.ts';
import { type FailureGroup, openFailureGroups } from '../../output/failure-groups.ts';
import { itemView } from '../../output/item-view.ts';
import { type RowResultShown, rowResultView, stepResultView } from '../../output/row-result-view.ts';
import type { View } from '../../output/view.ts';
import type { Print } from '../printing.ts';
import type { Session } from '../session.ts';
import type { Progress } from './progress.ts';
import type { SentResult } from './row-sender.ts';
import type { PlannedRow, RowsPlan, Settled } from './rows-plan.ts';

/** Takes the results of a run. */
export interface RowReport<R> extends Settled {
  /** Prints the results that `work` leads to. */
  printing(work: () => Promise<void>): Promise<void>;
  /** Takes one result. */
  readonly take: (result: RowResult<R, SentResult>) => Promise<void> | undefined;
  groups(): readonly FailureGroup[];
  /** The names of rows in doubt, where rows have names; the first ten. */
  readonly doubtful: readonly string[];
  /**
   * From now on the progress is taken away before anything is printed beside it.
   *
   * @param word names the run on a command line, where it is recorded
   */
  attach(progress: Progress, word: string | undefined): void;
}

/** A person is shown so many failures, a program all of them; all of them are counted. */
const shownMax = 20;

interface Printed extends RowResultShown {
  readonly item?: Item | undefined;
}

/** What was read is printed as the items that they are. */
const readView: View<Printed> = {
  pretty: (results, screen) => itemView.pretty(results.map(itemIn), screen),
  json: (result) => itemView.json(itemIn(result)),
  id: (result) => itemView.id(itemIn(result)),
  row: (result) => itemView.row?.(itemIn(result)) ?? new Map(),
};

const views = { results: rowResultView, steps: stepResultView, items: readView };

function itemIn({ item, id = '' }: Printed): Item {
  return item ?? { id, fields: objectFrom([]), members: objectFrom([['id', id]]) };
}

/** Makes the report of a run. */
export function openRowReport<R extends PlannedRow>(plan: RowsPlan<R>, session: Session): RowReport<R> {
  return new Report(plan, session);
}

class Report<R extends PlannedRow> implements RowReport<R> {
  settled = 0;
  failed = 0;
  inDoubt = 0;
  readonly doubtful: string[] = [];
  readonly #plan: RowsPlan<R>;
  readonly #session: Session;
  readonly #groups = openFailureGroups();
  /** Whether failures are for a person on stderr; else they are results like any other. */
  readonly #tellsFailures: boolean;
  /** Whether what was done is seen in the summary alone. */
  readonly #isSilent: boolean;
  #print: Print<Printed> = () => undefined;
  #progress: Progress | undefined;
  #word: string | undefined;
  #shown = 0;

  constructor(plan: RowsPlan<R>, session: Session) {
    this.#plan = plan;
    this.#session = session;
    const format = session.format(true);
    const isResult = plan.prints !== 'items' && (format !== 'pretty' || session.hasQuery);
    this.#tellsFailures = !isResult;
    this.#isSilent = !isResult && plan.prints !== 'items';
  }

  async printing(work: () => Promise<void>): Promise<void> {
    const printAll = async (print: Print<Printed>) => {
      this.#print = print;
      await work();
    };
    await this.#session.printing<Printed>(views[this.#plan.prints], true, printAll, undefined, () =>
      this.#progress?.clear(),
    );
  }

  readonly take = (result: RowResult<R, SentResult>): Promise<void> | undefined => {
    const { row, status } = result;
    if (status === 'left') {
      this.#plan.rejects?.add(row, 'not sent: the run stopped before');
      return undefined;
    }
    this.settled += 1;
    const { number, id, name: key, action = this.#plan.action } = row;
    if (status === 'done') {
      if (this.#isSilent) return undefined;
      const { value } = result;
      const item = 'members' in value ? value : undefined;
      return this.#print({ row: number, key, action, status, id: value.id, item });
    }
    const told = status === 'in-doubt' ? this.#doubtOf(row, result.failure) : result.failure;
    const place = key === undefined ? { row: number, line: row.line } : { key, action };
    const failure = told.about({ ...place, id });
    return this.#notDone(row, { row: number, key, action, status, id, failure }, failure);
  };

  groups(): readonly FailureGroup[] {
    return this.#groups.list();
  }

  attach(progress: Progress, word: string | undefined): void {
    this.#progress = progress;
    this.#word = word;
  }

  #notDone(row: R, shown: Printed, failure: Failure): Promise<void> | undefined {
    this.#groups.add(row.number, failure, row.name);
    if (shown.status === 'failed') {
      this.failed += 1;
      this.#plan.rejects?.add(row, failure.message);
    } else {
      this.inDoubt += 1;
      if (row.name !== undefined && this.doubtful.length < 10) this.doubtful.push(row.name);
    }
    if (!this.#tellsFailures) return this.#print(shown);
    this.#shown += 1;
    return this.#shown > shownMax && !this.#session.isJsonWanted ? undefined : this.#tell(row, failure);
  }

  /** What to do about a row is not what to do about a single item. */
  #doubtOf({ number }: R, { message, details }: Failure): Failure {
    const { action } = this.#plan;
    const word = this.#word;
    const isOfRun = word !== undefined && action !== 'apply';
    const hint = isOfRun
      ? `look whether it was ${this.#plan.done}, then: listctl runs resolve ${word} --row ${number} --applied ID, or --not-applied`
      : undefined;
    return new Failure('in-doubt', message, { ...details, hint });
  }

  async #tell({ number, line, name }: R, failure: Failure): Promise<void> {
    this.#progress?.clear();
    const { message } = failure;
    const where = line === undefined || message.startsWith('line ') ? '' : ` (line ${line})`;
    const row = name === undefined ? `row ${number}${where}` : `"${name}"`;
    await this.#session.report(failure.about({}, `${row}: ${message}`));
    if (this.#shown === shownMax && !this.#session.isJsonWanted)
      await this.#session.say('  further rows are counted below, and not shown');
  }
}
