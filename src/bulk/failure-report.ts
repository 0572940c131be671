/** Reports failures to CI systems: `--report github` as annotations, `--report junit=FILE` as a test report. */
import { relative } from 'node:path';
import type { Session } from '../cli/session.ts';
import { Failure, Stopped } from '../core/errors.ts';
import { absolutePath } from '../core/files.ts';
import { openSpool } from '../core/spool.ts';
import { countOf, printable } from '../core/text.ts';
import { descriptorNamed, type OutputFile, openOutput } from '../core/write-file.ts';
import type { RunLimits } from './flags.ts';
import { batched, failureOf } from './outputs.ts';

/** The files of `--report`, by a name for messages. */
export function reportFiles(targets: RunLimits['reports']): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(targets.map(({ format, file }) => [`--report ${format}`, file]));
}

/** The command, such as `items create`, and its input as typed, if failures are in lines of it. */
interface Reported {
  readonly command: string;
  readonly file: string | undefined;
}

/**
 * Opens the reports, before anything is sent. They are written when the command ends; the failure that it ends with is
 * in them if it is not that of rows or steps.
 *
 * @throws {Failure} usage, if results go to the same output; local-file
 */
export async function openFailureReport(
  targets: RunLimits['reports'],
  of: Reported,
  session: Session,
): Promise<FailureReport> {
  const report = new Report(of);
  for (const { format, file } of targets) {
    const writer = format === 'github' ? new Annotations(annotatedFile(of.file, session)) : new JunitSuite(of, report);
    report.writers.push(writer);
    const output = await openTarget(file, session);
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

async function openTarget(file: string | undefined, session: Session): Promise<OutputFile> {
  if (file === undefined) return openOutput('/dev/stderr', '--report', session.host);
  if (descriptorNamed(file, session.host) === 1) session.output.claimStdout('--report', false);
  return openOutput(file, '--report', session.host);
}

/** Kinds of failures that sum up those of rows. */
const sums: ReadonlySet<string> = new Set(['incomplete', 'in-doubt', 'usage', 'conflict']);

/** Collects the failures of a command. */
export type FailureReport = Pick<Report, 'add' | 'ended'>;

class Report {
  readonly writers: (Annotations | JunitSuite)[] = [];
  readonly counts = { failed: 0, done: 0, left: 0 };
  readonly #command: string;
  #hasEnded = false;

  constructor({ command }: Reported) {
    this.#command = command;
  }

  /** @param failure of a row or step, with what it is about */
  add(failure: Failure): void {
    this.#write(failure);
  }

  /** Counts the rows or steps that did not fail. */
  ended({ done, left }: { readonly done: number; readonly left: number }): void {
    Object.assign(this.counts, { done, left });
  }

  endWith(error: unknown): void {
    if (this.#hasEnded || error === undefined) return;
    this.#hasEnded = true;
    const failure = error instanceof Failure ? error : new Failure('incomplete', stopText(error));
    if (this.counts.failed > 0 && sums.has(failure.kind)) return;
    this.#write(failure);
  }

  #write(failure: Failure): void {
    this.counts.failed += 1;
    const name = nameOf(failure, this.#command);
    for (const writer of this.writers) writer.add(name, failure);
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
class Annotations {
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
class JunitSuite {
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
