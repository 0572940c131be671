/** The files that a run writes besides its journal: those of --rejects, --summary-json and --report. */
import { relative } from 'node:path';
import type { Session } from '../cli/session.ts';
import { exitCodes, Failure, Stopped } from '../core/errors.ts';
import { absolutePath } from '../core/files.ts';
import type { ListRef } from '../core/item.ts';
import { printJson } from '../core/json.ts';
import { openSpool } from '../core/spool.ts';
import { countOf, printable } from '../core/text.ts';
import { descriptorNamed, type OutputFile, openOutput } from '../core/write-file.ts';
import { jsonText } from '../output/layout.ts';
import {
  type CommandEnd,
  type RowResultShown,
  type RunResults,
  rowResultView,
  rowsOf,
  runSummary,
  type SummarizedRun,
  stepResultView,
  summaryObject,
} from '../output/runs.ts';
import type { RejectsFormat } from '../rows/rejects.ts';
import type { NamedList } from '../services/service.ts';
import type { RunLimits } from './flags.ts';

export interface RejectsFile<R> {
  add(row: R, error: string): void;
  /**
   * Writes the file, also without rows, since it replaces that of an earlier run.
   *
   * @throws {Failure} local-file
   */
  end(): Promise<void>;
  /** Removes the file, also that of an earlier run, if not every failed row is known. */
  discard(): void;
}

const batchLength = 65_536;

/** The outputs of a run beside its results. */
export interface RunOutputs {
  readonly report: FailureReport;
  readonly summary: Summary;
  readonly rejects: OutputFile | undefined;
  /** Closes the files that are not closed when the command ends. */
  close(): Promise<void>;
}

/** The run that outputs are about. */
interface OutputsOf extends Omit<SummarizedRun, 'profile' | 'site' | 'list'> {
  /** Undefined if only the input names it. */
  readonly list: NamedList | undefined;
  /** The input, as typed, if failures are in lines of it. */
  readonly file?: string | undefined;
  /** Whether stdout is for items that are read. */
  readonly printsItems?: boolean;
  /** Whether nothing is sent: such a command has reports alone. */
  readonly isOnlyShown?: boolean | undefined;
}

/**
 * Opens the files of `--report`, `--summary-json` and `--rejects`, before the first request, while other files can still
 * be named.
 *
 * @throws {Failure} usage, if results go to the same output; local-file
 */
export async function openOutputs(
  { reports, summaryJson, rejects: typed }: Pick<RunLimits, 'reports' | 'summaryJson' | 'rejects'>,
  { file, printsItems = false, isOnlyShown = false, ...of }: OutputsOf,
  session: Session,
): Promise<RunOutputs> {
  const command = { apply: 'apply', undo: 'runs undo' }[of.action] ?? `items ${of.action}`;
  const report = await openFailureReport(reports, { command, file }, session);
  if (isOnlyShown) return { report, summary: noSummary, rejects: undefined, close: async () => {} };
  const summary = await openSummary(summaryJson, of, session);
  const rejects = typed === undefined ? undefined : await openAside(typed, '--rejects', printsItems, session);
  return { report, summary, rejects, close: async () => rejects?.close() };
}

/** Opens an output beside the results; stdout may be one if nothing else is printed there. */
function openAside(file: string, flag: string, printsItems: boolean, session: Session): Promise<OutputFile> {
  if (descriptorNamed(file, session.host) === 1) session.output.claimStdout(flag, printsItems);
  return openOutput(file, flag, session.host);
}

/** Starts a rejects file, spooled to a private temporary file until the run has ended. */
export function openRejectsFile<R>(
  output: OutputFile | undefined,
  format: RejectsFormat<R>,
): RejectsFile<R> | undefined {
  if (output === undefined) return undefined;
  const spool = openSpool();
  function* lines() {
    yield format.head?.() ?? '';
    yield* spool.lines();
    yield format.tail?.() ?? '';
  }
  return {
    // A person reads the file in a terminal as well.
    add: (row, error) => spool.add(format.row(row, printable(error))),
    end: () => output.write(batched(lines())),
    discard: () => output.discard(),
  };
}

