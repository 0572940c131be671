/** The service's own time, from the `Date` of its responses. */
import type { Clock } from '../host.ts';
import { dateMs, secondsMs } from './retry-after.ts';
import type { AnswerHead } from './transport.ts';

/** Knows what time it is for a service, as soon as a response has said it. */
export class ServiceClock {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #said = '';
  #saidMs = 0;
  #heardAtMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Takes the time of a response; one out of a cache is as old as its `Age` says (RFC 9111, section 5.1). */
  hear({ headers: { date = '', age = '' } }: AnswerHead): void {
    // There are many responses in one second.
    if (date === this.#said) return;
    const ms = dateMs(date);
    if (ms === undefined) return;
    this.#said = date;
    this.#saidMs = ms + (secondsMs(age) ?? 0);
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  /** Milliseconds since the Unix epoch; undefined before the first `Date`. */
  now(): number | undefined {
    return this.#said === '' ? undefined : this.#saidMs + this.#clock.monotonicMs() - this.#heardAtMs;
  }
}
