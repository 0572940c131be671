/** What a rate looks like, for messages. */
export const rateExpected = 'requests a second or a minute, such as 10, 10/s or 600/m';

/** Requests a second, of what was typed: `10`, `10/s`, `600/m`; undefined where it is no rate above 0. */
export function perSecond(text: string): number | undefined {
  const { count = '', unit = 's' } = /^(?<count>\d+(\.\d+)?)(\/(?<unit>[sm]))?$/.exec(text)?.groups ?? {};
  const value = Number(count) / (unit === 'm' ? 60 : 1);
  return value > 0 ? value : undefined;
}
