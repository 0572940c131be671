/** What lies between a client and its service, as the loop sees it. */

/** What goes wrong with a request; each is drawn for every request anew (tests-3). */
export type Fault = 'reset-before' | 'reset-after' | 'throttled' | 'failed-before' | 'failed-after';

/** One request, as it went through. */
export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  /** The first 16 hex digits of the SHA-256 of its body. */
  readonly bodyHash: string;
  readonly fault: Fault | undefined;
  /** When it came, by `performance.now()`. */
  readonly atMs: number;
  /** Whether the service was sent it. */
  isForwarded: boolean;
  /** What the service said, and the id in that; undefined where it said nothing. */
  said: { readonly status: number; readonly id: string | undefined } | undefined;
  /** The status that the client was sent, whole; undefined where it was not. */
  answered: number | undefined;
}

/** A wire to the service. */
export interface Wire {
  /** The address of the service for clients, version segment included. */
  readonly url: string;
  readonly requests: readonly ProxiedRequest[];
  /** Refuses connections and breaks those that there are, as where the service is gone. */
  goDown(): Promise<void>;
  /** Takes them again, at the same address. */
  comeUp(): Promise<void>;
  /** Resolves after the given number of further writes. */
  writesCame(count: number): Promise<void>;
  /** Whether faults cease from now on. */
  setCalm(isCalm: boolean): void;
  /** Resolves when the service owes nothing any more. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Counts writes, and resolves those who wait for a number of them. */
export function writeCount() {
  let count = 0;
  const waiting = new Set<{ readonly until: number; readonly tell: () => void }>();
  return {
    add: () => {
      count += 1;
      for (const each of waiting) {
        if (each.until > count) continue;
        waiting.delete(each);
        each.tell();
      }
    },
    /** Resolves after the given number of further writes. */
    more: (writes: number) => new Promise<void>((tell) => waiting.add({ until: count + writes, tell })),
  };
}
