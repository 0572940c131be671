/** The flags of bulk runs: their declaration and parsing. */
import type { Command } from 'commander';
import { parseFormFlags } from '../cli/encode-fields.ts';
import { choiceOption, OptionalValueOption, parseRatePerSecond, rateExpected } from '../cli/flags.ts';
import { addMaxDeleteOption, readMaxDelete } from '../cli/guards.ts';
import { collect } from '../cli/values.ts';
import { Failure } from '../core/errors.ts';
import { type CellType, cellTypes, type ReadingOptions, type RowAction, type RowsOptions } from '../rows/types.ts';
import { durationParser, parseFlag, parseNames, parseOneOf } from '../settings/setting.ts';

/** The flags as typed. */
export interface BulkFlags {
  readonly maxDelete?: string;
  readonly inputFormat?: string;
  readonly delimiter?: string;
  readonly encoding?: string;
  /** False with --no-quotes. */
  readonly quotes?: boolean;
  readonly decimal?: string;
  readonly rename?: readonly string[];
  readonly only?: string;
  readonly type?: readonly string[];
  readonly empty?: string;
  readonly names?: string;
  readonly split?: string;
  readonly idColumn?: string;
  readonly rows?: string;
  readonly concurrency?: string;
  readonly rate?: string;
  readonly maxErrors?: string;
  readonly failFast?: boolean;
  readonly rejects?: string;
  readonly summaryJson?: string;
  readonly report?: readonly string[];
  readonly skipInvalid?: boolean;
  /** True without a run. */
  readonly resume?: string | boolean;
  readonly restart?: boolean;
  readonly journal?: string;
  readonly keepBefore?: boolean;
  readonly inDoubt?: string;
  readonly lockTimeout?: string;
  readonly breakLock?: boolean;
  readonly shard?: string;
  readonly idempotencyKeyFrom?: string;
  readonly keyField?: string;
}

/** Limits of a run, its output files and its lock. */
export interface RunLimits {
  readonly concurrency: number;
  readonly ratePerSecond: number | undefined;
  readonly maxErrors: number;
  readonly rejects: string | undefined;
  /** `-` is stdout. */
  readonly summaryJson: string | undefined;
  /** Where to report failures; without a file, on stderr. */
  readonly reports: readonly { readonly format: (typeof reportFormats)[number]; readonly file: string | undefined }[];
  readonly lockWaitMs: number;
  readonly breakLock: boolean;
}

/** The parsed flags of a bulk run, with defaults. */
export interface BulkOptions extends ReadingOptions, RunLimits {
  readonly skipInvalid: boolean;
  /** A string names the run. */
  readonly resume: string | boolean;
  readonly restart: boolean;
  readonly journal: string | undefined;
  /** False for `--journal none`. */
  readonly hasJournal: boolean;
  /** Whether the earlier values of the items are kept, for an undo. */
  readonly keepBefore: boolean;
  /** Undefined for the default of the action. */
  readonly inDoubt: 'hold' | 'retry' | 'skip' | undefined;
  readonly shard: RowsOptions['shard'];
  readonly keysFrom: KeySource | undefined;
  /** The column that keys are written into (Microsoft Graph). */
  readonly keyField: string | undefined;
  readonly maxDelete: number | undefined;
}

/** Declares the flags of `--from`. */
export function addBulkOptions(command: Command, action: RowAction): void {
  command.optionsGroup('Bulk flags (with --from):').option('--skip-invalid', 'skip invalid rows and send the rest');
  if (action === 'delete') addMaxDeleteOption(command);
  addPaceOptions(command);
  addReportOption(command);
  command
    .addOption(new OptionalValueOption('--resume[=run]', 'resume the last run of these rows'))
    .option('--restart', 'send every row again, also those done')
    .option('--journal <file>', 'journal file, or none to keep no record')
    .addOption(choiceOption('--in-doubt <how>', 'in doubt on --resume', doubts))
    .option('--shard <I/N>', 'only shard I of N, for parallel jobs');
  if (action === 'update' || action === 'delete')
    command.option('--keep-before', 'keep earlier values, for "runs undo"');
  if (action === 'create') command.option('--idempotency-key-from <source>', 'derive keys from row, content or column');
  addInputOptions(command);
  if (action === 'create' || action === 'update') addFieldReadingOptions(command);
}

/** Declares the flags for reading the ids of `--from`. */
export function addInputOptions(command: Command): void {
  addReadingOptions(command.optionsGroup('Input flags (with --from):'));
  command
    .option('--id-column <name>', 'column that holds the item id (default "id")')
    .addOption(choiceOption('--rows <kind>', 'JSON rows as', rowKinds, 'auto'));
}

/** Declares the flags for decoding a file. */
export function addReadingOptions(command: Command): void {
  command
    .addOption(choiceOption('--input-format <format>', 'input format', formats))
    .option('--delimiter <character>', 'CSV delimiter (default: detected)')
    .option('--encoding <name>', 'file encoding, e.g. windows-1252 (default utf-8)')
    .option('--no-quotes', 'CSV, TSV: quotes are ordinary characters');
}

