/** The system's errors in words. */
import { getSystemErrorMap } from 'node:util';

/** Codes that Node has no words for, or words that do not say what to fix. */
const ownWords: Readonly<Record<string, string>> = {
  EDQUOT: 'disk quota exceeded',
  EIO: 'input/output error',
  EISDIR: 'it is a directory',
  ELOOP: 'too many symbolic links',
  ENFILE: 'too many open files in the system',
  ENOSPC: 'no space left on the device',
  ENXIO: 'no such device, or nothing reads from it',
  ERR_FS_FILE_TOO_LARGE: 'the file is too large',
  ERR_STRING_TOO_LONG: 'the file is too large',
};

/** The reason for a failed system call, as a message continues `cannot read FILE: …`. */
export function errnoReason(error: unknown): string {
  const { code, message = String(error) } = error as Partial<NodeJS.ErrnoException>;
  if (code === undefined) return message;
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
