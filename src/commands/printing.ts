import { Failure } from '../errors.ts';
import type { Printer } from '../output/printer.ts';
import type { View } from '../output/view.ts';

/** Prints one result. */
export type Print<T> = (value: T) => Promise<void>;

/**
 * Prints results as `work` comes upon them, and ends the printer however that goes.
 *
 * @param done what the service did to each, where it was a write: `created`
 * @throws {Failure} what can't be printed; where it was done, with the outcome applied and what was done in its message
 */
export async function printResults<T>(
  printer: Printer<T>,
  view: View<T>,
  work: (print: Print<T>) => Promise<void>,
  done: string | undefined,
): Promise<void> {
  const ids: (string | undefined)[] = [];
  const printed = (step: Promise<void>) =>
    step.catch((error: unknown) => {
      throw done !== undefined && ids.length > 0 && error instanceof Failure ? notPrinted(error, done, ids) : error;
    });
  try {
    await work((value) => {
      ids.push(view.id(value));
      return printed(printer.print(value));
    });
  } finally {
    await printed(printer.end());
  }
}

/** What was done is never reported as if it were not: a script that tried again would do it twice. */
function notPrinted({ message, kind, details }: Failure, done: string, ids: readonly (string | undefined)[]): Failure {
  const known = ids.filter((id) => id !== undefined);
  const shown = known.slice(0, 10).join(', ') + (known.length > 10 ? ` and ${known.length - 10} more` : '');
  const what =
    known.length === 0
      ? 'the request was'
      : `item${known.length === 1 ? '' : 's'} ${shown} ${known.length === 1 ? 'was' : 'were'}`;
  return new Failure(
    kind === 'refused' ? 'local-file' : kind,
    `${what} ${done}, but could not be printed: ${message}`,
    {
      ...details,
      hint: 'it need not be run again',
      outcome: 'applied',
    },
  );
}