/** Joins lines or other short texts, so that each piece is worth a system call. */
export function* batched(lines: Iterable<string>): Generator<string> {
  let batch = '';
  for (const line of lines) {
    batch += line;
    if (batch.length < batchLength) continue;
    yield batch;
    batch = '';
  }
  yield batch;
}

/** A summary that is printed when the command ends. */
export interface Summary {
  /** The ids of a list that was given by names or a URL. */
  resolved(list: ListRef): void;
  ended(run: RunResults): void;
}

const noSummary: Summary = { resolved: () => {}, ended: () => {} };

/** @throws {Failure} usage, for a dry run with --summary-json; before `openOutputs` */
export function refuseSummary(file: string | undefined): void {
  if (file !== undefined) throw new Failure('usage', '--summary-json cannot be used with --dry-run');
}

/**
 * Opens a summary, before anything is sent. It is written when the command ends, with its exit code.
 *
 * @param file as typed; `-` is stdout
 * @throws {Failure} usage, if stdout is for results; local-file
 */
async function openSummary(
  file: string | undefined,
  { list = { site: '', list: '' }, ...of }: OutputsOf,
  session: Session,
): Promise<Summary> {
  const as = 'url' in list ? { site: '', list: list.url } : list;
  let summarized: SummarizedRun = { ...of, ...as, profile: session.settings.profile() };
  const write = file === undefined ? undefined : await summaryFile(file, session);
  let ended: RunResults | undefined;
  session.command.atEnd(async (error, exit) => {
    const unwritten = await write?.(`${printJson(summaryObject(summarized, ended, { error, exit }), 2)}\n`);
    // An earlier error takes precedence.
    if (unwritten !== undefined && error !== undefined) await session.messages.report(unwritten);
    const isEnd = unwritten !== undefined && error === undefined;
    const end = isEnd ? { error: unwritten, exit: exitCodes[unwritten.kind] } : { error, exit };
    if (ended !== undefined) await print(summarized, ended, end, session);
    if (isEnd) throw unwritten;
  });
  return {
    resolved: ({ site, list: id }) => {
      summarized = { ...summarized, site, list: id };
    },
    ended: (run) => {
      ended = run;
    },
  };
}

async function print(of: SummarizedRun, ended: RunResults, end: CommandEnd, session: Session): Promise<void> {
  // The plan on stdout says that nothing changes.
  const hasPlan = session.output.format(true) === 'pretty' && !session.output.hasQuery;
  if (of.action === 'apply' && rowsOf(ended.totals) === 0 && hasPlan) return;
  const lines = () =>
    session.messages
      .errorScreen()
      .then((screen) => runSummary({ ...of, target: session.settings.target() }, ended, screen));
  await session.messages.summarize(summaryObject(of, ended, end), lines);
  for (const note of ended.notes) await session.messages.say(note);
}

async function summaryFile(file: string, session: Session): Promise<(text: string) => Promise<Failure | undefined>> {
  const { host } = session;
  if (descriptorNamed(file, host) === 1 && session.output.format(true) !== 'none') {
    throw new Failure('usage', `--summary-json ${file} cannot be used without -o none: results are on stdout`, {
      hint: 'pass -o none or a file name',
    });
  }
  const output = await openOutput(file, '--summary-json', host);
  return async (text) => {
    try {
      return await failureOf(() => output.write([text]));
    } finally {
      await output.close();
    }
  };
}

/** Returns the failure of work instead of throwing it, so that the summary is printed. */
export async function failureOf(work: () => Promise<void>): Promise<Failure | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

/** The files of `--report`, by a name for messages. */
export function reportFiles(targets: RunLimits['reports']): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(targets.map(({ format, file }) => [`--report ${format}`, file]));
}

/** The command, such as `items create`, and its input as typed, if failures are in lines of it. */
interface Reported {
  readonly command: string;
  readonly file: string | undefined;
}

