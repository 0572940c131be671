import type { Clock } from '../core/host.ts';
import type { NumberedRow, Task } from './task.ts';

/** A FIFO queue with constant-time ends. */
export class Queue<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  get first(): T | undefined {
    return this.#items[this.#head];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (this.size === 0) return undefined;
    // The array is cut only now and then, so release the item.
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 1024) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

/** Values that become due later, the soonest first. */
export class DelayQueue<T> {
  readonly #all: { readonly atMs: number; readonly value: T }[] = [];

  get size(): number {
    return this.#all.length;
  }

  /** When the first value is due; Infinity if the queue is empty. */
  get dueAtMs(): number {
    return this.#all[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Adds a value; values due at the same time keep their order. */
  add(value: T, atMs: number): void {
    let low = 0;
    for (let high = this.#all.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#all[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    this.#all.splice(low, 0, { atMs, value });
  }

  take(nowMs: number): T | undefined {
    return this.dueAtMs <= nowMs ? this.#all.shift()?.value : undefined;
  }

  takeAll(): readonly T[] {
    return this.#all.splice(0).map(({ value }) => value);
  }
}

/**
 * Entries of a run whose rows have to follow one another, in their order: of those with the same item, one is in progress
 * and the others are held. After one that is not done, none follows (docs/decisions.md, bulk-7). A row without an item
 * follows none.
 */
export class Sequences<R, E extends { readonly task: { readonly row: R } }> {
  readonly #itemOf: (row: R) => string | undefined;
  readonly #held = new Map<string, E[]>();
  readonly #broken = new Set<string>();

  constructor(itemOf: (row: R) => string | undefined = () => undefined) {
    this.#itemOf = itemOf;
  }

  /** Returns what becomes of an entry: it is in progress now, is held here, or must not follow. */
  enter(entry: E): 'free' | 'held' | 'broken' {
    const item = this.#itemOf(entry.task.row);
    if (item === undefined) return 'free';
    if (this.#broken.has(item)) return 'broken';
    const held = this.#held.get(item);
    if (held === undefined) this.#held.set(item, []);
    else held.push(entry);
    return held === undefined ? 'free' : 'held';
  }

  /** Ends the entry in progress; returns the next one of its item, which is in progress then. */
  next({ task }: E): E | undefined {
    const item = this.#itemOf(task.row);
    if (item === undefined) return undefined;
    const next = this.#held.get(item)?.shift();
    if (next === undefined) this.#held.delete(item);
    return next;
  }

  /** Ends a sequence because a row failed; returns the entries that were held. */
  break(row: R): readonly E[] {
    const item = this.#itemOf(row);
    if (item === undefined) return [];
    const held = this.#held.get(item) ?? [];
    this.#held.delete(item);
    this.#broken.add(item);
    return held;
  }

  takeAll(): readonly E[] {
    const all = [...this.#held.values()].flat();
    this.#held.clear();
    return all;
  }
}

/** Wakes at the earliest requested time, with one timer. */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #onWake: () => void;
  #atMs = Number.POSITIVE_INFINITY;
  #sleeping: AbortController | undefined;

  constructor(clock: Clock, onWake: () => void) {
    this.#clock = clock;
    this.#onWake = onWake;
  }

  set(atMs: number): void {
    if (atMs >= this.#atMs) return;
    this.cancel();
    const sleeping = new AbortController();
    this.#sleeping = sleeping;
    this.#atMs = atMs;
    const woken = () => {
      this.#sleeping = undefined;
      this.#atMs = Number.POSITIVE_INFINITY;
      this.#onWake();
    };
    this.#clock.sleep(Math.max(0, atMs - this.#clock.monotonicMs()), sleeping.signal).then(woken, () => {});
  }

  cancel(): void {
    this.#sleeping?.abort();
    this.#sleeping = undefined;
    this.#atMs = Number.POSITIVE_INFINITY;
  }
}

/** Reads the tasks of a run one block ahead, so that a turn of the loop never waits. */
export class TaskReader<R extends NumberedRow> {
  readonly #tasks: AsyncIterator<readonly Task<R>[]>;
  readonly #onRead: () => void;
  readonly #onFailure: (error: unknown) => void;
  #block: readonly Task<R>[] = [];
  #at = 0;
  isReading = false;
  #isRead = false;

  /**
   * @param onRead called when `next` may return more
   * @param onFailure called with a read error, after which there are no tasks
   */
  constructor(tasks: AsyncIterator<readonly Task<R>[]>, onRead: () => void, onFailure: (error: unknown) => void) {
    this.#tasks = tasks;
    this.#onRead = onRead;
    this.#onFailure = onFailure;
  }

  get isAtEnd(): boolean {
    return this.#isRead && this.#at >= this.#block.length;
  }

  next(): Task<R> | undefined {
    const task = this.#block[this.#at];
    if (task !== undefined) this.#at += 1;
    else if (!this.isReading && !this.#isRead) void this.#read();
    return task;
  }

  async #read(): Promise<void> {
    this.isReading = true;
    try {
      const { done, value } = await this.#tasks.next();
      this.#isRead = done === true;
      this.#block = done === true ? [] : value;
    } catch (error) {
      this.#isRead = true;
      this.#block = [];
      this.#onFailure(error);
    }
    this.#at = 0;
    this.isReading = false;
    this.#onRead();
  }
}
