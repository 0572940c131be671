/** Numbers for people, the same on every machine: no locale is asked, and none is loaded. */

/** A count with its thousands apart: `12,000`. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A count of something: `1 row`, `12,000 rows`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : plural}`;
}

/** Rows a second: `812 rows/s`, and `4.2 rows/s` where they are few. */
export function rateText(perSecond: number, noun = 'rows'): string {
  const tenths = Math.round(perSecond * 10);
  return `${tenths < 100 ? tenths / 10 : countText(Math.round(perSecond))} ${noun}/s`;
}

/** How long something took: `12.3 s` up to a minute, then as `roughTimeText`. */
export function timeText(ms: number): string {
  const tenths = Math.round(ms / 100);
  return tenths < 600 ? `${(tenths / 10).toFixed(1)} s` : roughTimeText(ms);
}

/** A time in its two largest units: `45 s`, `1 min 48 s`, `2 h 5 min`, `3 d 4 h`. */
export function roughTimeText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return pairText(seconds, 60, 'min', 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return pairText(minutes, 60, 'h', 'min');
  return pairText(Math.round(minutes / 60), 24, 'd', 'h');
}

/** An amount of the small unit, of which so many are one large one. */
function pairText(amount: number, perLarge: number, large: string, small: string): string {
  const rest = amount % perLarge;
  const first = `${Math.floor(amount / perLarge)} ${large}`;
  return rest === 0 ? first : `${first} ${rest} ${small}`;
}