/** Declares the flags for mapping columns to fields. */
export function addFieldReadingOptions(command: Command): void {
  command
    .option('--rename <Column=Field>', 'map a column to another field; repeatable', collect)
    .option('--only <names>', 'import only these columns, e.g. A,B')
    .option('--type <Field=type>', `${cellTypes.join(', ')}; '*' = rest`, collect)
    .option('--decimal <character>', 'decimal separator of numbers: "." or ","')
    .addOption(choiceOption('--empty <meaning>', 'empty cells', empties, 'omit'));
}

/** Declares the flags for limits, outputs and locks. */
export function addPaceOptions(command: Command): void {
  addRateOptions(command);
  command
    .option('--max-errors <n>', 'stop after this many failed rows')
    .option('--fail-fast', 'stop after the first failed row')
    .option('--rejects <file>', 'file for failed rows and their errors')
    .option('--summary-json <file>', 'file for a JSON summary ("-" = stdout)');
  addLockOptions(command);
}

export function addReportOption(command: Command): void {
  command.option('--report <format[=file]>', 'github, junit=FILE; all rows: jsonl=FILE', collect);
}

export function addRateOptions(command: Command): void {
  command
    .option('--concurrency <n>', 'maximum concurrent requests (default 32)')
    .option('--rate <n/s>', 'maximum request rate, e.g. 10/s or 600/m');
}

export function addLockOptions(command: Command): void {
  command
    .option('--lock-timeout <time>', 'wait for a lock, e.g. 30s (default 0)')
    .option('--break-lock', 'break a stale lock left by another host');
}

const parseLockTimeout = durationParser({ max: '100d', allowZero: true });

const formats = ['csv', 'tsv', 'jsonl', 'json', 'yaml', 'ids'] as const;
const empties = ['omit', 'string', 'null'] as const;
const rowKinds = ['auto', 'items', 'fields'] as const;
const doubts = ['hold', 'retry', 'skip'] as const;

/**
 * Parses the flags.
 *
 * @throws {Failure} usage
 */
export function parseBulkFlags(flags: BulkFlags): BulkOptions {
  if (flags.resume && flags.restart) throw new Failure('usage', '--resume cannot be used with --restart');
  const hasJournal = flags.journal !== 'none';
  const { resume, restart, keepBefore } = flags;
  const needsJournal = (resume && '--resume') || (restart && '--restart') || (keepBefore && '--keep-before');
  if (!hasJournal && needsJournal) {
    throw new Failure('usage', `${needsJournal} cannot be used with --journal none`);
  }
  return {
    ...parseReadingFlags(flags),
    ...parsePaceFlags(flags),
    skipInvalid: flags.skipInvalid === true,
    resume: parseResume(flags),
    restart: flags.restart === true,
    journal: hasJournal ? flags.journal : undefined,
    hasJournal,
    keepBefore: keepBefore === true,
    inDoubt: oneOf('--in-doubt', doubts, flags.inDoubt),
    shard: flags.shard === undefined ? undefined : parseShard(flags.shard),
    keysFrom: flags.idempotencyKeyFrom === undefined ? undefined : parseKeySource(flags.idempotencyKeyFrom),
    keyField: flags.keyField,
    maxDelete: readMaxDelete(flags),
  };
}

/** @throws {Failure} usage */
function parseResume({ resume = false, journal }: BulkFlags): string | boolean {
  if (resume === '') throw new Failure('usage', 'invalid --resume "": expected a run');
  if (typeof resume === 'string' && journal !== undefined) {
    throw new Failure('usage', `--resume=${resume} cannot be used with --journal`, {
      hint: 'pass --resume alone to resume the run of that journal',
    });
  }
  return resume;
}

/** Parses the flags for reading a file, as `parseBulkFlags`. */
export function parseReadingFlags(flags: BulkFlags): ReadingOptions {
  const { inputFormat, only, idColumn = 'id' } = flags;
  if (idColumn === '') throw new Failure('usage', 'invalid --id-column "": expected a name');
  return {
    format: oneOf('--input-format', formats, inputFormat === 'ndjson' ? 'jsonl' : inputFormat),
    delimiter: flags.delimiter,
    encoding: flags.encoding,
    quotes: flags.quotes,
    decimal: parseDecimal(flags.decimal),
    rename: pairs('--rename', 'Column=Field', flags.rename),
    only: only === undefined ? undefined : parseFlag('--only', only, parseNames),
    types: typesOf(flags.type),
    empty: oneOf('--empty', empties, flags.empty) ?? 'omit',
    idColumn,
    rows: oneOf('--rows', rowKinds, flags.rows) ?? 'auto',
    ...parseFormFlags(flags),
  };
}

