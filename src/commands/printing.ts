import { Failure } from '../errors.ts';
import type { Printer } from '../output/printer.ts';
import type { View } from '../output/view.ts';

/** Prints one result; undefined where nothing has to be waited for. */
export type Print<T> = (value: T) => Promise<void> | undefined;

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
  const ids = new FirstIds();
  const refuse = (error: unknown) => {
    throw done !== undefined && ids.count > 0 && error instanceof Failure ? notPrinted(error, done, ids) : error;
  };
  try {
    await work((value) => {
      ids.add(view.id(value));
      try {
        return printer.print(value)?.catch(refuse);
      } catch (error) {
        return refuse(error);
      }
    });
  } finally {
    await printer.end().catch(refuse);
  }
}

/** The ids of what was printed, as many as a message has room for: there may be a million. */
class FirstIds {
  readonly known: string[] = [];
  count = 0;
  #knownCount = 0;

  add(id: string | undefined): void {
    this.count += 1;
    if (id === undefined) return;
    this.#knownCount += 1;
    if (this.known.length < 10) this.known.push(id);
  }

  /** The id, where there is one. */
  get only(): string | undefined {
    return this.#knownCount === 1 ? this.known[0] : undefined;
  }

  /** `items 17, 18 were` */
  get sentence(): string {
    if (this.#knownCount === 0) return 'the request was';
    const more = this.#knownCount - this.known.length;
    const shown = this.known.join(', ') + (more > 0 ? ` and ${more} more` : '');
    return this.#knownCount === 1 ? `item ${shown} was` : `items ${shown} were`;
  }
}

/** What was done is never reported as if it were not: a script that tried again would do it twice. */
function notPrinted({ message, kind, details }: Failure, done: string, ids: FirstIds): Failure {
  return new Failure(
    kind === 'refused' ? 'local-file' : kind,
    `${ids.sentence} ${done}, but could not be printed: ${message}`,
    {
      ...details,
      hint: 'it need not be run again',
      outcome: 'applied',
      about: ids.only === undefined ? undefined : { id: ids.only },
    },
  );
}
