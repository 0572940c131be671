import { getSystemErrorMap } from 'node:util';

/**
 * Every way that listctl can end, and the exit status of each. `docs/` and the README print the same
 * table, and a test compares them.
 */
export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  credentials: 3,
  'not-found': 4,
  conflict: 5,
  unavailable: 6,
  unreachable: 7,
  'in-doubt': 8,
  incomplete: 9,
  'local-file': 10,
  locked: 11,
  changes: 12,
  bug: 70,
} as const;

/** What kind of failure it is: what a script branches on, as an exit status or as `error.kind`. */
export type FailureKind = Exclude<keyof typeof exitCodes, Ending | 'bug'>;

/** How a command may end that has done what it was asked. */
export type Ending = 'done' | 'changes';

/** The outcome of the failed request (outcomes-1). */
export type Outcome = 'not-sent' | 'refused' | 'applied' | 'unknown';

/** What a failure tells beside its message; everything is optional. */
export interface FailureDetails {
  /** What to do next: at most two lines. */
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** The HTTP status of the answer. */
  readonly status?: number | undefined;
  readonly outcome?: Outcome | undefined;
  /** The error code that the service gave. */
  readonly serviceCode?: string | undefined;
  /** Whether the answer was a page for people, which says nothing of an item. */
  readonly isPage?: boolean | undefined;
  /** The service's name for the request, for its operators. */
  readonly requestId?: string | undefined;
  /** The key of a create in doubt: sending it again is safe where the service honors it. */
  readonly idempotencyKey?: string | undefined;
  /** What the failure is about. */
  readonly about?: FailedItem | undefined;
}

/** The item, row or step that a failure is about, as far as it is known. */
export interface FailedItem {
  readonly id?: string | undefined;
  /** The key of a step of `apply`. */
  readonly key?: string | undefined;
  /** `create`, `update`, `delete`: of a step of `apply`. */
  readonly action?: string | undefined;
  /** The number of the row in its input, from 1. */
  readonly row?: number | undefined;
  /** The line of the input in which the row begins, from 1. */
  readonly line?: number | undefined;
  /** Where a row is invalid: the column of its line, from 1, the name of that column, and the byte, from 0. */
  readonly column?: number | undefined;
  readonly columnName?: string | undefined;
  readonly byte?: number | undefined;
  /** What is wrong with a row, without its place. */
  readonly reason?: string | undefined;
}

/** A failure that the user can act on. Anything else that is thrown is a bug in listctl. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;
  readonly details: FailureDetails;

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(message, { cause: details.cause });
    this.kind = kind;
    this.details = details;
  }

  /** The same failure with more known of what it is about; what it knows already stays. */
  about(item: FailedItem, message: string = this.message): Failure {
    return new Failure(this.kind, message, { ...this.details, about: { ...item, ...this.details.about } });
  }
}

/** The signals that ask listctl to stop, and the exit status by which a shell reports each. */
export const stopSignals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
export type StopSignal = keyof typeof stopSignals;

/** Why `Host.signal` was aborted: somebody asked listctl to stop. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  readonly signal: StopSignal;

  constructor(signal: StopSignal) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}

/**
 * The exit status of a command that ended in an error; `stop` is aborted where it was told to stop. A write in doubt is
 * told all the same: after a signal a script may run again what was not sent.
 */
export function exitCodeOf(error: unknown, stop: AbortSignal): number {
  if (error instanceof Stopped) return stopSignals[error.signal];
  if (!(error instanceof Failure)) return exitCodes.bug;
  const reason: unknown = stop.aborted ? stop.reason : undefined;
  return reason instanceof Stopped && error.kind !== 'in-doubt' ? stopSignals[reason.signal] : exitCodes[error.kind];
}

/** Codes that Node has no words for, or words that do not say what to fix. */
const ownWords: Readonly<Record<string, string>> = {
  EDQUOT: 'disk quota exceeded',
  EIO: 'input/output error',
  EISDIR: 'it is a directory',
  ELOOP: 'too many symbolic links',
  ENFILE: 'too many open files in the system',
  ENOSPC: 'no space left on the device',
  ENXIO: 'no such device, or no reader',
  ERR_FS_FILE_TOO_LARGE: 'the file is too large',
  ERR_STRING_TOO_LONG: 'the file is too large',
};

/** The reason for a failed system call, as a message continues `cannot read FILE: …`. */
export function errnoReason(error: unknown): string {
  const { code, message = String(error) } = error as Partial<NodeJS.ErrnoException>;
  if (typeof code !== 'string') return message;
  return ownWords[code] ?? systemWords(code) ?? code;
}

/** The code of a failed system call, such as `ENOENT`; undefined for any other error. */
export function errnoCode(error: unknown): string | undefined {
  return (error as Partial<NodeJS.ErrnoException> | undefined)?.code;
}

/** Whether a path that was typed leads to no file that could be read: a mistake in the command, not of the disk. */
export function isWrongPath(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'].includes(errnoCode(error) ?? '');
}

function systemWords(code: string): string | undefined {
  for (const [name, words] of getSystemErrorMap().values()) if (name === code) return words;
  return undefined;
}
