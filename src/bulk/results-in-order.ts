import { Fifo } from './fifo.ts';

/** A place in the order of the input, and the result that comes to stand there. */
export interface Place<V> {
  value: V | undefined;
}

/**
 * Hands results on in the order in which their places were taken, each once it is there, and one after the other: the
 * next one waits until the one before was taken.
 */
export class ResultsInOrder<V> {
  readonly #places = new Fifo<Place<V>>();
  readonly #hand: (value: V) => Promise<void> | undefined;
  readonly #onRoom: (error: unknown) => void;
  #isHanding = false;
  #hasFailed = false;

  /**
   * @param hand takes one result; a promise where it needs time
   * @param onRoom told, without an error, when results were handed on after a wait; with one, when `hand` failed: then
   *   nothing more is handed on
   */
  constructor(hand: (value: V) => Promise<void> | undefined, onRoom: (error: unknown) => void) {
    this.#hand = hand;
    this.#onRoom = onRoom;
  }

  /** How many places wait for their result, or to be handed on; none where nothing is handed on any more. */
  get size(): number {
    return this.#hasFailed ? 0 : this.#places.size;
  }

  /** Whether a result could not be handed on: then no further one is. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Whether nothing waits any more that can be handed on. */
  get isIdle(): boolean {
    return !this.#isHanding && (this.#hasFailed || this.#places.size === 0);
  }

  /** Takes the next place. */
  next(): Place<V> {
    const place: Place<V> = { value: undefined };
    if (!this.#hasFailed) this.#places.push(place);
    return place;
  }

  /** Hands on what stands at the front; true where there is room now that there was not. */
  pump(): boolean {
    if (this.#isHanding || this.#hasFailed) return false;
    const before = this.#places.size;
    for (let first = this.#places.first; first?.value !== undefined; first = this.#places.first) {
      this.#places.shift();
      const taking = this.#tryToHand(first.value);
      if (taking === undefined) continue;
      this.#isHanding = true;
      taking.then(
        () => this.#taken(undefined),
        (error: unknown) => this.#taken({ error }),
      );
      break;
    }
    return this.#places.size < before;
  }

  /** What throws at once has failed as what rejects has: who is told of it must not be who asked. */
  #tryToHand(value: V): Promise<void> | undefined {
    try {
      return this.#hand(value);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #taken(failed: { readonly error: unknown } | undefined): void {
    this.#isHanding = false;
    this.#hasFailed = failed !== undefined;
    this.pump();
    this.#onRoom(failed?.error);
  }
}
