/**
 * The format of a journal (docs/decisions.md, journal-3): lines of `crc32hex SP json LF`. The first is the header; every
 * other one is a group, `[timeMs, record, …]`, so that records written together are lost together.
 */
import { crc32 } from 'node:zlib';
import { exitCodes, type FailureKind } from '../core/errors.ts';
import { headerValue } from '../core/item.ts';

export const journalVersion = 1;

export const rowsMax = 1_000_000_000;

export type RunAction = 'create' | 'update' | 'delete' | 'get' | 'undo' | 'apply';

/** The first line of a journal. Holds hashes and ids, never a token or a field's value (docs/decisions.md, journal-6). */
export interface JournalHeader {
  readonly listctl: 'journal';
  readonly version: typeof journalVersion;
  /** The id of the run, from `newRunId`. */
  readonly run: string;
  /** The version of listctl that started it. */
  readonly tool: string;
  readonly action: RunAction;
  readonly origin: string;
  readonly site: string;
  readonly list: string;
  /** The absolute path of the input, `-` for stdin, null for none. */
  readonly file: string | null;
  /** The hash by which `--resume` finds the run: at least 16 lower-case hex digits. */
  readonly identity: string;
  /** The run that this one undoes. */
  readonly of?: string;
  readonly input: InputMark;
  /** The rows of the run: all of the input, or those of its shard. */
  readonly rows: number;
  /** A hash of the options that map columns to fields: a run cannot be resumed with others. */
  readonly mapping: string;
  /** `2/3`: the second of three shards. */
  readonly shard: string | null;
  readonly idempotency: 'unknown' | 'honored' | 'none';
  /** The value of `--idempotency-key-from`; undefined for random keys. */
  readonly keysFrom?: string | undefined;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** Set when the journal of a completed run was compacted to this and its last line. */
  readonly isShrunk?: true;
}

/** The identity of an input. */
export interface InputMark {
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
  readonly rows: number;
}

/** The part of a run by one process: the first, and one for each resume. */
export interface SessionStart {
  /** The boot id of the machine, by which open intents are judged; empty if unknown. */
  readonly boot: string;
  /** The maximum number of concurrent requests; 0 if none is sent. */
  readonly limit: number;
  /** The version of listctl. */
  readonly tool: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Milliseconds of the monotonic clock, which continues across sessions on the same boot. */
  readonly monotonicMs?: number;
}

/** The number of rows in each state; their sum is all rows. */
export interface RowCounts {
  readonly done: number;
  readonly failed: number;
  readonly invalid: number;
  readonly inDoubt: number;
  readonly skipped: number;
  /** Remaining rows. */
  readonly left: number;
}

