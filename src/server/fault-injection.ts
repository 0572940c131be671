/** Injects delays, throttling and failures into the service, to test scripts. */
import {
  type ErrorResponder,
  errorResponse,
  Refusal,
  type Service,
  type ServiceRequest,
  type ServiceResponse,
} from './message.ts';

export interface InjectedFaults {
  readonly latencyMs?: number | undefined;
  /** The maximum rate; further requests get 429. */
  readonly throttlePerSecond?: number | undefined;
  /** The share of requests that fail, 0 to 1: half before they take effect, half after. */
  readonly failRate?: number | undefined;
  readonly seed?: number | undefined;
  /** Whether a PATCH without `If-Match` may also fail with 409, as on Microsoft Graph. */
  readonly withCollisions?: boolean;
}

/** A service whose connection may break: then the response is undefined. */
export type FaultyService = (request: ServiceRequest) => Promise<ServiceResponse | undefined>;

const faultsBefore = [500, 503, 'reset'] as const;
const faultsAfter = [500, 504, 'reset'] as const;

/** @param clock `now` in milliseconds since 1970; `wait` resolves after a delay, or at once when the server ends */
export function injectFaults(
  service: Service,
  faults: InjectedFaults,
  clock: { readonly now: () => number; readonly wait: (ms: number) => Promise<void> },
  respondError: ErrorResponder = errorResponse,
): FaultyService {
  const { latencyMs = 0, throttlePerSecond, failRate = 0, seed, withCollisions = false } = faults;
  const throttle = throttlePerSecond === undefined ? undefined : tokenBucket(throttlePerSecond, clock.now());
  const random = seed === undefined ? Math.random : randomFrom(seed);
  const respond: FaultyService = async (request) => {
    const waitMs = throttle?.(clock.now()) ?? 0;
    if (waitMs > 0) return respondError(throttled(waitMs), request);
    // Three draws for each request, so that the failures depend only on its number.
    const [luck, time, choice] = [random(), random(), random()];
    if (luck >= failRate) return service(request);
    const isBefore = time < 0.5;
    if (!isBefore) await service(request);
    const choices = isBefore ? faultsBeforeIt(request, withCollisions) : faultsAfter;
    const fault = choices[Math.floor(choice * choices.length)] ?? 'reset';
    if (fault === 'reset') return undefined;
    return respondError(new Refusal(fault, 'injected failure (serve --fail-rate)'), request);
  };
  if (latencyMs === 0) return respond;
  return async (request) => {
    const response = await respond(request);
    await clock.wait(latencyMs);
    return response;
  };
}

function faultsBeforeIt({ method, headers }: ServiceRequest, withCollisions: boolean) {
  const mayCollide = withCollisions && method === 'PATCH' && headers['if-match'] === undefined;
  return mayCollide ? ([...faultsBefore, 409] as const) : faultsBefore;
}

function throttled(waitMs: number): Refusal {
  const headers = { 'retry-after': String(Math.ceil(waitMs / 1000)) };
  return new Refusal(429, 'too many requests (serve --throttle)', headers);
}

/**
 * A token bucket that holds a tenth of a second's requests, at least one. The function takes a token, and returns 0, or
 * the milliseconds until there is one.
 */
function tokenBucket(perSecond: number, startedAt: number): (now: number) => number {
  const size = Math.max(1, Math.floor(perSecond / 10));
  let tokens = size;
  let filledAt = startedAt;
  return (now) => {
    // The clock may be set back.
    tokens = Math.min(size, tokens + (Math.max(0, now - filledAt) * perSecond) / 1000);
    filledAt = now;
    if (tokens < 1) return ((1 - tokens) * 1000) / perSecond;
    tokens -= 1;
    return 0;
  };
}

/** mulberry32 (Tommy Ettinger, public domain): numbers from 0 up to 1. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
