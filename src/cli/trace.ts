/** What -v and -vv show of the wire. To be loaded where one of them was typed. */
import type { AttemptReport } from '../api/client.ts';
import { secondsText } from '../api/failures.ts';
import type { ApiRequest, Attempt, ServiceResponse } from '../api/transport.ts';
import { printable } from '../core/text.ts';

/** Of a body so many characters are shown. */
const bodyLengthMax = 16 * 1024;

/** Takes the token out of a text. */
type Hide = (text: string) => string;

/**
 * One attempt in lines for stderr: what was asked, what came of it, how long that took, and what follows; with
 * `isFull` the headers and bodies too. Safe for a terminal; the token is `***`.
 *
 * @param hide takes the token out of a text
 */
export function traceLines(report: AttemptReport, isFull: boolean, hide: Hide): string {
  const { request, attempt, tookMs } = report;
  const line = `${request.method} ${request.path}: ${endOf(attempt)} in ${Math.round(tookMs)} ms${followUp(report)}`;
  const lines = isFull ? [...requestLines(request, hide), ...answerLines(attempt, hide), line] : [line];
  return lines.map((each) => `${printable(hide(each))}\n`).join('');
}

/** What a wait is for, and how long it is. */
export function waitText({ attempt, waitMs = 0, number, numberMax }: AttemptReport): string {
  return `${endOf(attempt)}: retrying in ${secondsText(waitMs)} (attempt ${number + 1} of ${numberMax})`;
}

function endOf({ response, error }: Attempt): string {
  return response ? `HTTP ${response.status}` : error.reason;
}

function followUp({ attempt, waitMs, number, numberMax, outcome }: AttemptReport): string {
  if (waitMs !== undefined) return `; retrying in ${secondsText(waitMs)} (attempt ${number + 1} of ${numberMax})`;
  if (outcome === 'applied') return typeNote(attempt);
  return `; ${outcome}, not retried`;
}

function requestLines({ method, path, headers, body }: ApiRequest, hide: Hide): string[] {
  const named = headerLines('>', headers);
  return [`> ${method} ${path}`, '> authorization: Bearer ***', ...named, ...bodyLines('>', body, hide)];
}

/** Headers whose values give access to something: a cookie, the key of an API. */
const secretName =
  /^(set-)?cookie2?$|(^|[-_])(auth|authorization|token|secret|key|apikey|password|credentials?|session)s?$/i;

function headerLines(mark: string, headers: ServiceResponse['headers']): string[] {
  return Object.entries(headers).map(([name, value]) => {
    const isSecret = secretName.test(name) && name !== 'idempotency-key';
    return `${mark} ${name}: ${isSecret ? '***' : value}`;
  });
}

function answerLines(attempt: Attempt, hide: Hide): string[] {
  const head = attempt.response ?? attempt.head;
  if (head === undefined) return [];
  return [
    `< HTTP ${head.status} ${head.statusText ?? ''}`.trimEnd(),
    ...headerLines('<', head.headers),
    ...bodyLines('<', attempt.response?.body, hide),
  ];
}

/** The token is taken out before the body is cut, because half of it is too much; but not out of many megabytes. */
function bodyLines(mark: string, body: string | Uint8Array | undefined, hide: Hide): string[] {
  const whole = Buffer.from(body ?? '').toString();
  if (whole === '') return [];
  const text = hide(whole.slice(0, 2 * bodyLengthMax));
  const left = whole.length - bodyLengthMax;
  const rest = left > 0 ? [`${mark} … ${left} characters more`] : [];
  const shown = text.slice(0, bodyLengthMax).split(/\r?\n/);
  return [mark, ...shown.map((line) => `${mark} ${line}`), ...rest];
}

/** What an answer calls itself, where that is not JSON. */
function typeNote({ response }: Attempt): string {
  const type = response?.headers['content-type'];
  return response?.body.length && type !== undefined && !/json/i.test(type) ? `; content type ${type}` : '';
}
