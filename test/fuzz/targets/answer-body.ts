import { crc32, gzipSync } from 'node:zlib';
import { ResponseBody } from '../../../src/api/exchange.ts';
import { type Attempt, errorBytesMax, responseBytesMax } from '../../../src/api/transport.ts';
import { type FuzzTarget, mustHold } from '../target.ts';
import { answerWords, verbs } from './ask.ts';
import { jsonWords } from './words.ts';

const statuses = [200, 200, 200, 201, 204, 206, 299, 301, 302, 400, 401, 403, 404, 409, 412, 429, 500, 501, 503, 999];

/** What a service answers, behind its head: plain or gzip, in one piece or several, with any status, to each verb. */
export const answerBodyTarget: FuzzTarget = {
  name: 'answer-body',
  words: [...jsonWords, '"error":', '"message":', '"code":', '"detail":', '<html>', '\u001b[2J', '\u202e', '\x1f\x8b'],
  fix: (bytes, random) => (random.whole(3) === 0 ? gzipSync(bytes) : bytes),
  testRuns: 2500,
  open: () => ({
    run: (bytes) => {
      // Decided by the bytes, so that a finding is one whenever they come again.
      const chance = crc32(bytes);
      const status = statuses[chance % statuses.length] ?? 200;
      const attempt = attemptOf(bytes, status, chance);
      const send = async () => attempt;
      const hide = (text: string) => text;
      const transport = { address: 'https://lists.example', hide, send, close: async () => {} };
      return answerWords(transport, verbs[(chance >>> 8) % 4] ?? 'get');
    },
  }),
};

function attemptOf(bytes: Buffer, status: number, chance: number): Attempt {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const type = (chance >>> 10) % 8 === 0 ? 'text/html' : 'application/json';
  const headers = { 'content-type': type, ...(isGzip ? { 'content-encoding': 'gzip' } : {}) };
  const reader = new ResponseBody({ status, headers });
  const cut = (chance >>> 13) % (bytes.length + 1);
  let verdict = reader.add(bytes.subarray(0, cut));
  if (verdict === 'more') verdict = reader.add(bytes.subarray(cut));
  if (verdict === 'too-large') return { error: { kind: 'too-large', reason: 'too large' }, wasSent: true };
  const response = reader.response({ drop: () => {} });
  mustHold(
    response.body.length <= Math.max(responseBytesMax, errorBytesMax + bytes.length),
    'no body is larger than it may be',
  );
  return { response };
}