/** One format of `--report`. */
interface ReportWriter {
  /** Takes a failure by its name: that of a row, a step, or the command. */
  add?(name: string, failure: Failure): void;
  /** Takes the result of a row or step, failed or not. */
  result?(shown: RowResultShown): void;
  text(): Iterable<string>;
}

/**
 * Opens the reports, before anything is sent. They are written when the command ends; the failure that it ends with is
 * in them if it is not that of rows or steps.
 *
 * @throws {Failure} usage, if results go to the same output; local-file
 */
async function openFailureReport(
  targets: RunLimits['reports'],
  of: Reported,
  session: Session,
): Promise<FailureReport> {
  const report = new Report(of);
  for (const { format, file } of targets) {
    const writer = openWriter(format, of, report, session);
    report.writers.push(writer);
    const output = await openAside(file ?? '/dev/stderr', '--report', false, session);
    session.command.atEnd(async (error) => {
      report.endWith(error);
      const unwritten = await failureOf(() => output.write(batched(writer.text()))).finally(() => output.close());
      if (unwritten === undefined) return;
      // An earlier error takes precedence.
      if (error === undefined) throw unwritten;
      await session.messages.report(unwritten);
    });
  }
  return report;
}

function openWriter(
  format: RunLimits['reports'][number]['format'],
  of: Reported,
  report: Report,
  session: Session,
): ReportWriter {
  if (format === 'github') return new Annotations(annotatedFile(of.file, session));
  return format === 'junit' ? new JunitSuite(of, report) : resultLines(of);
}

/** The results of all rows or steps, as `--output jsonl` prints them. */
function resultLines({ command }: Reported): ReportWriter {
  const spool = openSpool();
  const { json } = command === 'apply' ? stepResultView : rowResultView;
  return { result: (shown) => spool.add(`${jsonText(json(shown))}\n`), text: () => spool.lines() };
}

/** Kinds of failures that sum up those of rows. */
const aggregateKinds: ReadonlySet<string> = new Set(['incomplete', 'in-doubt', 'usage', 'conflict']);

export type FailureReport = Pick<Report, 'add' | 'result' | 'ended'>;

class Report {
  readonly writers: ReportWriter[] = [];
  readonly counts = { failed: 0, done: 0, left: 0 };
  readonly #command: string;
  #hasEnded = false;

  constructor({ command }: Reported) {
    this.#command = command;
  }

