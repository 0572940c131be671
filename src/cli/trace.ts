/** The output of -v and -vv. */
import type { AttemptReport } from '../api/attempts.ts';
import { secondsText } from '../api/failures.ts';
import { type ApiRequest, type Attempt, isSuccess, type ResponseHead } from '../api/transport.ts';
import { printable } from '../core/text.ts';

/** The characters of a body that are shown. */
const bodyLengthMax = 16 * 1024;

/** The lines for one attempt, safe to print and without the token; with `isFull` the headers and bodies too. */
export function traceLines(report: AttemptReport, isFull: boolean, hide: (text: string) => string): string {
  const { request, attempt, tookMs } = report;
  const line = `${request.method} ${request.path}: ${resultText(attempt)} in ${Math.round(tookMs)} ms${nextStep(report)}`;
  const lines = isFull ? [...requestLines(request, hide), ...responseLines(attempt, hide), line] : [line];
  return lines.map((each) => `${printable(hide(each))}\n`).join('');
}

export function waitText(report: AttemptReport): string {
  return `${resultText(report.attempt)}: ${retryText(report)}`;
}

function resultText({ response, error }: Attempt): string {
  if (response === undefined) return error.reason;
  const { 'request-id': id, 'client-request-id': own } = isSuccess(response) ? {} : response.headers;
  const ids = [id && `request ${id}`, own && `client request ${own}`].filter(Boolean).join(', ');
  return `HTTP ${response.status}${ids && ` (${ids})`}`;
}

function retryText({ waitMs = 0, number, numberMax }: AttemptReport): string {
  return `retrying in ${secondsText(waitMs)} (attempt ${number + 1} of ${numberMax})`;
}

function nextStep(report: AttemptReport): string {
  if (report.waitMs !== undefined) return `; ${retryText(report)}`;
  return report.outcome === 'applied' ? typeNote(report.attempt) : `; ${report.outcome}, not retried`;
}

function requestLines({ method, path, headers, body }: ApiRequest, hide: (text: string) => string): string[] {
  const named = headerLines('>', headers);
  return [`> ${method} ${path}`, '> authorization: Bearer ***', ...named, ...bodyLines('>', body, hide)];
}

/** Headers whose values are secrets: a cookie, an API key. */
const secretName =
  /^(set-)?cookie2?$|(^|[-_])(auth|authorization|token|secret|key|apikey|password|credentials?|session)s?$/i;

function headerLines(mark: string, headers: ResponseHead['headers']): string[] {
  return Object.entries(headers).map(([name, value]) => {
    const isSecret = secretName.test(name) && name !== 'idempotency-key';
    return `${mark} ${name}: ${isSecret ? '***' : value}`;
  });
}

function responseLines(attempt: Attempt, hide: (text: string) => string): string[] {
  const head = attempt.response ?? attempt.head;
  if (head === undefined) return [];
  return [
    `< HTTP ${head.status} ${head.statusText ?? ''}`.trimEnd(),
    ...headerLines('<', head.headers),
    ...bodyLines('<', attempt.response?.body, hide),
  ];
}

/** Hides the token before the body is cut, which could cut the token in half. */
function bodyLines(mark: string, body: string | Uint8Array | undefined, hide: (text: string) => string): string[] {
  const whole = Buffer.from(body ?? '').toString();
  if (whole === '') return [];
  const text = hide(whole.slice(0, 2 * bodyLengthMax));
  const left = whole.length - bodyLengthMax;
  const rest = left > 0 ? [`${mark} … ${left} characters more`] : [];
  const shown = text.slice(0, bodyLengthMax).split(/\r?\n/);
  return [mark, ...shown.map((line) => `${mark} ${line}`), ...rest];
}

/** The content type, if it is not JSON. */
function typeNote({ response }: Attempt): string {
  const type = response?.headers['content-type'];
  return response?.body.length && type !== undefined && !/json/i.test(type) ? `; content type ${type}` : '';
}
