/** The resource units of an app (learn.microsoft.com, "Avoid getting throttled or blocked in SharePoint Online"). */
import { GraphRefusal } from './errors.ts';

const minuteMs = 60_000;

/** The share of a minute's units from which the RateLimit headers are sent. */
const warningShare = 0.8;

/**
 * Counts units by the minute. Refused requests count as well, so that retrying at once makes it longer.
 *
 * @returns takes the cost of a request; returns the headers of its response, or throws a 429
 */
export function resourceUnits(
  perMinute: number,
  now: () => number,
): (cost: number) => Readonly<Record<string, string>> {
  let startedAt = now();
  let used = 0;
  return (cost) => {
    const at = now();
    // The clock may be set back.
    const minutes = Math.max(0, Math.floor((at - startedAt) / minuteMs));
    startedAt += minutes * minuteMs;
    used = Math.max(0, used - minutes * perMinute) + cost;
    if (used < warningShare * perMinute) return {};
    const reset = String(Math.max(1, Math.ceil((startedAt + minuteMs - at) / 1000)));
    const headers = {
      'ratelimit-limit': String(perMinute),
      'ratelimit-remaining': String(Math.max(0, perMinute - used)),
      'ratelimit-reset': reset,
    };
    if (used <= perMinute) return headers;
    const message = 'The request has been throttled';
    throw new GraphRefusal(429, 'activityLimitReached', message, { ...headers, 'retry-after': reset });
  };
}
