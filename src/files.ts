/** Files that the user names. */
import { errnoReason, isWrongPath } from './errno.ts';
import { Failure } from './errors.ts';

/**
 * The failure for a file that cannot be read: usage for a path that leads to no file, which is a mistake in the
 * command, else local-file.
 *
 * @param prefix what named the file, where that is not the command line itself, as `LISTCTL_TOKEN_FILE: `
 */
export function unreadable(file: string, error: unknown, prefix = ''): Failure {
  const kind = isWrongPath(error) ? 'usage' : 'local-file';
  return new Failure(kind, `${prefix}cannot read ${file}: ${errnoReason(error)}`, {
    hint: 'nothing was sent',
    cause: error,
  });
}
