/**
 * The format of a journal (docs/decisions.md, journal-3): lines of `crc32hex SP json LF`. The first is the header; every
 * other one is a group, `[timeMs, record, …]`, so that records written together are lost together. Each checksum continues
 * that of the line before it, so that lines which were swapped, removed or come from another journal do not match.
 */
import { crc32 } from 'node:zlib';
import { exitCodes, type FailureKind } from '../core/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../core/json.ts';
import { type Check, isCount, isHeaderValue, isString, maybe, oneOf, orNull, shaped } from '../core/shape.ts';
import type { KeyColumn } from '../services/service.ts';

/** The version of new journals. A run that began with version 1, whose checksums are of their lines alone, keeps it. */
export const journalVersion = 2;

export const rowsMax = 1_000_000_000;

/** The input of a run. */
export interface InputFacts {
  readonly bytes: number;
  /** 64 hex digits, of the content without compression. */
  readonly sha256: string;
  readonly rows: number;
  /** The hashes of the rows at `sampledRows`, empty for a bad row: an input that shares most of them is compared. */
  readonly sample?: readonly string[] | undefined;
}

/** What a later session may change: its input has the rows of the header, some of them fixed, and more of them. */
export type SessionInput = Pick<JournalHeader, 'file' | 'input' | 'rows' | 'mapping' | 'reading'>;

/** A key column as a journal has it: the member of the guarantee is named as in the first version of the format. */
export interface RecordedKey {
  readonly column: string;
  readonly promise: KeyColumn['guarantee'];
}

export function toRecordedKey({ column, guarantee }: KeyColumn): RecordedKey {
  return { column, promise: guarantee };
}

/** The first line of a journal. Holds hashes and ids, never a token or a field's value (docs/decisions.md, journal-6). */
export interface JournalHeader {
  readonly listctl: 'journal';
  readonly version: 1 | typeof journalVersion;
  readonly run: string;
  readonly tool: string;
  readonly action: 'create' | 'update' | 'delete' | 'get' | 'undo' | 'apply';
  readonly origin: string;
  /** The profile that was in use, if any. */
  readonly profile?: string | undefined;
  readonly site: string;
  readonly list: string;
  /** The absolute path of the input, `-` for stdin, null for none. */
  readonly file: string | null;
  /** The hash by which `--resume` finds the run: at least 16 lower-case hex digits. */
  readonly identity: string;
  /** The run that this one undoes. */
  readonly of?: string;
  /** What that one did, unless it created its items. */
  readonly undoes?: 'update' | 'delete' | undefined;
  readonly input: InputFacts;
  /** The rows of the run: all of the input, or those of its shard. */
  readonly rows: number;
  /** A hash of the options that map columns to fields: a run cannot be resumed with others. */
  readonly mapping: string;
  /** The options for reading the input; undefined without rows of an input. */
  readonly reading?: JsonObject | undefined;
  /** `2/3`: the second of three shards. */
  readonly shard: string | null;
  readonly idempotency: 'unknown' | 'honored' | 'none';
  /** The value of `--idempotency-key-from`; undefined for random keys. */
  readonly keysFrom?: string | undefined;
  /** The column that keys are written into (`--key-field`), with its guarantee when the run began. */
  readonly keyField?: RecordedKey | undefined;
  /** Whether the earlier values of its items are kept, in a file next to this one. */
  readonly keepsBefore?: true | undefined;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** Set when the journal of a completed run was compacted to this and its last line. */
  readonly isShrunk?: true;
  /** Of a compacted journal: the SHA-256 of the hashes of its rows, one after the other. */
  readonly rowsHash?: string | undefined;
}

/** The part of a run by one process: the first, and one for each resume. */
export interface SessionStart {
  /** The boot id of the machine, by which open intents are judged; empty if unknown. */
  readonly boot: string;
  /** The maximum number of concurrent requests; 0 if none is sent. */
  readonly limit: number;
  readonly tool: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Milliseconds of the monotonic clock, which continues across sessions on the same boot. */
  readonly monotonicMs?: number;
  /** The input, from here on, if it is not the one of the session before. */
  readonly input?: SessionInput | undefined;
}

/** The number of rows in each state; their sum is all rows. */
export interface RowCounts {
  readonly done: number;
  readonly failed: number;
  readonly invalid: number;
  readonly inDoubt: number;
  readonly skipped: number;
  readonly left: number;
}

/** The end of a session: the rows of the whole run, and the figures of this session. */
export interface RunTotals extends RowCounts {
  readonly ms: number;
  readonly sent: number;
  readonly retries: number;
  readonly throttledMs: number;
  /** How long the service was unreachable; undefined if it was not. */
  readonly outageMs?: number;
  /** Why it ended early: the kind of failure or the signal. */
  readonly reason?: string;
  /** The file of the input, so that a list of runs need not read the sessions. */
  readonly file?: string | undefined;
}

