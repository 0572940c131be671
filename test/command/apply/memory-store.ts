/** A store of the built-in service in memory, for tests that make thousands of them. */
import type { Key, Store, Transaction } from '../../../src/service/store.ts';

export interface MemoryStore extends Store {
  readonly records: ReadonlyMap<string, string>;
}

export function memoryStore(): MemoryStore {
  let records = new Map<string, string>();
  return {
    get records() {
      return records;
    },
    get: (key) => records.get(nameOf(key)),
    entries: () => [],
    write: async (work) => {
      const changed = new Map(records);
      const result = work(transactionOn(changed));
      records = changed;
      return result;
    },
    close: async () => {},
  };
}

function transactionOn(records: Map<string, string>): Transaction {
  return {
    get: (key) => records.get(nameOf(key)),
    put: (key, value) => {
      records.set(nameOf(key), value);
    },
    remove: (key) => {
      records.delete(nameOf(key));
    },
    // Only asked for keys of a day ago: no test lasts so long.
    entries: () => [],
  };
}

function nameOf(key: Key): string {
  return JSON.stringify(key);
}
