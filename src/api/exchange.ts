/** One request on a connection, for both transports: its time limits, the body of its response, and its result. */
import type { AttemptDeadline, AttemptDeadlines } from './deadlines.ts';
import {
  type Attempt,
  type AttemptLimits,
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
