import { type Answer, type Attempt, answerBytesMax, errorBytesMax } from './transport.ts';

/** Whether the answer, if there is one, came as it is: then there is nothing to decode. */
export function isPlain({ answer }: Attempt): boolean {
  return answer?.headers['content-encoding'] === undefined;
}

/**
 * The attempt with the body of its answer decoded: one gzip coding, up to 8 MiB, though none was asked for. Any other
 * coding, several, and a body that is cut or damaged leave an answer with its status and headers alone.
 */
export async function decodedAttempt(attempt: Attempt): Promise<Attempt> {
  const { answer } = attempt;
  const coding = answer?.headers['content-encoding']?.trim().toLowerCase();
  if (!answer || !coding || coding === 'identity' || answer.body.length === 0) return attempt;
  const decoded = /^(x-)?gzip$/.test(coding)
    ? await (await import('./gunzip.ts')).gunzip(answer.body, limitOf(answer))
    : 'it is compressed in a way that is not taken';
  if (decoded === 'too-large' && isGood(answer)) {
    const head = { status: answer.status, headers: answer.headers };
    return { fault: { kind: 'too-large', reason: 'the answer is larger than 8 MiB' }, wasSent: true, head };
  }
  if (typeof decoded !== 'string') return { answer: { ...answer, headers: plain(answer), body: decoded } };
  const unreadable = `the answer can't be read: ${decoded}`;
  return { answer: { ...answer, headers: plain(answer), body: new Uint8Array(), unreadable } };
}

/** The headers without the coding, which is off. */
function plain({ headers }: Answer): Answer['headers'] {
  const { 'content-encoding': _, ...rest } = headers;
  return rest;
}

/** How many bytes are taken: a small body may stand for a huge one. */
function limitOf(answer: Answer): number {
  return isGood(answer) ? answerBytesMax : errorBytesMax;
}

function isGood({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}
