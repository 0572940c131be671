/** Delays, throttling and failures injected into the service, to test scripts against. */
import type { ListItemService } from './handle.ts';
import { errorResponse, Refusal, type ServiceRequest, type ServiceResponse } from './message.ts';

/** The faults to inject. */
export interface InjectedFaults {
  /** Milliseconds that each answer waits. */
  readonly latencyMs?: number | undefined;
  /** Maximum requests per second; further ones get 429. */
  readonly throttlePerSecond?: number | undefined;
  /** The share of the requests that fail, 0 to 1: half of them before anything is done, half after. */
  readonly failRate?: number | undefined;
  /** Makes the same requests fail again; without it they are others every time. */
  readonly seed?: number | undefined;
}

/** The clock that fault injection uses. */
export interface FaultClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after so many milliseconds, or at once when there is no time left to wait. */
  wait(ms: number): Promise<void>;
}

/** A service whose connection may break: undefined is a request that is never answered. */
export type FaultyService = (request: ServiceRequest) => Promise<ServiceResponse | undefined>;

/** An ambiguous status, or a broken connection. */
type Fault = 500 | 503 | 504 | 'reset';

const faultsBefore: readonly Fault[] = [500, 503, 'reset'];
const faultsAfter: readonly Fault[] = [500, 504, 'reset'];

/** Injects faults into a service: half of the failures come before the request takes effect, half after. */
export function injectFaults(service: ListItemService, day: InjectedFaults, clock: FaultClock): FaultyService {
  const { latencyMs = 0, throttlePerSecond, failRate = 0, seed } = day;
  const throttle = throttlePerSecond === undefined ? undefined : tokenBucket(throttlePerSecond, clock.now());
  const random = seed === undefined ? Math.random : randomFrom(seed);
  const answerTo: FaultyService = async (request) => {
    const waitMs = throttle?.(clock.now()) ?? 0;
    if (waitMs > 0) return throttled(waitMs);
    // Always as many draws for a request, so that the next one's luck does not depend on this one's.
    const [luck, time, choice] = [random(), random(), random()];
    if (luck >= failRate) return service(request);
    const isBefore = time < 0.5;
    if (!isBefore) await service(request);
    const faults = isBefore ? faultsBefore : faultsAfter;
    return failed(faults[Math.floor(choice * faults.length)] ?? 'reset');
  };
  if (latencyMs === 0) return answerTo;
  return async (request) => {
    const answer = await answerTo(request);
    await clock.wait(latencyMs);
    return answer;
  };
}

function throttled(waitMs: number): ServiceResponse {
  const headers = { 'retry-after': String(Math.ceil(waitMs / 1000)) };
  return errorResponse(new Refusal(429, 'too many requests (serve --throttle)', headers));
}

function failed(fault: Fault): ServiceResponse | undefined {
  return fault === 'reset' ? undefined : errorResponse(new Refusal(fault, 'injected failure (serve --fail-rate)'));
}

/**
 * Lets `perSecond` requests through in a second, a tenth of them (at least one) in one burst.
 *
 * @returns for a request at this time, milliseconds until one may pass; 0 when this one does
 */
function tokenBucket(perSecond: number, startedAt: number): (now: number) => number {
  const size = Math.max(1, Math.floor(perSecond / 10));
  let tokens = size;
  let filledAt = startedAt;
  return (now) => {
    // A clock that is set back must not take tokens away.
    tokens = Math.min(size, tokens + (Math.max(0, now - filledAt) * perSecond) / 1000);
    filledAt = now;
    if (tokens < 1) return ((1 - tokens) * 1000) / perSecond;
    tokens -= 1;
    return 0;
  };
}

/** Numbers from 0 up to 1, the same for the same seed: mulberry32 (Tommy Ettinger, public domain). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
