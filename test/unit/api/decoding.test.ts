import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { decodeAttempt } from '../../../src/api/response.ts';

const text = '{"id":"1"}';
const attempt = (status: number, encoding: string, body: Uint8Array) =>
  decodeAttempt({ response: { status, headers: { 'content-encoding': encoding }, body } });
const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));

test('a gzip body is decoded, though none was requested', async () => {
  const { response } = await attempt(200, 'gzip', gzipSync(text));

  expect(Buffer.from(response?.body ?? '').toString()).toBe(text);
  expect(response?.headers).toEqual({});
});

test.each([
  { encoding: 'br', body: brotliCompressSync(text) },
  { encoding: 'gzip, gzip', body: gzipSync(gzipSync(text)) },
  { encoding: 'gzip', body: gzipSync(text).subarray(0, 20) },
  { encoding: 'gzip', body: Buffer.from(text) },
])('a truncated or unsupported $encoding body keeps the status', async ({ encoding, body }) => {
  const { response } = await attempt(200, encoding, body);

  expect(response).toMatchObject({ status: 200, body: new Uint8Array(), unreadable: expect.any(String) });
});

test('a small body that decodes to a huge one is an error after 8 MiB', async () => {
  expect(await attempt(200, 'gzip', bomb)).toMatchObject({ error: { kind: 'too-large' }, wasSent: true });
  expect(await attempt(400, 'gzip', bomb)).toMatchObject({ response: { status: 400, body: new Uint8Array() } });
});
