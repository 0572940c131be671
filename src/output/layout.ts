/** How values that come one at a time become the text of a stream. */
export interface Layout<T> {
  /** The text that can be said now; '' while it can't. */
  readonly add: (value: T) => string;
  /** Says what is left, also where nothing was added. */
  readonly end: (write: (text: string) => Promise<void>) => Promise<void>;
}

/** A layout that says nothing before it has seen every value; nothing at all where there is none, but to `printsNone`. */
export function wholeLayout<T>(
  textOf: (values: readonly T[]) => Promise<string> | string,
  printsNone = false,
): Layout<T> {
  const values: T[] = [];
  return {
    add: (value) => {
      values.push(value);
      return '';
    },
    end: async (write) => {
      if (values.length > 0 || printsNone) await write(await textOf(values));
    },
  };
}

/** What an array looks like where it is printed element by element, and what one value does. */
export interface ListForm<T> {
  readonly one: (value: T) => string;
  readonly open: string;
  readonly element: (value: T) => string;
  readonly separator: string;
  readonly close: string;
  /** What is printed of several where there is none. */
  readonly none: string;
}

/**
 * One value as one document, several as a list, each printed as it comes.
 *
 * @param isSeveral a list even of one; two values are a list whatever was expected
 */
export function listLayout<T>(isSeveral: boolean, form: ListForm<T>): Layout<T> {
  let count = 0;
  let first: T | undefined;
  const begin = (value: T) => form.open + form.element(value);
  const next = (value: T) => form.separator + form.element(value);
  return {
    add: (value) => {
      count += 1;
      if (isSeveral) return count === 1 ? begin(value) : next(value);
      if (count > 2) return next(value);
      if (count === 2) return begin(first as T) + next(value);
      first = value;
      return '';
    },
    end: async (write) => {
      if (isSeveral || count > 1) await write(count === 0 ? form.none : form.close);
      else if (count === 1) await write(form.one(first as T));
    },
  };
}