  add(failure: Failure): void {
    this.counts.failed += 1;
    const name = nameOf(failure, this.#command);
    for (const writer of this.writers) writer.add?.(name, failure);
  }

  result(shown: RowResultShown): void {
    for (const writer of this.writers) writer.result?.(shown);
  }

  /** Counts the rows or steps that did not fail. */
  ended({ done, left }: { readonly done: number; readonly left: number }): void {
    Object.assign(this.counts, { done, left });
  }

  endWith(error: unknown): void {
    if (this.#hasEnded || error === undefined) return;
    this.#hasEnded = true;
    const failure = error instanceof Failure ? error : new Failure('incomplete', stopText(error));
    if (this.counts.failed > 0 && aggregateKinds.has(failure.kind)) return;
    this.add(failure);
  }
}

function stopText(error: unknown): string {
  return error instanceof Stopped ? `stopped by ${error.signal}` : 'listctl failed: see its output';
}

/** `row 3 (line 4)`, `create "Bread"`, or the command for a failure of all. */
function nameOf({ details: { about = {} } }: Failure, command: string): string {
  const { key, action, row, line, id } = about;
  if (key !== undefined) return `${action ?? 'item'} ${JSON.stringify(key)}`;
  if (row === undefined) return id === undefined ? command : `item ${JSON.stringify(id)}`;
  return `row ${row}${line === undefined ? '' : ` (line ${line})`}`;
}

/** GitHub shows at most ten errors of a step. */
const annotationsMax = 10;

/** Workflow commands of GitHub Actions. */
class Annotations implements ReportWriter {
  readonly #file: string | undefined;
  readonly #lines: string[] = [];
  #count = 0;

  constructor(file: string | undefined) {
    this.#file = file;
  }

  add(name: string, failure: Failure): void {
    this.#count += 1;
    if (this.#lines.length < annotationsMax) this.#lines.push(this.#line(name, failure));
  }

  *text(): Generator<string> {
    const isAll = this.#count <= annotationsMax;
    yield* isAll ? this.#lines : this.#lines.slice(0, -1);
    if (isAll) return;
    const more = countOf(this.#count - annotationsMax + 1, 'more failure');
    yield `::error title=listctl::${escapeData(`${more}: see the log`)}\n`;
  }

  #line(name: string, failure: Failure): string {
    const { line, column, columnName } = failure.details.about ?? {};
    // The column of a table is not a place in a line.
    const properties = { file: this.#file, line, col: columnName === undefined ? column : undefined, title: name };
    const known = Object.entries(properties).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}=${escapeProperty(String(value))}`],
    );
    return `::error ${known.join(',')}::${escapeData(failure.message)}\n`;
  }
}

/** The path in the repository: GitHub takes relative ones from there. */
function annotatedFile(typed: string | undefined, { host }: Session): string | undefined {
  if (typed === undefined || typed === '-') return undefined;
  const root = host.env['GITHUB_WORKSPACE'];
  const path = root ? relative(root, absolutePath(typed, host)) : typed;
  return path.startsWith('..') ? typed : path;
}

/** As the toolkit of GitHub Actions escapes it; what is not printable is escaped as everywhere. */
function escapeData(text: string): string {
  return printable(text).replaceAll('%', '%25');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/** JUnit XML, as GitLab, Jenkins and Azure Pipelines read it. */
class JunitSuite implements ReportWriter {
  readonly #of: Reported;
  readonly #counts: Report['counts'];
  readonly #spool = openSpool();
  #errors = 0;

  constructor(of: Reported, { counts }: Report) {
    this.#of = of;
    this.#counts = counts;
  }

  add(name: string, failure: Failure): void {
    const { message, kind, details } = failure;
    const element = kind === 'in-doubt' ? 'error' : 'failure';
    if (element === 'error') this.#errors += 1;
    const { requestId, hint, about } = details;
    const text = [message, ...(requestId === undefined ? [] : [`request ${requestId}`]), ...(hint?.split('\n') ?? [])];
    const start = `<${element} message="${escapeXml(message)}" type="${kind}">`;
    this.#spool.add(this.#case(name, `${start}${text.map(escapeXml).join('\n')}</${element}>`, about?.line));
  }

  *text(): Generator<string> {
    const { failed, done, left } = this.#counts;
    const rest = [
      ...(done > 0 || failed + left === 0 ? [this.#case(`${countOf(done, 'other')} done`, '')] : []),
      ...(left > 0 ? [this.#case(`${countOf(left, 'other')} not sent`, '<skipped/>')] : []),
    ];
    const [failures, errors, skipped] = [failed - this.#errors, this.#errors, left > 0 ? 1 : 0];
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n';
    yield `<testsuite name="listctl ${this.#of.command}" tests="${failed + rest.length}" failures="${failures}"`;
    yield ` errors="${errors}" skipped="${skipped}">\n`;
    yield* this.#spool.lines();
    yield* rest;
    yield '</testsuite>\n</testsuites>\n';
  }

  #case(name: string, result: string, line?: number): string {
    const { command, file } = this.#of;
    const attributes = { classname: file ?? command, name, file, line };
    const texts = Object.entries(attributes).map(([key, value]) =>
      value === undefined ? '' : ` ${key}="${escapeXml(String(value))}"`,
    );
    const start = `<testcase${texts.join('')}`;
    return result === '' ? `${start}/>\n` : `${start}>${result}</testcase>\n`;
  }
}

/** Also escapes what XML 1.0 has no way to write: controls, half characters, U+FFFE and U+FFFF. */
function escapeXml(text: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return printable(text).replace(/[&<>"\ufffe\uffff]/g, (found) => entities[found] ?? '\ufffd');
}
