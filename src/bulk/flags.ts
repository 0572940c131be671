/** The flags of `--from`: words in, checked options out. */
import type { Command } from 'commander';
import { collect } from '../cli/field-flags.ts';
import { choiceOption, perSecond, rateExpected } from '../cli/flags.ts';
import { addMaxDeleteOption, type MaxDeleteFlag, readMaxDelete } from '../cli/guards.ts';
import { Failure } from '../core/errors.ts';
import { type CellType, cellTypes, type EmptyCell, type RowAction, type RowFormat, type Shard } from '../rows/types.ts';
import { parseNames } from '../settings/setting.ts';
import { type KeySource, parseKeySource } from './keys.ts';

/** The flags as they were typed. */
export interface BulkFlags extends MaxDeleteFlag {
  readonly inputFormat?: string;
  readonly delimiter?: string;
  readonly encoding?: string;
  readonly rename?: readonly string[];
  readonly only?: string;
  readonly type?: readonly string[];
  readonly empty?: string;
  readonly idColumn?: string;
  readonly rows?: string;
  readonly concurrency?: string;
  readonly rate?: string;
  readonly maxErrors?: string;
  readonly failFast?: boolean;
  readonly rejects?: string;
  readonly summaryJson?: string;
  readonly skipInvalid?: boolean;
  readonly resume?: boolean;
  readonly restart?: boolean;
  readonly journal?: string;
  readonly inDoubt?: string;
  readonly lockTimeout?: string;
  readonly breakLock?: boolean;
  readonly shard?: string;
  readonly idempotencyKeyFrom?: string;
}

/** How the rows are read. */
export interface ReadingOptions {
  readonly format: RowFormat | undefined;
  readonly delimiter: string | undefined;
  readonly encoding: string | undefined;
  readonly rename: ReadonlyMap<string, string>;
  readonly only: readonly string[] | undefined;
  readonly types: ReadonlyMap<string, CellType>;
  readonly empty: EmptyCell;
  readonly idColumn: string;
  readonly rows: 'auto' | 'items' | 'fields';
}

/** How fast, and for how long, a run sends. */
export interface RunLimits {
  readonly concurrency: number;
  readonly ratePerSecond: number | undefined;
  readonly maxErrors: number;
  readonly rejects: string | undefined;
  /** The file for the summary; `-` is stdout. */
  readonly summaryJson: string | undefined;
  readonly lockWaitMs: number;
  readonly breakLock: boolean;
}

/** What a run over a file was asked to do: checked, with every default filled in. */
export interface BulkOptions extends ReadingOptions, RunLimits {
  readonly skipInvalid: boolean;
  readonly resume: boolean;
  readonly restart: boolean;
  readonly journal: string | undefined;
  /** False for `--journal none`. */
  readonly hasJournal: boolean;
  /** What is done about rows in doubt; undefined for what suits the verb. */
  readonly inDoubt: 'hold' | 'retry' | 'skip' | undefined;
  readonly shard: Shard | undefined;
  /** What the keys of creates are derived from; undefined for random ones. */
  readonly keysFrom: KeySource | undefined;
  /** How many items may be deleted; undefined for any number. */
  readonly maxDelete: number | undefined;
}

/** Declares the flags that `--from` brings. */
export function addBulkOptions(command: Command, action: RowAction): void {
  command.optionsGroup('Bulk flags (with --from):').option('--skip-invalid', 'skip invalid rows and send the rest');
  if (action === 'delete') addMaxDeleteOption(command);
  addPaceOptions(command);
  command
    .option('--resume', 'resume the last run of this file')
    .option('--restart', 'ignore the previous run and start over')
    .option('--journal <file>', 'journal file, or none (default: in the state directory)')
    .addOption(choiceOption('--in-doubt <how>', 'what --resume does with rows in doubt', doubts))
    .option('--shard <I/N>', 'process only shard I of N, for parallel jobs');
  if (action === 'create')
    command.option('--idempotency-key-from <source>', 'derive keys from the row: row, content or a column name');
  addReadingOptions(command.optionsGroup('Input flags (with --from):'));
  command
    .option('--id-column <name>', 'column or property that holds the item id (default "id")')
    .addOption(choiceOption('--rows <kind>', 'shape of JSON rows', rowKinds, 'auto'));
  if (action === 'create' || action === 'update') addFieldReadingOptions(command);
}

/** Declares how the text of a file is read. */
export function addReadingOptions(command: Command): void {
  command
    .addOption(choiceOption('--input-format <format>', 'input format', formats, 'from the file name'))
    .option('--delimiter <character>', 'CSV delimiter (default: detected)')
    .option('--encoding <name>', 'file encoding, e.g. windows-1252 (default utf-8)');
}

/** Declares how columns become fields. */
export function addFieldReadingOptions(command: Command): void {
  command
    .option('--rename <Column=Field>', 'import a column under another field name; repeatable', collect)
    .option('--only <names>', 'import only these columns, e.g. A,B')
    .option('--type <Field=type>', `${cellTypes.join(', ')}; '*=auto' for all columns; repeatable`, collect)
    .addOption(choiceOption('--empty <meaning>', 'meaning of an empty cell', empties, 'omit'));
}

/** Declares how fast to go, when to stop, and whom to wait for. */
export function addPaceOptions(command: Command): void {
  command
    .option('--concurrency <n>', 'maximum concurrent requests (default 32)')
    .option('--rate <n/s>', 'maximum request rate, e.g. 10/s or 600/m')
    .option('--max-errors <n>', 'stop after this many failed rows')
    .option('--fail-fast', 'stop after the first failed row')
    .option('--rejects <file>', 'write failed rows and their errors to this file')
    .option('--summary-json <file>', 'write a JSON summary of the run ("-" = stdout)')
    .option('--lock-timeout <seconds>', 'seconds to wait for a lock (default 0)')
    .option('--break-lock', 'break a stale lock left by another host');
}

