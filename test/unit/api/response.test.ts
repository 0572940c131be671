import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { decodeAttempt, parseItem, parseServiceError, parseUpdatedItem } from '../../../src/api/response.ts';
import type { ServiceResponse } from '../../../src/api/transport.ts';

const plain = (text: string) => text;
const response = (body: string | Uint8Array, headers = {}): ServiceResponse => ({
  status: 400,
  headers,
  body: Buffer.from(body),
});

test.each([
  { body: '{"error":"x"}', text: 'x' },
  { body: '{"error":{"code":"c","message":"m","innerError":{"code":"d"}}}', text: 'm', code: 'c' },
  { body: '{"type":"about:blank","title":"t","detail":"d"}', text: 'd' },
  { body: '{"title":"t"}', text: 't' },
  { body: '{"message":"m","code":"c"}', text: 'm', code: 'c' },
  { body: '{"error":"","message":"m"}', text: 'm' },
  { body: '{"error":5}', text: undefined },
  { body: 'plain text\nmore', text: 'plain text' },
  { body: '{"error": "cut', text: '{"error": "cut' },
  { body: '', text: undefined },
  { body: 'x'.repeat(1000), text: 'x'.repeat(500) },
  { body: JSON.stringify({ error: 'x'.repeat(1000) }), text: 'x'.repeat(500) },
])('of the error body $body the text is $text', ({ body, text, code }) => {
  expect(parseServiceError(response(body), plain)).toEqual({ text, code, requestId: undefined });
});

test('HTML has no text to show; the request id is that of either header', () => {
  expect(parseServiceError(response('<h1>no</h1>', { 'content-type': 'text/html' }), plain).text).toBeUndefined();
  expect(parseServiceError(response('', { 'request-id': 'a', 'x-request-id': 'b' }), plain).requestId).toBe('a');
  expect(parseServiceError(response('', { 'x-request-id': 'b' }), plain).requestId).toBe('b');
});

test('an item has an id, which the response to an update may omit, and fields', () => {
  expect(parseItem(response('{"id":7,"fields":{"a":1}}', { etag: '"1"' }))).toEqual({
    id: '7',
    fields: { a: 1 },
    members: { id: '7', fields: { a: 1 } },
    etag: '"1"',
  });
  expect(parseUpdatedItem(response('{"x":1,"fields":{}}'), { id: '9' })).toMatchObject({
    id: '9',
    fields: {},
    members: { id: '9', x: 1 },
  });
  expect(parseItem(response('\uFEFF{"id":"7"}'))).toMatchObject({ id: '7' });
});

test.each([
  { body: '{}', says: 'no "id"' },
  { body: '{"id":""}', says: 'no "id"' },
  { body: '{"id":{}}', says: 'no "id"' },
  { body: '[]', says: 'not a JSON object' },
  { body: new Uint8Array([0xff, 0xfe, 0x7b, 0]), says: 'not UTF-8' },
])('a response is not an item if it $says', ({ body, says }) => {
  expect(() => parseItem(response(body))).toThrow(says);
});

test('a response with an unsupported coding is not an item', () => {
  expect(() => parseItem({ ...response(''), unreadable: 'it is compressed' })).toThrow('it is compressed');
});

const text = '{"id":"1"}';
const decoded = (status: number, encoding: string, body: Uint8Array) =>
  decodeAttempt({ response: { status, headers: { 'content-encoding': encoding }, body } });
const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));

test('a gzip body is decoded, though none was requested', async () => {
  const { response } = await decoded(200, 'gzip', gzipSync(text));

  expect(Buffer.from(response?.body ?? '').toString()).toBe(text);
  expect(response?.headers).toEqual({});
});

test.each([
  { encoding: 'br', body: brotliCompressSync(text) },
  { encoding: 'gzip, gzip', body: gzipSync(gzipSync(text)) },
  { encoding: 'gzip', body: gzipSync(text).subarray(0, 20) },
  { encoding: 'gzip', body: Buffer.from(text) },
])('a truncated or unsupported $encoding body keeps the status', async ({ encoding, body }) => {
  const { response } = await decoded(200, encoding, body);

  expect(response).toMatchObject({ status: 200, body: new Uint8Array(), unreadable: expect.any(String) });
});

test('a small body that decodes to a huge one is an error after 8 MiB', async () => {
  expect(await decoded(200, 'gzip', bomb)).toMatchObject({ error: { kind: 'too-large' }, wasSent: true });
  expect(await decoded(400, 'gzip', bomb)).toMatchObject({ response: { status: 400, body: new Uint8Array() } });
});
