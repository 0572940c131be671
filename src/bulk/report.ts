/** Reports the results of the rows of a run: done rows to stdout; failures to stderr or, with a machine format, to stdout. */

import { serviceWords } from '../cli/flags.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import type { Item } from '../core/item.ts';
import { objectFrom } from '../core/json.ts';
import { type FailureGroup, FailureGroups } from '../output/failure.ts';
import { itemView } from '../output/item.ts';
import type { Printer } from '../output/printer.ts';
import type { ProgressDisplay } from '../output/progress.ts';
import { type RowResultShown, rowResultView, stepResultView } from '../output/runs.ts';
import type { View } from '../output/view.ts';
import type { RunRecording } from './record.ts';
import type { PlannedRow, RunPlan, SentResult } from './senders.ts';
import type { RowResult } from './task.ts';

/** The most failures in text; JSON has all, and all are counted. */
const shownMax = 20;

interface Printed extends RowResultShown {
  readonly item?: Item | undefined;
}

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

/** Takes the results of rows with `add`, and prints the rest with `end`. */
export class RowReport<R extends PlannedRow> {
  /** The steps of a plan that are done. */
  readonly applied = { created: 0, updated: 0, deleted: 0 };
  /** The first ten names of rows in doubt, if rows have names. */
  readonly inDoubtNames: string[] = [];
  readonly #plan: RunPlan<R>;
  readonly #session: Session;
  readonly #groups = new FailureGroups();
  /** Whether failures go to stderr; otherwise they are results. */
  readonly #reportsFailures: boolean;
  /** Whether done rows are only counted. */
  readonly #isSilent: boolean;
  #printer: Printer<Printed> | undefined;
  #hasPrinted = false;
  #progress: Pick<ProgressDisplay, 'clear'> | undefined;
  #recorded: RunRecording | undefined;
  #shown = 0;

  /** Opens the report; throws for an invalid query or format (usage). */
  static async open<R extends PlannedRow>(plan: RunPlan<R>, session: Session): Promise<RowReport<R>> {
    const report = new RowReport(plan, session);
    const clear = () => report.#progress?.clear();
    report.#printer = await session.output.open<Printed>(views[plan.prints], true, clear);
    return report;
  }

  private constructor(plan: RunPlan<R>, session: Session) {
    this.#plan = plan;
    this.#session = session;
    const format = session.output.format(true);
    const isResult = plan.prints !== 'items' && (format !== 'pretty' || session.output.hasQuery);
    this.#reportsFailures = !isResult;
    this.#isSilent = !isResult && plan.prints === 'results';
  }

  readonly add = (result: RowResult<R, SentResult>): Promise<void> | undefined => {
    const { row, status } = result;
    if (status === 'left') {
      this.#plan.rejects?.add(row, `not sent: ${result.reason}`);
      return undefined;
    }
    const { number, id, name: key, action = this.#plan.action } = row;
    if (status === 'done') {
      if (action === 'create') this.applied.created += 1;
      else if (action === 'update') this.applied.updated += 1;
      else if (action === 'delete') this.applied.deleted += 1;
      const { value } = result;
      const item = 'members' in value ? value : undefined;
      const shown = { row: number, key, action, status, id: value.id, item };
      this.#plan.report?.result(shown);
      return this.#isSilent ? undefined : this.#print(shown);
    }
    const shown = status === 'in-doubt' ? this.#doubtOf(row, result.failure) : result.failure;
    const place = key === undefined ? { row: number, line: row.line } : { key, action };
    const failure = shown.about({ ...place, id });
    return this.#notDone(row, { row: number, key, action, status, id, failure }, failure);
  };

  /** Prints the rest of the results. */
  async end(): Promise<void> {
    await this.#printer?.end();
  }

  /** Ends results that were begun, of a run that could not start: an empty list would say that there is nothing. */
  async abort(): Promise<void> {
    if (this.#hasPrinted) await this.end();
  }

  groups(): readonly FailureGroup[] {
    return this.#groups.list();
  }

  /**
   * Clears the progress before anything is printed.
   *
   * @param recorded undefined for a run without a journal
   */
  attach(progress: Pick<ProgressDisplay, 'clear'>, recorded: RunRecording | undefined): void {
    this.#progress = progress;
    this.#recorded = recorded;
  }

  #print(shown: Printed): Promise<void> | undefined {
    this.#hasPrinted = true;
    return this.#printer?.print(shown);
  }

  #notDone(row: R, shown: Printed, failure: Failure): Promise<void> | undefined {
    this.#groups.add(row.number, failure, row.name);
    this.#plan.report?.add(failure);
    this.#plan.report?.result(shown);
    this.#recorded?.texts?.add(row.number, failure);
    if (shown.status === 'failed') this.#plan.rejects?.add(row, failure.message);
    else if (row.name !== undefined && this.inDoubtNames.length < 10) this.inDoubtNames.push(row.name);
    if (!this.#reportsFailures) return this.#print(shown);
    this.#shown += 1;
    return this.#shown > shownMax && !this.#session.messages.isJsonWanted ? undefined : this.#report(row, failure);
  }

  /** Replaces the hint, which is that of a single item. */
  #doubtOf({ number }: R, { message, details }: Failure): Failure {
    const { action } = this.#plan;
    const { word } = this.#recorded ?? {};
    const isOfRun = word !== undefined && action !== 'apply';
    const service = serviceWords(this.#session.settings.sources.flags);
    const hint = isOfRun
      ? `check whether it was ${this.#plan.done}, then run: listctl runs resolve ${word}${service} --row ${number} --applied ID, or --not-applied`
      : undefined;
    return new Failure('in-doubt', message, { ...details, hint });
  }

  async #report({ number, line, name }: R, failure: Failure): Promise<void> {
    this.#progress?.clear();
    const { message } = failure;
    const where = line === undefined || message.startsWith('line ') ? '' : ` (line ${line})`;
    const row = name === undefined ? `row ${number}${where}` : `"${name}"`;
    const { messages } = this.#session;
    const isLast = this.#shown === shownMax && !messages.isJsonWanted;
    // With --quiet there is no summary.
    const rest = isLast && messages.isQuiet ? ' (further failures are not shown)' : '';
    await messages.report(failure.about({}, `${row}: ${message}${rest}`));
    if (isLast) await messages.say('  further failures are not shown; see the summary');
  }
}
