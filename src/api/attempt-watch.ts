import { setMaxListeners } from 'node:events';
import { type AttemptLimits, type Fault, usualPhases } from './transport.ts';

/** Ends one attempt that takes too long, or that is not wanted any more. */
export interface AttemptWatch {
  /** The request begins to be written: from here on an answer is waited for. */
  written(): void;
  /** The headers of the answer, or a piece of its body, have come. */
  received(): void;
  /** The attempt has ended: nothing is watched any more. */
  end(): void;
}

/**
 * Watches one attempt: the whole of it, the time to its headers, each pause in its body, and the signal. All of it is
 * real time: a body that drips may keep each pause short, but not the whole.
 *
 * @param fail told once, of the first limit that was passed
 */
export function watchAttempt(limits: AttemptLimits, fail: (fault: Fault) => void): AttemptWatch {
  const { timeoutMs, signal } = limits;
  const { headersMs, idleMs } = limits.phases ?? usualPhases(timeoutMs);
  const late = (what: string, ms: number) => () => fail({ kind: 'timeout', reason: `${what} within ${ms / 1000} s` });
  const stop = () => fail({ kind: 'stopped', reason: 'stopped', cause: signal.reason });
  const whole = setTimeout(late('no complete answer', timeoutMs), timeoutMs);
  let phase: NodeJS.Timeout | undefined;
  let pause: NodeJS.Timeout | undefined;
  // However many attempts are under way: Node would take more than ten for a leak, and say so.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', stop);
  return {
    written: () => {
      if (headersMs < timeoutMs) phase = setTimeout(late('no answer', headersMs), headersMs);
    },
    received: () => {
      clearTimeout(phase);
      if (idleMs >= timeoutMs) return;
      if (pause === undefined) pause = setTimeout(late('the answer stopped: no more of it', idleMs), idleMs);
      else pause.refresh();
    },
    end: () => {
      clearTimeout(whole);
      clearTimeout(phase);
      clearTimeout(pause);
      signal.removeEventListener('abort', stop);
    },
  };
}