/**
 * The intent of a request, on disk before it is sent. `seq` counts the requests of the run and `attempt` those of the
 * row, both from 1; `hash` is that of the row's payload.
 */
export type IntentRecord =
  | readonly ['I', row: number, seq: number, attempt: number, key: string | null, hash: string]
  | readonly ['I', row: number, seq: number, attempt: number, key: string | null, hash: string, ifMatch: string];

/** A row that failed, with the service's own error code. */
export type FailedRecord = readonly [
  'F',
  row: number,
  kind: FailureKind,
  status: number | null,
  code: string | null,
  tookMs: number | null,
];

/** The records that the state of a row depends on. */
export type RowRecord =
  | IntentRecord
  /** Not sent, or refused and retryable: the row is as before its intent. */
  | readonly ['N', row: number]
  /** Done, which is final. */
  | readonly ['D', row: number, id: string, etag: string | null, tookMs: number]
  /** The item was found, and the run is not known to have created it. */
  | readonly ['D', row: number, id: string, etag: string | null, tookMs: number, 'found']
  | FailedRecord
  | readonly ['X', row: number]
  /** Sent, with unknown outcome. */
  | readonly ['U', row: number, cause: string, tookMs: number | null]
  /** The resolution of a row in doubt; `applied` is final. Any row that is not done can be `skipped`. */
  | readonly ['R', row: number, 'applied', id: string]
  | readonly ['R', row: number, 'applied', id: string, 'found']
  | readonly ['R', row: number, 'not-applied']
  | readonly ['R', row: number, 'skipped'];

export type JournalRecord =
  | RowRecord
  | readonly ['B', SessionStart]
  /** The run waits because it is throttled. */
  | readonly ['T', waitMs: number]
  /** The clock of the service is ahead of this session's; recorded when known, and when it changes. */
  | readonly ['S', aheadMs: number]
  | readonly ['E', RunTotals];

/** The records of one line, and the milliseconds since the session began. */
export type JournalGroup = readonly [timeMs: number, ...records: JournalRecord[]];

/** The checksum of the line before, which that of a line continues: 0 for the first line; undefined in version 1. */
export type Seed = number | undefined;

export function seedOfHeader({ version }: Pick<JournalHeader, 'version'>): Seed {
  return version === 1 ? undefined : 0;
}

/** Encodes a line, with its LF. */
export function encodeLine(value: JournalHeader | JournalGroup, seed?: Seed): Buffer {
  const json = JSON.stringify(value);
  return Buffer.from(`${checksumOf(json, seed)} ${json}\n`);
}

/** Encodes a whole journal. */
export function encodeLines(header: JournalHeader, groups: readonly JournalGroup[]): Buffer {
  const lines: Buffer[] = [];
  let seed = seedOfHeader(header);
  for (const value of [header, ...groups]) {
    const line = encodeLine(value, seed);
    lines.push(line);
    seed = seedAfter(line, seed);
  }
  return Buffer.concat(lines);
}

/**
 * Decodes a line without its LF.
 *
 * @returns undefined if the checksum does not match
 */
export function decodeLine(line: Buffer, seed?: Seed): unknown {
  const json = line.subarray(9);
  // Compared as text: upper-case digits are never written.
  if (line[8] !== 0x20 || line.toString('latin1', 0, 8) !== checksumOf(json, seed)) return undefined;
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}

/** The seed of the line that follows this one. */
export function seedAfter(line: Buffer, seed: Seed): Seed {
  return seed === undefined ? undefined : Number.parseInt(line.toString('latin1', 0, 8), 16);
}

function checksumOf(json: string | Buffer, seed: Seed): string {
  return crc32(json, seed).toString(16).padStart(8, '0');
}

/** Whether a value is the first line of a journal, of whatever version. */
export const isAnyHeader = shaped<{ listctl: 'journal'; version: number }>({
  listctl: oneOf('journal'),
  version: isCount,
});

/** Whether a value is a header of a known version; unknown members are accepted. */
export function isHeader(value: unknown): value is JournalHeader {
  return isShapedHeader(value) && isPossible(value);
}

/** A row takes at least one byte, of which gzip packs at most 1,032 into one; the steps of a plan are not in its input. */
function isPossible({
  action,
  input: { bytes, rows: inputRows },
  rows,
}: SessionInput & Partial<JournalHeader>): boolean {
  if (rows > inputRows || inputRows > rowsMax) return false;
  return action === 'undo' || action === 'apply' || inputRows <= bytes * 1032;
}

export function isGroup(value: unknown): value is JournalGroup {
  if (!Array.isArray(value) || value.length < 2 || !isTime(value[0])) return false;
  for (let at = 1; at < value.length; at += 1) if (!isRecord(value[at])) return false;
  return true;
}