/** The end of a session: the rows of the whole run, and the figures of this session. */
export interface RunTotals extends RowCounts {
  readonly ms: number;
  readonly sent: number;
  readonly retries: number;
  readonly throttledMs: number;
  /** Why it ended early: the kind of failure or the signal. */
  readonly reason?: string;
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
  | FailedRecord
  /** Invalid, and therefore not sent. */
  | readonly ['X', row: number]
  /** Sent, with unknown outcome. */
  | readonly ['U', row: number, cause: string, tookMs: number | null]
  /** The resolution of a row in doubt; `applied` is final. */
  | readonly ['R', row: number, 'applied', id: string]
  | readonly ['R', row: number, 'not-applied']
  | readonly ['R', row: number, 'skipped'];

/** Any record. */
export type JournalRecord =
  | RowRecord
  /** A session starts. */
  | readonly ['B', SessionStart]
  /** The run waits because it is throttled. */
  | readonly ['T', waitMs: number]
  /** The clock of the service is ahead of this session's; recorded when known, and when it changes. */
  | readonly ['S', aheadMs: number]
  /** The session ends. */
  | readonly ['E', RunTotals];

/** The records of one line, and the milliseconds since the session began. */
export type JournalGroup = readonly [timeMs: number, ...records: JournalRecord[]];

/** Encodes a line, with its LF. */
export function encodeLine(value: JournalHeader | JournalGroup): Buffer {
  const json = JSON.stringify(value);
  return Buffer.from(`${checksumOf(json)} ${json}\n`);
}

/**
 * Decodes a line without its LF.
 *
 * @returns undefined if the checksum does not match
 */
export function decodeLine(line: Buffer): unknown {
  const json = line.subarray(9);
  // Compared as text: upper-case digits are never written.
  if (line[8] !== 0x20 || line.toString('latin1', 0, 8) !== checksumOf(json)) return undefined;
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}

function checksumOf(json: string | Buffer): string {
  return crc32(json).toString(16).padStart(8, '0');
}

/** Whether a value is the first line of a journal, of whatever version. */
export function isAnyHeader(value: unknown): value is { readonly version: number } {
  return isObject(value) && value['listctl'] === 'journal' && isCount(value['version']);
}

/** Whether a value is a header of this version; unknown members are accepted. */
export function isHeader(value: unknown): value is JournalHeader {
  return isAnyHeader(value) && hasShape(value, header) && isPossible(value as unknown as JournalHeader);
}

/** A row takes at least one byte, of which gzip packs at most 1,032 into one; the steps of a plan are not in its input. */
function isPossible({ action, input: { bytes, rows: inputRows }, rows }: JournalHeader): boolean {
  if (rows > inputRows || inputRows > rowsMax) return false;
  return action === 'undo' || action === 'apply' || inputRows <= bytes * 1032;
}

/** Whether a value is a group. */
export function isGroup(value: unknown): value is JournalGroup {
  if (!Array.isArray(value) || value.length < 2 || !isTime(value[0])) return false;
  for (let at = 1; at < value.length; at += 1) if (!isRecord(value[at])) return false;
  return true;
}

function isRecord(value: unknown): value is JournalRecord {
  if (!Array.isArray(value)) return false;
  const letter: unknown = value[0];
  const shapes = typeof letter === 'string' && Object.hasOwn(records, letter) ? records[letter] : undefined;
  return shapes?.some((shape) => isOfShape(value, shape)) === true;
}

/** Checks elements in place, since there are two records for each row. */
function isOfShape(record: readonly unknown[], shape: readonly Check[]): boolean {
  if (record.length !== shape.length + 1) return false;
  for (let at = 0; at < shape.length; at += 1) if (shape[at]?.(record[at + 1]) !== true) return false;
  return true;
}

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;

const isText: Check = (value) => typeof value === 'string';
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isFromOne: Check = (value) => isCount(value) && value !== 0;
/** The sum of two such times is still a valid date. */
const isTime: Check = (value) => isCount(value) && (value as number) <= 4e15;
const isAhead: Check = (value) => Number.isSafeInteger(value) && Math.abs(value as number) <= 4e15;
const isMs: Check = (value) => Number.isFinite(value) && (value as number) >= 0;
const isHash: Check = (value) => isText(value) && /^[0-9a-f]{16}$/.test(value as string);
const isHashOf: Check = (value) => isText(value) && /^[0-9a-f]{16,128}$/.test(value as string);
const isKind: Check = (value) => isText(value) && Object.hasOwn(exitCodes, value as string);
const isHeaderValue: Check = (value) => isText(value) && headerValue(value as string) === value;
const isSession: Check = (value) => isObject(value) && hasShape(value, session);
const isTotals: Check = (value) => isObject(value) && hasShape(value, totals);

const session: Shape = {
  boot: isText,
  limit: isCount,
  tool: isText,
  at: isTime,
  monotonicMs: maybe(isMs),
} satisfies Record<keyof SessionStart, Check>;

const totals: Shape = {
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
  reason: maybe(isText),
} satisfies Record<keyof RunTotals, Check>;

const input: Shape = { bytes: isCount, sha256: isHashOf, rows: isCount };

const header: Shape = {
  listctl: isText,
  version: isCount,
  run: isText,
  tool: isText,
  action: oneOf('create', 'update', 'delete', 'get', 'undo', 'apply'),
  origin: isText,
  site: isText,
  list: isText,
  file: orNull(isText),
  identity: isHashOf,
  of: maybe(isText),
  input: (value) => isObject(value) && hasShape(value, input),
  rows: isCount,
  mapping: isText,
  shard: orNull(isText),
  idempotency: oneOf('unknown', 'honored', 'none'),
  keysFrom: maybe(isText),
  startedAt: (value) => isText(value) && !Number.isNaN(Date.parse(value as string)),
  isShrunk: maybe((value) => value === true),
} satisfies Record<keyof JournalHeader, Check>;

const row = isFromOne;
const intent = [row, isFromOne, isFromOne, orNull(isHeaderValue), isHash];

/** The elements after each letter. */
const records: Readonly<Record<string, readonly (readonly Check[])[]>> = {
  B: [[isSession]],
  I: [intent, [...intent, isText]],
  N: [[row]],
  D: [[row, isText, orNull(isHeaderValue), isMs]],
  F: [[row, isKind, orNull(isCount), orNull(isText), orNull(isMs)]],
  X: [[row]],
  U: [[row, isText, orNull(isMs)]],
  R: [
    [row, oneOf('applied'), isText],
    [row, oneOf('not-applied', 'skipped')],
  ],
  T: [[isMs]],
  S: [[isAhead]],
  E: [[isTotals]],
};

function orNull(check: Check): Check {
  return (value) => value === null || check(value);
}

function maybe(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function oneOf(...words: readonly string[]): Check {
  return (value) => words.includes(value as string);
}

function hasShape(value: object, shape: Shape): boolean {
  return Object.entries(shape).every(([name, fits]) => fits((value as Record<string, unknown>)[name]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
