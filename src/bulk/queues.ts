import type { Clock } from '../core/host.ts';
import type { NumberedRow, Task } from './outcome.ts';

/** A queue whose ends cost nothing, however long it is. */
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
    // Let go of what was taken: the array itself is cut now and then.
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 1024) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

/** Things that wait for their moment, the soonest first. */
export class DelayQueue<T> {
  readonly #all: { readonly atMs: number; readonly value: T }[] = [];

  get size(): number {
    return this.#all.length;
  }

  /** When the first one is due; Infinity where there is none. */
  get dueAtMs(): number {
    return this.#all[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** Of two for the same moment the first that was added comes first. */
  add(value: T, atMs: number): void {
    let low = 0;
    for (let high = this.#all.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#all[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    this.#all.splice(low, 0, { atMs, value });
  }

  /** Takes the first one whose moment has come. */
  take(nowMs: number): T | undefined {
    return this.dueAtMs <= nowMs ? this.#all.shift()?.value : undefined;
  }

  /** Takes all, due or not. */
  takeAll(): readonly T[] {
    return this.#all.splice(0).map(({ value }) => value);
  }
}

/** Wakes at a moment, one sleep at a time: the earliest that was asked for since it last did. */
export class WakeTimer {
  readonly #clock: Clock;
  readonly #onWake: () => void;
  #atMs = Number.POSITIVE_INFINITY;
  #sleeping: AbortController | undefined;

  constructor(clock: Clock, onWake: () => void) {
    this.#clock = clock;
    this.#onWake = onWake;
  }

  /** Sees to it that it wakes at this moment of the monotonic clock, or before. */
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

  /** Nothing is waited for any more. */
  cancel(): void {
    this.#sleeping?.abort();
    this.#sleeping = undefined;
    this.#atMs = Number.POSITIVE_INFINITY;
  }
}

/** The tasks of a run, read ahead a block at a time, so that a turn of its loop never waits for one. */
export class TaskReader<R extends NumberedRow> {
  readonly #tasks: AsyncIterator<readonly Task<R>[]>;
  readonly #onRead: () => void;
  readonly #onFailure: (error: unknown) => void;
  #block: readonly Task<R>[] = [];
  #at = 0;
  #isReading = false;
  #isRead = false;

  /**
   * @param onRead told whenever `next` may have something new to say
   * @param onFailure told what reading threw: there are no tasks after that
   */
  constructor(tasks: AsyncIterator<readonly Task<R>[]>, onRead: () => void, onFailure: (error: unknown) => void) {
    this.#tasks = tasks;
    this.#onRead = onRead;
    this.#onFailure = onFailure;
  }

  /** Whether a block is on its way. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** Whether every task has been taken. */
  get isAtEnd(): boolean {
    return this.#isRead && this.#at >= this.#block.length;
  }

  /** Takes the next task; undefined where it has not been read yet, which this begins, and at the end. */
  next(): Task<R> | undefined {
    const task = this.#block[this.#at];
    if (task !== undefined) this.#at += 1;
    else if (!this.#isReading && !this.#isRead) void this.#read();
    return task;
  }

  async #read(): Promise<void> {
    this.#isReading = true;
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
    this.#isReading = false;
    this.#onRead();
  }
}
