/** One request on a connection, for both transports: its limits, the body of its response, and its one result. */
import type { AttemptWatch, AttemptWatches } from './deadlines.ts';
import {
  type Attempt,
  type AttemptLimits,
  errorBytesMax,
  type Method,
  type ResponseConnection,
  type ResponseHead,
  responseBytesMax,
  type ServiceResponse,
  type TransportError,
} from './transport.ts';

/** What an exchange needs, whichever transport carries it. */
export interface ExchangeParts {
  readonly method: Method;
  readonly watches: AttemptWatches;
  readonly limits: AttemptLimits;
  readonly resolve: (attempt: Attempt) => void;
}

export abstract class Exchange {
  readonly #method: Method;
  readonly #watch: AttemptWatch;
  readonly #resolve: (attempt: Attempt) => void;
  #body: ResponseBody | undefined;
  #hasEnded = false;

  constructor({ method, watches, limits, resolve }: ExchangeParts) {
    this.#method = method;
    this.#resolve = resolve;
    this.#watch = watches.watch(limits, (error) => this.fail(error));
  }

  protected abstract readonly wasSent: boolean;
  protected abstract readonly connection: ResponseConnection;
  /** Gives the connection back, or closes it where it must not carry another request (limits-2). */
  protected abstract release(isReusable: boolean): void;

  protected get hasEnded(): boolean {
    return this.#hasEnded;
  }

  protected get head(): ResponseHead | undefined {
    return this.#body?.head;
  }

  /** The request begins to be written. */
  protected written(): void {
    this.#watch.written();
  }

  protected begin(head: ResponseHead): void {
    this.#body = new ResponseBody(head);
    this.#watch.received();
    if (this.#method !== 'HEAD' && this.#body.isDeclaredTooLarge) this.fail(tooLarge);
  }

  protected add(piece: Uint8Array): void {
    if (this.#hasEnded || this.#body === undefined) return;
    this.#watch.received();
    const state = this.#body.add(piece);
    if (state === 'too-large') this.fail(tooLarge);
    else if (state === 'enough') this.#end({ response: this.#body.response(this.connection) }, false);
  }

  protected complete(): void {
    if (this.#body === undefined) return;
    this.#end({ response: this.#body.response(this.connection) }, this.#body.head.status < 500);
  }

  protected fail(error: TransportError): void {
    this.#end({ error, wasSent: this.wasSent, head: this.head }, false);
  }

  #end(attempt: Attempt, isReusable: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#watch.end();
    this.release(isReusable);
    this.#resolve(attempt);
  }
}

const tooLarge: TransportError = { kind: 'too-large', reason: 'the response is larger than 8 MiB' };

/** The body of a 2xx up to 8 MiB; of any other response the first 64 KiB, which hold the error to show (responses-1). */
export class ResponseBody {
  readonly head: ResponseHead;
  readonly #isGood: boolean;
  #first: Uint8Array | undefined;
  #more: Uint8Array[] | undefined;
  #sizeBytes = 0;

  constructor(head: ResponseHead) {
    this.head = head;
    this.#isGood = head.status >= 200 && head.status < 300;
  }

  get isDeclaredTooLarge(): boolean {
    return this.#isGood && Number(this.head.headers['content-length'] ?? 0) > responseBytesMax;
  }

  add(piece: Uint8Array): 'more' | 'enough' | 'too-large' {
    this.#sizeBytes += piece.length;
    if (this.#isGood && this.#sizeBytes > responseBytesMax) return 'too-large';
    // Most bodies are one piece.
    if (this.#first === undefined) this.#first = piece;
    else if (this.#more === undefined) this.#more = [piece];
    else this.#more.push(piece);
    return this.#isGood || this.#sizeBytes < errorBytesMax ? 'more' : 'enough';
  }

  response(connection: ResponseConnection): ServiceResponse {
    const { status, headers, statusText, isEarly } = this.head;
    const response = { status, headers, statusText, body: this.#bytes(), connection };
    return isEarly ? { ...response, isEarly } : response;
  }

  #bytes(): Uint8Array {
    if (this.#first === undefined) return new Uint8Array();
    return this.#more === undefined ? this.#first : Buffer.concat([this.#first, ...this.#more]);
  }
}
