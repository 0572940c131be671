/** What is said of a journal that can't be read, written or understood. Whoever meets one of these sends nothing more. */
import { errnoReason } from '../errno.ts';
import { Failure } from '../errors.ts';

/** What stands in the file was not written like that: `reason` says what is wrong with what begins at the byte. */
export function damagedJournal(path: string, offsetBytes: number, reason: string): Failure {
  return new Failure('local-file', `${path} is damaged at byte ${offsetBytes}: ${reason}`, {
    hint: `nothing was sent, and ${path} was left as it is: what it says of the rows before that byte may help\nto start from the first row all the same, whatever was done: --restart`,
  });
}

/** The file is something else, and therefore nothing that a run may write to. */
export function noJournal(path: string): Failure {
  return new Failure('local-file', `${path} is no journal of listctl, or its first line is damaged (at byte 0)`, {
    hint: `nothing was sent, and it was left as it is: name another file with --journal\nor, where ${path} is that of a run, start from its first row with --restart`,
  });
}

/** It was written by a listctl that knows more. */
export function newerJournal(path: string, version: number): Failure {
  return new Failure('local-file', `${path} was written by a newer listctl (its version is ${version})`, {
    hint: 'update listctl; nothing was sent, and the file was left as it is',
  });
}

/** It was removed, moved or replaced while a run wrote to it. */
export function lostJournal(path: string): Failure {
  return new Failure('local-file', `cannot write ${path}: it was removed or replaced during the run`, {
    hint: 'no further row is sent; what this run did is recorded nowhere else: put the file back if it was moved,\notherwise check the list before these rows are sent again',
  });
}

/** A system call on it failed. `verb` continues «cannot …». */
export function journalFault(
  verb: 'read' | 'write' | 'create' | 'list' | 'remove',
  path: string,
  error: unknown,
): Failure {
  if (error instanceof Failure) return error;
  return new Failure('local-file', `cannot ${verb} ${path}: ${errnoReason(error)}`, {
    hint: hints[verb],
    cause: error,
  });
}

const hints = {
  read: 'it is the record of a run: without it nothing can be gone on with',
  write: 'no further row is sent: mend that, then go on with --resume',
  create: 'nothing was sent: name another file with --journal',
  list: 'it is the folder of what runs have done',
  remove: 'it is the record of a run',
} as const;
