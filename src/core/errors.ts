import { getSystemErrorMap } from 'node:util';

/** The exit code for each way to end. `docs/` and the README print the same table, and a test compares them. */
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

/** The kind of a failure, on which a script branches: as an exit code or as `error.kind`. */
export type FailureKind = Exclude<keyof typeof exitCodes, 'done' | 'changes' | 'bug'>;

export type Outcome = 'not-sent' | 'refused' | 'applied' | 'unknown';

export interface FailureDetails {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  readonly status?: number | undefined;
  readonly outcome?: Outcome | undefined;
  readonly serviceCode?: string | undefined;
  /** The fields that the service refused, at most ten. */
  readonly errors?: readonly FieldError[] | undefined;
  /** Whether the response was an HTML page, which says nothing about an item. */
  readonly isPage?: boolean | undefined;
  readonly requestId?: string | undefined;
  /** The id that listctl gave the request (Microsoft Graph). */
  readonly clientRequestId?: string | undefined;
  /** The key of a create in doubt. */
  readonly idempotencyKey?: string | undefined;
  readonly about?: FailedItem | undefined;
}

/** What an error response says of one field; without its name, of the whole item. */
export interface FieldError {
  readonly field?: string;
  readonly message: string;
}

/** The item, row or step that a failure is about. */
export interface FailedItem {
  readonly id?: string | undefined;
  /** Of a step of `apply`. */
  readonly key?: string | undefined;
  readonly action?: string | undefined;
  /** The number of the row in its input, and the line in which it begins, from 1. */
  readonly row?: number | undefined;
  readonly line?: number | undefined;
  /** Where a row is invalid: the column of its line, from 1, its name, and the byte of the file, from 0. */
  readonly column?: number | undefined;
  readonly columnName?: string | undefined;
  readonly byte?: number | undefined;
  /** Why a row is invalid, without its place. */
  readonly reason?: string | undefined;
}

/** A failure that the user can act on. Any other error is a bug in listctl. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;
  readonly details: FailureDetails;

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(message, { cause: details.cause });
    this.kind = kind;
    this.details = details;
  }

  /** The same failure about an item; what it knows already takes precedence. */
  about(item: FailedItem, message: string = this.message): Failure {
    return new Failure(this.kind, message, { ...this.details, about: { ...item, ...this.details.about } });
  }
}

/** The signals that stop listctl, and the exit codes by which a shell reports them. */
export const stopSignals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
export type StopSignal = keyof typeof stopSignals;

/** The reason with which `Host.signal` aborts. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  readonly signal: StopSignal;

  constructor(signal: StopSignal) {
    super(`stopped by ${signal}`);
    this.signal = signal;
  }
}

/**
 * The exit code of a command that ended in an error. One that a signal stopped exits with its code, except with a write
 * in doubt: after a signal a script may retry what was not sent.
 */
export function exitCodeOf(error: unknown, stop: AbortSignal): number {
  if (error instanceof Stopped) return stopSignals[error.signal];
  if (!(error instanceof Failure)) return exitCodes.bug;
  const reason: unknown = stop.aborted ? stop.reason : undefined;
  return reason instanceof Stopped && error.kind !== 'in-doubt' ? stopSignals[reason.signal] : exitCodes[error.kind];
}

/** For codes of which Node has no words, or words that do not say what to fix. */
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

/** The reason of a failed system call, for a message such as `cannot read FILE: …`. */
export function errnoReason(error: unknown): string {
  const { code, message = String(error) } = error as Partial<NodeJS.ErrnoException>;
  if (typeof code !== 'string') return message;
  return ownWords[code] ?? systemWords(code) ?? code;
}

/** The failure of a system call, as `cannot read FILE: …`; a failure stays as it is. */
export function fileFailure(what: string, error: unknown, hint?: string): Failure {
  if (error instanceof Failure) return error;
  return new Failure('local-file', `${what}: ${errnoReason(error)}`, { hint, cause: error });
}

/** The code of a failed system call, such as `ENOENT`; undefined for any other error. */
export function errnoCode(error: unknown): string | undefined {
  return (error as Partial<NodeJS.ErrnoException> | undefined)?.code;
}

/** Whether reading failed because of the path: a mistake in the command, not a fault of the disk. */
export function isWrongPath(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG'].includes(errnoCode(error) ?? '');
}

function systemWords(code: string): string | undefined {
  for (const [name, words] of getSystemErrorMap().values()) if (name === code) return words;
  return undefined;
}
