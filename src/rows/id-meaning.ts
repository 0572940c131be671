import type { Interpreter } from './meaning.ts';
import type { RowsOptions } from './rows-options.ts';

/** What rows of ids mean: the item, and for an update the common fields alone. */
export function idInterpreter({ action, common }: RowsOptions): Interpreter {
  const fields = action === 'update' ? common : {};
  return {
    idPlace: 1,
    meaningOf: (source) => ({ id: source.kind === 'id' ? source.id : undefined, fields }),
    notices: () => [],
    unknownName: () => undefined,
  };
}
