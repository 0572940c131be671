import { type Answer, type AnswerHead, answerBytesMax, errorBytesMax } from './transport.ts';

/** Puts one answer together from its pieces. */
export interface AnswerReader {
  readonly head: AnswerHead;
  /** Takes a piece: `enough` once the rest is not wanted, `too-large` once it is more than anybody may send. */
  add(piece: Uint8Array): 'more' | 'enough' | 'too-large';
  /** The answer, of what came. */
  answer(): Answer;
}

/**
 * Reads the body of a 2xx up to 8 MiB. Of any other answer only the first 64 KiB are kept: there is an error in it to
 * show, and its status is known already.
 */
export function answerReader(head: AnswerHead): AnswerReader {
  const pieces: Uint8Array[] = [];
  const isGood = head.status >= 200 && head.status < 300;
  let sizeBytes = 0;
  return {
    head,
    add: (piece) => {
      sizeBytes += piece.length;
      if (isGood && sizeBytes > answerBytesMax) return 'too-large';
      pieces.push(piece);
      return isGood || sizeBytes < errorBytesMax ? 'more' : 'enough';
    },
    answer: () => ({ ...head, body: wholeOf(pieces) }),
  };
}

/** Whether the head declares a body that is larger than 8 MiB: then not a byte of it need be read. */
export function declaresTooMuch({ status, headers }: AnswerHead): boolean {
  return status >= 200 && status < 300 && Number(headers['content-length'] ?? 0) > answerBytesMax;
}

function wholeOf(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}
