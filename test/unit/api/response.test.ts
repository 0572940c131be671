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
  expect(parseServiceError(response(body), plain)).toEqual({ text, code, errors: [], requestId: undefined });
});

const countError = { field: 'Count', message: 'must be a number' };
const dueError = { field: 'Due', message: 'must be a date' };

test.each([
  { body: { errors: [countError, dueError] }, errors: [countError, dueError] },
  { body: { errors: { Count: ['must be a number'], Due: 'must be a date' } }, errors: [countError, dueError] },
  { body: { errors: { Count: { message: 'must be a number' } } }, errors: [countError] },
  { body: { errors: ['not today'] }, errors: [{ message: 'not today' }] },
  { body: { errors: [{ source: { pointer: '/fields/Count' }, title: 'must be a number' }] }, errors: [countError] },
  { body: { errors: [{ path: 'fields.Count', message: 'must be a number' }] }, errors: [countError] },
  { body: { detail: [{ loc: ['body', 'fields', 'Count'], msg: 'must be a number' }] }, errors: [countError] },
  { body: { error: { details: [{ target: 'Count', message: 'must be a number' }] } }, errors: [countError] },
  {
    body: { error: { details: [{ fieldViolations: [{ field: 'Count', description: 'must be a number' }] }] } },
    errors: [countError],
  },
  { body: { errors: [{ field: 'Count' }, 5, null, []] }, errors: [] },
  { body: { errors: Array(50).fill('no') }, errors: Array(10).fill({ message: 'no' }) },
  {
    body: { errors: { ['F'.repeat(999)]: 'm'.repeat(999) } },
    errors: [{ field: 'F'.repeat(100), message: 'm'.repeat(200) }],
  },
])('of the error body $body the errors of fields are $errors', ({ body, errors }) => {
  expect(parseServiceError(response(JSON.stringify(body)), plain).errors).toEqual(errors);
});

test('errors of fields are hidden like other text, and read of 400, 409 and 422 only', () => {
  const body = JSON.stringify({ errors: [{ field: 'token', message: 'token is wrong' }] });
  const hide = (text: string) => text.replaceAll('token', '***');
  expect(parseServiceError(response(body), hide).errors).toEqual([{ field: '***', message: '*** is wrong' }]);
  expect(parseServiceError({ ...response(body), status: 500 }, hide).errors).toEqual([]);
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
