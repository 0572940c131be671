/** One request on a connection, for both transports: its time limits, the body of its response, and its result. */
import { setMaxListeners } from 'node:events';
import {
  type Attempt,
  type AttemptLimits,
  defaultPhases,
  errorBytesMax,
  isSuccess,
  type Method,
  type ResponseHead,
  responseBytesMax,
  type ServiceResponse,
  type TransportError,
  tooLarge,
} from './transport.ts';

export interface ExchangeOptions {
  readonly method: Method;
  readonly deadlines: AttemptDeadlines;
  readonly limits: AttemptLimits;
  readonly resolve: (attempt: Attempt) => void;
}

export abstract class Exchange {
  readonly #method: Method;
  readonly #deadline: AttemptDeadline;
  readonly #resolve: (attempt: Attempt) => void;
  #body: ResponseBody | undefined;
  #hasEnded = false;

  constructor({ method, deadlines, limits, resolve }: ExchangeOptions) {
    this.#method = method;
    this.#resolve = resolve;
    this.#deadline = deadlines.start(limits, (error) => this.fail(error));
  }

  protected abstract readonly wasSent: boolean;
  /** Closes the connection, so that no further request uses it. */
  abstract drop(): void;
  /** Returns the connection for reuse, or closes it if another request must not use it (limits-2). */
  protected abstract release(isReusable: boolean): void;

  protected get hasEnded(): boolean {
    return this.#hasEnded;
  }

  protected get head(): ResponseHead | undefined {
    return this.#body?.head;
  }

  protected written(): void {
    this.#deadline.written();
  }

