/** Whether what stands in a journal has the shape that this listctl writes: its checksum only says that nobody changed it. */
import { exitCodes } from '../errors.ts';
import { headerValue } from '../item.ts';
import {
  type JournalGroup,
  type JournalHeader,
  type JournalRecord,
  type RunTotals,
  rowsMax,
  type SessionStart,
} from './journal-records.ts';

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
  idempotency: oneOf('unknown', 'honoured', 'none'),
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
