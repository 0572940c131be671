/** One request, up to its outcome: whatever is asked of the service goes through here. */
import { type Asked, failureOf, type Purpose, unusableAnswer } from './failures.ts';
import { outcomeOf } from './outcome.ts';
import { type Answer, type ApiRequest, type AttemptLimits, isRead, type Method, type Transport } from './transport.ts';

/** The way to one service. */
export interface Wire {
  /** Where requests go, for messages: never with user info or a query. */
  readonly address: string;
  /**
   * Sends a request and gives what `read` makes of its answer, a complete 2xx.
   *
   * A stop ends a read at once, with the signal's reason; a write that was sent is given a moment for its answer.
   *
   * @param read throws a SyntaxError, with a reason for people, where the answer is not what it must be
   * @throws {Failure} of the kind that the outcome has; in-doubt, where a write may or may not have happened
   */
  ask<T>(request: ApiRequest, purpose: Purpose, read: (answer: Answer) => T): Promise<T>;
}

/** How long a write that was sent is waited for after listctl was told to stop (reliability, P03). */
const stopGraceMs = 2000;

/** The way through a transport, each attempt within the same limits. */
export function wireOver(transport: Transport, limits: AttemptLimits): Wire {
  const { address } = transport;
  let writeLimits: AttemptLimits | undefined;
  const limitsFor = (method: Method): AttemptLimits => {
    if (isRead(method)) return limits;
    writeLimits ??= { ...limits, signal: laterThan(limits.signal, stopGraceMs) };
    return writeLimits;
  };
  return {
    address,
    ask: async (request, purpose, read) => {
      const { method } = request;
      const attempt = await transport.send(request, limitsFor(method));
      const outcome = outcomeOf(method, attempt);
      const hadNoEffect = isRead(method) || outcome === 'not-sent';
      if (attempt.fault?.kind === 'stopped' && hadNoEffect) throw limits.signal.reason;
      const asked = { ...purpose, address, method };
      if (outcome !== 'applied' || !attempt.answer) throw failureOf(asked, attempt, outcome);
      return usable(asked, attempt.answer, read);
    },
  };
}

function usable<T>(asked: Asked, answer: Answer, read: (answer: Answer) => T): T {
  try {
    return read(answer);
  } catch (error) {
    if (error instanceof SyntaxError) throw unusableAnswer(asked, answer, error.message);
    throw error;
  }
}

/** A signal that aborts some time after another one: what was sent may still be answered. */
function laterThan(signal: AbortSignal, graceMs: number): AbortSignal {
  const later = new AbortController();
  const wait = () => {
    // Unreferenced: it must not keep a process that has its answer.
    setTimeout(() => later.abort(signal.reason), graceMs).unref();
  };
  if (signal.aborted) wait();
  else signal.addEventListener('abort', wait, { once: true });
  return later.signal;
}
