import { type Answer, type AnswerHead, answerBytesMax, errorBytesMax, type ResponseConnection } from './transport.ts';

/** Puts one answer together from its pieces. */
export interface AnswerReader {
  readonly head: AnswerHead;
  /** Takes a piece: `enough` once the rest is not wanted, `too-large` once it is more than anybody may send. */
  add(piece: Uint8Array): 'more' | 'enough' | 'too-large';
  /** The answer, of what came on this connection. */
  answer(connection: ResponseConnection): Answer;
}

/**
 * Reads the body of a 2xx up to 8 MiB. Of any other answer only the first 64 KiB are kept: there is an error in it to
 * show, and its status is known already.
 */
export function answerReader(head: AnswerHead): AnswerReader {
  return new PieceReader(head);
}

class PieceReader implements AnswerReader {
  readonly head: AnswerHead;
  readonly #isGood: boolean;
  #first: Uint8Array | undefined;
  #more: Uint8Array[] | undefined;
  #sizeBytes = 0;

  constructor(head: AnswerHead) {
    this.head = head;
    this.#isGood = head.status >= 200 && head.status < 300;
  }

  add(piece: Uint8Array): 'more' | 'enough' | 'too-large' {
    this.#sizeBytes += piece.length;
    if (this.#isGood && this.#sizeBytes > answerBytesMax) return 'too-large';
    // Mostly there is one.
    if (this.#first === undefined) this.#first = piece;
    else if (this.#more === undefined) this.#more = [piece];
    else this.#more.push(piece);
    return this.#isGood || this.#sizeBytes < errorBytesMax ? 'more' : 'enough';
  }

  answer(connection: ResponseConnection): Answer {
    const { status, headers, statusText, isEarly } = this.head;
    const answer = { status, headers, statusText, body: this.#body(), connection };
    return isEarly ? { ...answer, isEarly } : answer;
  }

  #body(): Uint8Array {
    if (this.#first === undefined) return new Uint8Array();
    return this.#more === undefined ? this.#first : Buffer.concat([this.#first, ...this.#more]);
  }
}

/** Whether the head declares a body that is larger than 8 MiB: then not a byte of it need be read. */
export function declaresTooMuch({ status, headers }: AnswerHead): boolean {
  return status >= 200 && status < 300 && Number(headers['content-length'] ?? 0) > answerBytesMax;
}