const formats = ['csv', 'tsv', 'jsonl', 'json', 'ids'] as const;
const empties = ['omit', 'string', 'null'] as const;
const rowKinds = ['auto', 'items', 'fields'] as const;
const doubts = ['hold', 'retry', 'skip'] as const;

/**
 * Checks the flags.
 *
 * @throws {Failure} usage, naming the first one that is wrong
 */
export function parseBulkFlags(flags: BulkFlags): BulkOptions {
  if (flags.resume && flags.restart) throw new Failure('usage', '--resume and --restart: pass one of them');
  const hasJournal = flags.journal !== 'none';
  const continues = flags.resume ? '--resume' : flags.restart && '--restart';
  if (!hasJournal && continues) {
    throw new Failure('usage', `${continues} cannot be used with --journal none: there is no record of a run`);
  }
  return {
    ...parseReadingFlags(flags),
    ...parsePaceFlags(flags),
    skipInvalid: flags.skipInvalid === true,
    resume: flags.resume === true,
    restart: flags.restart === true,
    journal: hasJournal ? flags.journal : undefined,
    hasJournal,
    inDoubt: oneOf('--in-doubt', doubts, flags.inDoubt),
    shard: flags.shard === undefined ? undefined : parseShard(flags.shard),
    keysFrom: flags.idempotencyKeyFrom === undefined ? undefined : parseKeySource(flags.idempotencyKeyFrom),
    maxDelete: readMaxDelete(flags),
  };
}

/** As `parseBulkFlags`, of how the file is read. */
export function parseReadingFlags(flags: BulkFlags): ReadingOptions {
  const { inputFormat, only, idColumn = 'id' } = flags;
  if (idColumn === '') throw new Failure('usage', '--id-column: expected a name, not ""');
  return {
    format: oneOf('--input-format', formats, inputFormat && formatWord(inputFormat)),
    delimiter: flags.delimiter,
    encoding: flags.encoding,
    rename: pairs('--rename', 'Column=Field', flags.rename),
    only: only === undefined ? undefined : parseNames(only),
    types: typesOf(flags.type),
    empty: oneOf('--empty', empties, flags.empty) ?? 'omit',
    idColumn,
    rows: oneOf('--rows', rowKinds, flags.rows) ?? 'auto',
  };
}

/** As `parseBulkFlags`, of how fast to go. */
export function parsePaceFlags(flags: BulkFlags): RunLimits {
  const { concurrency, rate, maxErrors, lockTimeout, rejects, summaryJson } = flags;
  const errorsMax = maxErrors === undefined ? Number.POSITIVE_INFINITY : whole('--max-errors', maxErrors, 1e9);
  return {
    concurrency: concurrency === undefined ? 32 : whole('--concurrency', concurrency, 1024),
    ratePerSecond: rate === undefined ? undefined : parseRate(rate),
    maxErrors: flags.failFast ? 1 : errorsMax,
    ...{ rejects, summaryJson },
    lockWaitMs: lockTimeout === undefined ? 0 : seconds('--lock-timeout', lockTimeout),
    breakLock: flags.breakLock === true,
  };
}

/** NDJSON is another name of the same format. */
function formatWord(word: string): string {
  return word === 'ndjson' ? 'jsonl' : word;
}

function oneOf<T extends string>(flag: string, values: readonly T[], text: string | undefined): T | undefined {
  const value = values.find((each) => each === text);
  if (value !== undefined || text === undefined) return value;
  throw new Failure('usage', `${flag}: expected ${values.join(', ')}, not "${text}"`);
}

function pairs(flag: string, form: string, texts: readonly string[] = []): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const text of texts) {
    // The last one: a column may have any name, and what stands behind is ours or a field's.
    const at = text.lastIndexOf('=');
    const [name, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1 || value === '') throw new Failure('usage', `${flag}: expected ${form}, not "${text}"`);
    if (found.has(name)) throw new Failure('usage', `${flag}: "${name}" is named twice`);
    found.set(name, value);
  }
  return found;
}

function typesOf(texts: readonly string[] | undefined): ReadonlyMap<string, CellType> {
  const typed = [...pairs('--type', 'Field=type', texts)];
  return new Map(typed.map(([name, word]) => [name, oneOf('--type', cellTypes, word) ?? 'string']));
}

function whole(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d{1,10}$/.test(text) && value >= 1 && value <= max) return value;
  throw new Failure('usage', `${flag}: expected a whole number from 1 to ${max}, not "${text}"`);
}

function seconds(flag: string, text: string): number {
  if (/^\d{1,7}(\.\d+)?$/.test(text)) return Number(text) * 1000;
  throw new Failure('usage', `${flag}: expected seconds, not "${text}"`);
}

function parseRate(text: string): number {
  const value = perSecond(text);
  if (value !== undefined) return value;
  throw new Failure('usage', `--rate: expected ${rateExpected}, not "${text}"`);
}

/** A lone share is every row: the run is the one without shares. */
function parseShard(text: string): Shard | undefined {
  const [, index = '', count = ''] = /^(\d{1,6})\/(\d{1,6})$/.exec(text) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  if (shard.index >= 1 && shard.index <= shard.count) return shard.count === 1 ? undefined : shard;
  throw new Failure('usage', `--shard: expected I/N with I from 1 to N, such as 2/4, not "${text}"`, {
    hint: 'where jobs are counted from 0, add 1',
  });
}
