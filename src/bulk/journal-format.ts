/**
 * What a journal holds, and how a line of it is written (reliability, C6): `crc32hex SP json LF`. The first line is the
 * header; every other one is a group, `[timeMs, record, …]`, so that what is written together is lost together.
 */
import { crc32 } from 'node:zlib';
import { exitCodes, type FailureKind } from '../core/errors.ts';
import { headerValue } from '../core/item.ts';

/** The newest layout that this listctl knows. */
export const journalVersion = 1;

/** The most rows that a run can have. */
export const rowsMax = 1_000_000_000;

/** What a run does to its rows. */
export type RunAction = 'create' | 'update' | 'delete' | 'get' | 'undo' | 'apply';

/** The first line: what the run is of. Hashes, ids and our own words only: never a token or a field's value. */
export interface JournalHeader {
  readonly listctl: 'journal';
  readonly version: typeof journalVersion;
  /** The run's own id, as `newRunId` gives it. */
  readonly run: string;
  /** The version of listctl that began it. */
  readonly tool: string;
  readonly action: RunAction;
  /** The address of the service. */
  readonly origin: string;
  readonly site: string;
  readonly list: string;
  /** The input: an absolute path, `-` for stdin; null where there is no file. */
  readonly file: string | null;
  /** What `--resume` looks for: a hash, in lower-case hex digits, at least 16 of them. */
  readonly identity: string;
  /** The run that this one takes back. */
  readonly of?: string;
  readonly input: InputMark;
  /** How many of the input's rows are this run's: all, or its shard's share. */
  readonly rows: number;
  /** A hash of what makes fields of the columns: a run is not gone on with under another mapping. */
  readonly mapping: string;
  /** `2/3`: the second of three shares. */
  readonly shard: string | null;
  readonly idempotency: 'unknown' | 'honored' | 'none';
  /** What keys are derived from, as `--idempotency-key-from` says; undefined where they are drawn at random. */
  readonly keysFrom?: string | undefined;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** That only this and the last line are left of the journal of a run that did every row. */
  readonly isShrunk?: true;
}

/** What tells an input from another one. */
export interface InputMark {
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
  /** How many rows it has; they are numbered from 1. */
  readonly rows: number;
}

/** A part of a run, by one process: the first one, and one for each time that it is gone on with. */
export interface SessionStart {
  /** The id of this start of the machine, which every open intent is judged by; empty where there is none. */
  readonly boot: string;
  /** At most so many requests are under way at once in this session; 0 where none is sent at all. */
  readonly limit: number;
  /** The version of listctl. */
  readonly tool: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Milliseconds by the monotonic clock, which goes on from one session to the next on the same boot. */
  readonly monotonicMs?: number;
}

/** How many rows of a run stand how; together they are all of its rows. */
export interface RowCounts {
  readonly done: number;
  readonly failed: number;
  readonly invalid: number;
  readonly inDoubt: number;
  readonly skipped: number;
  /** Those that are still to do. */
  readonly left: number;
}

/** How things stand when a session ends: the rows of the whole run, and what this session did. */
export interface RunTotals extends RowCounts {
  /** How long the session took, in milliseconds. */
  readonly ms: number;
  readonly sent: number;
  readonly retries: number;
  readonly throttledMs: number;
  /** Why it ended before its rows did, in our own words. */
  readonly reason?: string;
}

/** A session begins. */
export type BeginRecord = readonly ['B', SessionStart];

/**
 * Row, seq, attempt, key, hash, ifMatch: the row's request may be sent as soon as this is on disk.
 *
 * `seq` counts the sends of the whole run, from 1, in the order in which they go to the client; `attempt` those of the
 * row, from 1; `hash` is the first 16 hex digits of the SHA-256 of the row's canonical payload.
 */
export type IntentRecord =
  | readonly ['I', row: number, seq: number, attempt: number, key: string | null, hash: string]
  | readonly ['I', row: number, seq: number, attempt: number, key: string | null, hash: string, ifMatch: string];

/** The attempt was not sent, or was refused and may be tried again: the row is as it was before its intent. */
export type NotSentRecord = readonly ['N', row: number];

/** Done; final. */
export type DoneRecord = readonly ['D', row: number, id: string, etag: string | null, tookMs: number];

/** Refused for good. The code is the service's own word for it. */
export type FailedRecord = readonly [
  'F',
  row: number,
  kind: FailureKind,
  status: number | null,
  code: string | null,
  tookMs: number | null,
];

/** Found invalid without being sent. */
export type InvalidRecord = readonly ['X', row: number];

/** Sent, and what became of it is unknown. The cause is in our own words. */
export type UnknownRecord = readonly ['U', row: number, cause: string, tookMs: number | null];

/** What a person says became of a row in doubt. `applied` is final. */
export type ResolvedRecord =
  | readonly ['R', row: number, 'applied', id: string]
  | readonly ['R', row: number, 'not-applied']
  | readonly ['R', row: number, 'skipped'];

/** The whole run waits, because it is throttled. */
export type ThrottledRecord = readonly ['T', waitMs: number];

/** The clock of the service is so many milliseconds ahead of this session's: said once it is known, and when it changes. */
export type ServiceClockRecord = readonly ['S', aheadMs: number];

/** The session ended by itself. */
export type EndRecord = readonly ['E', RunTotals];

/** What a row's state depends on. */
export type RowRecord =
  | IntentRecord
  | NotSentRecord
  | DoneRecord
  | FailedRecord
  | InvalidRecord
  | UnknownRecord
  | ResolvedRecord;

/** Anything that a group may hold. */
export type JournalRecord = BeginRecord | RowRecord | ThrottledRecord | ServiceClockRecord | EndRecord;

/** What is written together: milliseconds since the session began, and the records in their order. */
export type JournalGroup = readonly [timeMs: number, ...records: JournalRecord[]];

/** A line of a journal, its LF included. */
export function encodeLine(value: JournalHeader | JournalGroup): Buffer {
  const json = JSON.stringify(value);
  return Buffer.from(`${checksumOf(json)} ${json}\n`);
}

/**
 * The value of a line.
 *
 * @param line its bytes, without the LF
 * @returns undefined, which is no JSON, where the checksum says that these are not the bytes that were written
 */
export function decodeLine(line: Buffer): unknown {
  const json = line.subarray(9);
  // As text, digit for digit: an upper-case digit was not written by us.
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

/** Whether a value is a header of this version; members that it does not know are let through. */
export function isHeader(value: unknown): value is JournalHeader {
  return isAnyHeader(value) && hasShape(value, header) && isPossible(value as unknown as JournalHeader);
}

/** A row takes at least one byte, and gzip packs at most 1,032 into one; the steps of a plan are not in its input. */
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

/** Whether a value is a record: each of its elements in its place, and no more of them. */
function isRecord(value: unknown): value is JournalRecord {
  if (!Array.isArray(value)) return false;
  const letter: unknown = value[0];
  const shapes = typeof letter === 'string' && Object.hasOwn(records, letter) ? records[letter] : undefined;
  return shapes?.some((shape) => isOfShape(value, shape)) === true;
}

/** Looked at in its place: there are two of these for each row of a run. */
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
/** Two of them added up are still a date. */
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

/** What follows each letter. */
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