function isRecord(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const letter: unknown = value[0];
  const forms = isString(letter) && Object.hasOwn(records, letter) ? records[letter] : undefined;
  return forms?.some((checks) => hasElements(value, checks)) === true;
}

/** Checks elements in place, since there are two records for each row. */
function hasElements(record: readonly unknown[], checks: readonly Check[]): boolean {
  if (record.length !== checks.length + 1) return false;
  for (let at = 0; at < checks.length; at += 1) if (checks[at]?.(record[at + 1]) !== true) return false;
  return true;
}

const isFromOne = (value: unknown): value is number => isCount(value) && value !== 0;
/** The sum of two such times is still a valid date. */
const isTime = (value: unknown): value is number => isCount(value) && value <= 4e15;
const isAhead = (value: unknown): value is number => Number.isSafeInteger(value) && Math.abs(value as number) <= 4e15;
const isMs = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0;
const isDate = (value: unknown): value is string => isString(value) && !Number.isNaN(Date.parse(value));
const isHash = (value: unknown): value is string => isString(value) && /^[0-9a-f]{16}$/.test(value);
const isLongHash = (value: unknown): value is string => isString(value) && /^[0-9a-f]{16,128}$/.test(value);
const isKind = (value: unknown): value is FailureKind => isString(value) && Object.hasOwn(exitCodes, value);

/** The maps of the options are entries; the others are checked where the input is read. */
const isReading = (value: unknown): value is JsonObject =>
  isObject(value as JsonValue) && [(value as JsonObject)['rename'], (value as JsonObject)['types']].every(isEntries);

function isEntries(value: unknown): boolean {
  return (
    Array.isArray(value) && value.every((each) => Array.isArray(each) && each.length === 2 && each.every(isString))
  );
}

const isInput = shaped<InputFacts>({
  bytes: isCount,
  sha256: isLongHash,
  rows: isCount,
  sample: maybe((value): value is readonly string[] => Array.isArray(value) && value.every(isString)),
});

const isShapedInput = shaped<SessionInput>({
  file: orNull(isString),
  input: isInput,
  rows: isCount,
  mapping: isString,
  reading: maybe(isReading),
});

const isSessionInput = (value: unknown): value is SessionInput => isShapedInput(value) && isPossible(value);

const isSession = shaped<SessionStart>({
  boot: isString,
  limit: isCount,
  tool: isString,
  at: isTime,
  monotonicMs: maybe(isMs),
  input: maybe(isSessionInput),
});

const isTotals = shaped<RunTotals>({
  done: isCount,
  failed: isCount,
  invalid: isCount,
  inDoubt: isCount,
  skipped: isCount,
  left: isCount,
  ms: isMs,
  sent: isCount,
  retries: isCount,
  throttledMs: isMs,
  outageMs: maybe(isMs),
  reason: maybe(isString),
  file: maybe(isString),
});

const isShapedHeader = shaped<JournalHeader>({
  listctl: oneOf('journal'),
  version: oneOf(1, journalVersion),
  run: isString,
  tool: isString,
  action: oneOf('create', 'update', 'delete', 'get', 'undo', 'apply'),
  origin: isString,
  profile: maybe(isString),
  site: isString,
  list: isString,
  file: orNull(isString),
  identity: isLongHash,
  of: maybe(isString),
  undoes: maybe(oneOf('update', 'delete')),
  input: isInput,
  rows: isCount,
  mapping: isString,
  reading: maybe(isReading),
  shard: orNull(isString),
  idempotency: oneOf('unknown', 'honored', 'none'),
  keysFrom: maybe(isString),
  keyField: maybe(shaped<RecordedKey>({ column: isString, promise: oneOf('unique', 'indexed', 'none') })),
  keepsBefore: maybe(oneOf(true)),
  startedAt: isDate,
  isShrunk: maybe(oneOf(true)),
  rowsHash: maybe(isLongHash),
});

const row = isFromOne;
const done = [row, isString, orNull(isHeaderValue), isMs];
const intent = [row, isFromOne, isFromOne, orNull(isHeaderValue), isHash];

const records: Readonly<Record<string, readonly (readonly Check[])[]>> = {
  B: [[isSession]],
  I: [intent, [...intent, isString]],
  N: [[row]],
  D: [done, [...done, oneOf('found')]],
  F: [[row, isKind, orNull(isCount), orNull(isString), orNull(isMs)]],
  X: [[row]],
  U: [[row, isString, orNull(isMs)]],
  R: [
    [row, oneOf('applied'), isString],
    [row, oneOf('applied'), isString, oneOf('found')],
    [row, oneOf('not-applied', 'skipped')],
  ],
  T: [[isMs]],
  S: [[isAhead]],
  E: [[isTotals]],
};