/** Parses limits and outputs, as `parseBulkFlags`. */
export function parsePaceFlags(flags: BulkFlags): RunLimits {
  const { concurrency, rate, maxErrors, lockTimeout, rejects, summaryJson, report } = flags;
  const errorsMax = maxErrors === undefined ? Number.POSITIVE_INFINITY : whole('--max-errors', maxErrors, 1e9);
  return {
    concurrency: concurrency === undefined ? 32 : whole('--concurrency', concurrency, 1024),
    ratePerSecond: rate === undefined ? undefined : parseRate(rate),
    maxErrors: flags.failFast ? 1 : errorsMax,
    ...{ rejects, summaryJson, reports: parseReports(report) },
    lockWaitMs: lockTimeout === undefined ? 0 : parseFlag('--lock-timeout', lockTimeout, parseLockTimeout),
    breakLock: flags.breakLock === true,
  };
}

const reportFormats = ['github', 'junit', 'jsonl'] as const;

/**
 * Parses the values of `--report`: `github`, `github=FILE`, `junit=FILE` or `jsonl=FILE`.
 *
 * @throws {Failure} usage
 */
function parseReports(texts: readonly string[] = []): RunLimits['reports'] {
  const targets = texts.map((text) => {
    const [name = '', ...rest] = text.split('=');
    const format = reportFormats.find((each) => each === name);
    const file = rest.length === 0 ? undefined : rest.join('=');
    if (format !== undefined && (file ?? format) !== '' && (file !== undefined || format === 'github')) {
      return { format, file };
    }
    throw new Failure('usage', `invalid --report "${text}": expected github, github=FILE, junit=FILE or jsonl=FILE`);
  });
  for (const format of reportFormats) {
    if (targets.filter((each) => each.format === format).length > 1) {
      throw new Failure('usage', `invalid --report: ${format} is given twice`);
    }
  }
  return targets;
}

/** The limits of a run whose rows take two requests each: --rate counts requests. */
export function withHalfRate<L extends RunLimits>(limits: L): L {
  const { ratePerSecond } = limits;
  return ratePerSecond === undefined ? limits : { ...limits, ratePerSecond: ratePerSecond / 2 };
}

function oneOf<T extends string>(flag: string, values: readonly T[], text: string | undefined): T | undefined {
  return text === undefined ? undefined : parseFlag(flag, text, parseOneOf(values));
}

function parseDecimal(text: string | undefined): RowsOptions['decimal'] {
  if (text === undefined || text === '.' || text === ',') return text;
  throw new Failure('usage', `invalid --decimal "${text}": expected "." or ","`);
}

function pairs(flag: string, form: string, texts: readonly string[] = []): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const text of texts) {
    // The last "=", since a column name may contain one.
    const at = text.lastIndexOf('=');
    const [name, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1 || value === '') throw new Failure('usage', `invalid ${flag} "${text}": expected ${form}`);
    if (found.has(name)) throw new Failure('usage', `invalid ${flag}: "${name}" is given twice`);
    found.set(name, value);
  }
  return found;
}

function typesOf(texts: readonly string[] | undefined): ReadonlyMap<string, CellType> {
  // `A=number,B=auto`, as --only takes names.
  const each = texts?.flatMap((text) => text.split(afterType));
  const typed = [...pairs('--type', 'Field=type', each)];
  return new Map(typed.map(([name, word]) => [name, oneOf('--type', cellTypes, word) ?? 'string']));
}

const afterType = new RegExp(`(?<==(?:${cellTypes.join('|')})),`);

function whole(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d{1,10}$/.test(text) && value >= 1 && value <= max) return value;
  throw new Failure('usage', `invalid ${flag} "${text}": expected a whole number from 1 to ${max}`);
}

function parseRate(text: string): number {
  const value = parseRatePerSecond(text);
  if (value !== undefined) return value;
  throw new Failure('usage', `invalid --rate "${text}": expected ${rateExpected}`);
}

/** A single shard is every row, as without the flag. */
function parseShard(text: string): RowsOptions['shard'] {
  const [, index = '', count = ''] = /^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  if (shard.index >= 1 && shard.index <= shard.count) return shard.count === 1 ? undefined : shard;
  throw new Failure('usage', `invalid --shard "${text}": expected I/N with I from 1 to N, such as 2/4`, {
    hint: 'add 1 if the jobs are numbered from 0',
  });
}

/** The source of a row's key: number and content, content, or a column. */
export type KeySource =
  | { readonly kind: 'row' }
  | { readonly kind: 'content' }
  | { readonly kind: 'column'; readonly name: string };

export const columnPrefix = 'column:';

/**
 * Parses `--idempotency-key-from`. `column:row` is a column named "row".
 *
 * @throws {Failure} usage
 */
function parseKeySource(text: string): KeySource {
  if (text === 'row' || text === 'content') return { kind: text };
  const name = text.startsWith(columnPrefix) ? text.slice(columnPrefix.length) : text;
  if (name !== '') return { kind: 'column', name };
  throw new Failure('usage', `invalid --idempotency-key-from "${text}": expected row, content or a column name`);
}

/** `1/4`, as a journal has it; null for all rows. */
export function formatShard({ shard }: Pick<BulkOptions, 'shard'>): string | null {
  return shard === undefined ? null : `${shard.index}/${shard.count}`;
}

export function formatKeySource(source: KeySource): string {
  return source.kind === 'column' ? columnPrefix + source.name : source.kind;
}