  protected begin(head: ResponseHead): void {
    this.#body = new ResponseBody(head);
    this.#deadline.received();
    if (this.#method !== 'HEAD' && this.#body.isDeclaredTooLarge) this.fail(tooLarge);
  }

  protected add(chunk: Uint8Array): void {
    if (this.#hasEnded || this.#body === undefined) return;
    this.#deadline.received();
    const state = this.#body.add(chunk);
    if (state === 'too-large') this.fail(tooLarge);
    else if (state === 'enough') this.#end({ response: this.#body.response(this) }, false);
  }

  protected complete(): void {
    if (this.#body === undefined) return;
    this.#end({ response: this.#body.response(this) }, this.#body.head.status < 500);
  }

  protected fail(error: TransportError): void {
    this.#end({ error, wasSent: this.wasSent, head: this.head }, false);
  }

  #end(attempt: Attempt, isReusable: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#deadline.end();
    this.release(isReusable);
    this.#resolve(attempt);
  }
}

/** The body of a 2xx up to 8 MiB; of any other response the first 64 KiB, which hold the error to show (responses-1). */
export class ResponseBody {
  readonly head: ResponseHead;
  readonly #isSuccess: boolean;
  #first: Uint8Array | undefined;
  #more: Uint8Array[] | undefined;
  #sizeBytes = 0;

  constructor(head: ResponseHead) {
    this.head = head;
    this.#isSuccess = isSuccess(head);
  }

  get isDeclaredTooLarge(): boolean {
    return this.#isSuccess && Number(this.head.headers['content-length'] ?? 0) > responseBytesMax;
  }

  add(chunk: Uint8Array): 'more' | 'enough' | 'too-large' {
    this.#sizeBytes += chunk.length;
    if (this.#isSuccess && this.#sizeBytes > responseBytesMax) return 'too-large';
    // Most bodies are one chunk: no array for those.
    if (this.#first === undefined) this.#first = chunk;
    else if (this.#more === undefined) this.#more = [chunk];
    else this.#more.push(chunk);
    return this.#isSuccess || this.#sizeBytes < errorBytesMax ? 'more' : 'enough';
  }

  response(connection: Pick<Exchange, 'drop'>): ServiceResponse {
    const { status, headers, statusText, isEarly } = this.head;
    const response = { status, headers, statusText, body: this.#bytes(), connection };
    return isEarly ? { ...response, isEarly } : response;
  }

  #bytes(): Uint8Array {
    if (this.#first === undefined) return new Uint8Array();
    return this.#more === undefined ? this.#first : Buffer.concat([this.#first, ...this.#more]);
  }
}

/**
 * The time limits of a transport's attempts, in real time. One timer and one signal listener serve all of them: separate
 * ones cost a fifth of a request. The timer is unreferenced, since the socket of an attempt keeps the process alive.
 */
export class AttemptDeadlines {
  /** Not a Set: each table that a growing Set replaces keeps its attempts from being collected early. */
  readonly #attempts: (AttemptDeadline | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #signals = new WeakSet<AbortSignal>();
  readonly #nowMs: () => number;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  /** @param nowMs monotonic time in milliseconds */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Starts the limits of one attempt. Calls `fail` once, for the first one exceeded, or when the signal aborts. */
  start(limits: AttemptLimits, fail: (error: TransportError) => void): AttemptDeadline {
    const index = this.#free.pop() ?? this.#attempts.length;
    const attempt = new AttemptDeadline(limits, fail, this, index);
    this.#attempts[index] = attempt;
    this.#listen(limits.signal);
    this.schedule(attempt.nextMs);
    return attempt;
  }

  /** Checks the limits at this time at the latest. */
  schedule(atMs: number): void {
    if (atMs >= this.#timerAtMs) return;
    this.#timerAtMs = atMs;
    clearTimeout(this.#timer);
    // Node 21 and later warn about a negative delay.
    const delayMs = Math.max(0, Math.min(atMs - this.#nowMs(), 2 ** 31 - 1));
    this.#timer = setTimeout(() => this.#check(), delayMs).unref();
  }

  now(): number {
    return this.#nowMs();
  }

  remove(attempt: AttemptDeadline): void {
    if (this.#attempts[attempt.index] !== attempt) return;
    this.#attempts[attempt.index] = undefined;
    this.#free.push(attempt.index);
  }

  /** After a suspension, responses may be waiting in the sockets, which are read before immediates run. */
  #check(): void {
    const nowMs = this.#nowMs();
    setImmediate(() => this.#failLate(nowMs));
  }

  #failLate(nowMs: number): void {
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    for (const attempt of [...this.#attempts]) {
      if (attempt === undefined) continue;
      const error = attempt.errorAt(nowMs);
      if (error === undefined) this.schedule(attempt.nextMs);
      else attempt.fail(error);
    }
  }

  #listen(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    // Node warns about more than ten listeners; each transport adds one.
    setMaxListeners(0, signal);
    const stop = () => {
      for (const attempt of [...this.#attempts]) {
        if (attempt?.signal === signal) attempt.fail({ kind: 'stopped', reason: 'stopped', cause: signal.reason });
      }
    };
    signal.addEventListener('abort', stop, { once: true });
  }
}

/** The limits of one attempt: as a whole, for the response headers, and between two chunks of the body. */
export class AttemptDeadline {
  readonly signal: AbortSignal;
  readonly index: number;
  readonly #timeoutMs: number;
  readonly #phases: ReturnType<typeof defaultPhases>;
  readonly #fail: (error: TransportError) => void;
  readonly #deadlines: AttemptDeadlines;
  readonly #endAtMs: number;
  #headersAtMs = Number.POSITIVE_INFINITY;
  #chunkAtMs = Number.POSITIVE_INFINITY;

  constructor(
    { signal, timeoutMs, phases = defaultPhases(timeoutMs) }: AttemptLimits,
    fail: (error: TransportError) => void,
    deadlines: AttemptDeadlines,
    index: number,
  ) {
    this.signal = signal;
    this.index = index;
    this.#timeoutMs = timeoutMs;
    this.#phases = phases;
    this.#fail = fail;
    this.#deadlines = deadlines;
    this.#endAtMs = deadlines.now() + timeoutMs;
  }

  /** Call when the first byte of the request is written. */
  written(): void {
    const { headersMs } = this.#phases;
    if (headersMs >= this.#timeoutMs) return;
    this.#headersAtMs = this.#deadlines.now() + headersMs;
    this.#deadlines.schedule(this.#headersAtMs);
  }

  /** Call for the response headers and for each chunk of the body. */
  received(): void {
    const { idleMs } = this.#phases;
    this.#headersAtMs = Number.POSITIVE_INFINITY;
    if (idleMs >= this.#timeoutMs) return;
    this.#chunkAtMs = this.#deadlines.now() + idleMs;
    this.#deadlines.schedule(this.#chunkAtMs);
  }

  end(): void {
    this.#deadlines.remove(this);
  }

  get nextMs(): number {
    return Math.min(this.#endAtMs, this.#headersAtMs, this.#chunkAtMs);
  }

  errorAt(nowMs: number): TransportError | undefined {
    const { headersMs, idleMs } = this.#phases;
    if (nowMs >= this.#chunkAtMs) return timeoutError('the response stalled: no data', idleMs);
    if (nowMs >= this.#headersAtMs) return timeoutError('no response', headersMs);
    return nowMs >= this.#endAtMs ? timeoutError('no complete response', this.#timeoutMs) : undefined;
  }

  fail(error: TransportError): void {
    this.end();
    this.#fail(error);
  }
}

function timeoutError(problem: string, ms: number): TransportError {
  return { kind: 'timeout', reason: `${problem} within ${ms / 1000} s` };
}
