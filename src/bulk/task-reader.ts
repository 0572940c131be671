import type { Numbered, Task } from './task.ts';

/** The tasks of a run, read ahead a block at a time, so that a turn of its loop never waits for one. */
export class TaskReader<R extends Numbered> {
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
