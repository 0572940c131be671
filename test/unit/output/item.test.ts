import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Item } from '../../../src/core/item.ts';
import { isObject, parseJson } from '../../../src/core/json.ts';
import { curlLine, deletedView, itemView, type PlannedRequest, requestView } from '../../../src/output/item.ts';
import { loadStyle, type PrintFormat, type View } from '../../../src/output/view.ts';
import { printed } from './printed.ts';

const show = <T>(view: View<T>, format: PrintFormat, ...values: T[]) =>
  printed(view, values, { format, isSeveral: values.length > 1 });

/** An item as it comes from a service that answers with this text. */
function itemFrom(text: string): Item {
  const members = parseJson(text);
  if (!isObject(members) || !isObject(members['fields'])) throw new Error('the example is no item');
  return { id: String(members['id']), fields: members['fields'], members };
}

const milk = itemFrom('{"id":"7","fields":{"Title":"Buy milk","Count":2,"Done":false},"revision":3}');
const bread = itemFrom('{"id":"18","fields":{"Title":"Bread","Note":null,"Price":1.10}}');

test('one item is a list of its fields, the id first', async () => {
  expect(await show(itemView, 'pretty', milk)).toBe('id     7\nTitle  Buy milk\nCount  2\nDone   false\n');
});

test('several items are a table of every field that any of them has, in the order first seen', async () => {
  expect((await show(itemView, 'pretty', milk, bread)).split('\n')).toEqual([
    'id  Title     Count  Done   Note  Price',
    '7   Buy milk  2      false',
    '18  Bread                   null  1.10',
    '',
  ]);
});

test.each([
  ['"text"', 'text'],
  ['""', ''],
  ['"two\\nlines"', 'two⏎lines'],
  ['"\\u001b[31m\\u202e"', '\\x1b[31m\\u{202e}'],
  ['12345678901234567890', '12345678901234567890'],
  ['1.10', '1.10'],
  ['true', 'true'],
  ['null', 'null'],
  ['"null"', '"null"'],
  ['{"a":[1,1e400,"\\u202e\\n"]}', '{"a":[1,1e400,"\\u202e\\n"]}'],
])('the value %s is shown as %s', async (json, shown) => {
  const item = itemFrom(`{"id":"7","fields":{"V":${json}}}`);

  expect(await show(itemView, 'pretty', item)).toBe(`id  7\n${`V   ${shown}`.trimEnd()}\n`);
});

test('in color names are bold and null is dim', async () => {
  const screen = { columns: 80, style: await loadStyle(1) };
  const item = itemFrom('{"id":"7","fields":{"V":null}}');

  expect(await printed(itemView, [item], { format: 'pretty', isSeveral: false, screen })).toBe(
    '\x1b[1mid\x1b[22m  7\n\x1b[1mV\x1b[22m   \x1b[2mnull\x1b[22m\n',
  );
});

test('a field called __proto__ or constructor is a field like any other', async () => {
  const odd = itemFrom('{"id":"7","fields":{"__proto__":"x","constructor":"y"}}');

  expect(await show(itemView, 'pretty', odd, milk)).toBe(
    ['id  __proto__  constructor  Title     Count  Done', '7   x          y']
      .concat('7                           Buy milk  2      false', '')
      .join('\n'),
  );
  expect(await show(itemView, 'jsonl', odd)).toBe('{"id":"7","fields":{"__proto__":"x","constructor":"y"}}\n');
});

test('JSON has every member as it came, with its digits', async () => {
  const text = '{"etag":"x","id":"7","fields":{"Price":1.10},"__proto__":{"a":1}}';

  expect(await show(itemView, 'jsonl', itemFrom(text))).toBe(`${text}\n`);
});

test('a field called id does not hide the id of the item', async () => {
  const odd = itemFrom('{"id":"7","fields":{"id":"x"}}');

  expect(await show(itemView, 'pretty', odd)).toBe('id         7\nfields.id  x\n');
  expect(await show(itemView, 'csv', odd)).toBe('id,fields.id\n7,x\n');
});

test('annotations and the second id are the last for people, and in their places for programs', async () => {
  const item = itemFrom('{"id":"7","fields":{"@odata.etag":"e","id":"x","Title":"Milk"}}');

  expect(await show(itemView, 'pretty', item)).toBe(
    'id           7\nTitle        Milk\n@odata.etag  e\nfields.id    x\n',
  );
  expect(await show(itemView, 'csv', item)).toBe('id,@odata.etag,fields.id,Title\n7,e,x,Milk\n');
});

test('a field that is called like a number keeps its place', async () => {
  const odd = itemFrom('{"id":"7","fields":{"Title":"x","2024":1}}');

  // Objects of JavaScript sort such names; the id still comes first.
  expect(await show(itemView, 'csv', odd)).toMatch(/^id,.*2024/);
});

test('a deleted id cannot steer the terminal', async () => {
  expect(await show(deletedView, 'pretty', { id: '\x1b[2J\n' })).toBe('deleted \\x1b[2J⏎\n');
});

const create = {
  method: 'POST',
  url: 'http://127.0.0.1:8080/v1/sites/home/lists/tasks/items',
  headers: { authorization: 'Bearer secret' },
  body: { fields: { Title: 'Buy milk\u202e' } },
};
const remove = { method: 'DELETE', url: 'http://127.0.0.1/items/7' };

test('a planned request shows method, address and body', async () => {
  expect(await show(requestView, 'pretty', create, remove)).toBe(
    [
      'POST http://127.0.0.1:8080/v1/sites/home/lists/tasks/items',
      '{',
      '  "fields": {',
      '    "Title": "Buy milk\\u202e"',
      '  }',
      '}',
      'DELETE http://127.0.0.1/items/7',
      '',
    ].join('\n'),
  );
});

test('an address cannot steer the terminal', async () => {
  const odd = { method: 'GET', url: 'http://127.0.0.1/a\x1b[2J\n\u202e' };

  expect(await show(requestView, 'pretty', odd)).toBe('GET http://127.0.0.1/a\\x1b[2J⏎\\u{202e}\n');
});

test('a planned request as JSON has no headers, and a body only where there is one', async () => {
  expect(await show(requestView, 'jsonl', create, remove)).toBe(
    [
      `{"method":"POST","url":"${create.url}","body":{"fields":{"Title":"Buy milk\\u202e"}}}`,
      '{"method":"DELETE","url":"http://127.0.0.1/items/7"}',
      '',
    ].join('\n'),
  );
});

test('a planned request has no id', async () => {
  expect(await show(requestView, 'id', create)).toBe('');
});

test('as curl a planned request is a command each', async () => {
  expect(await show(requestView, 'curl', create, remove)).toMatch(/^curl -X POST .*\ncurl -X DELETE .*\n$/);
});

const url = 'https://lists.example/v1/sites/home/lists/tasks/items';

/** What a shell hands to curl: its arguments, each ended by a NUL. */
function argumentsOf(line: string): string[] {
  const script = `curl() { printf '%s\\0' "$@"; }\n${line}\n`;
  const env = { LISTCTL_TOKEN: 'to\'ken $(x) "y"', PATH: process.env['PATH'] };
  return execFileSync('sh', ['-c', script], { env, encoding: 'utf8' }).split('\0').slice(0, -1);
}

test('a request is a line that can be pasted', () => {
  expect(curlLine({ method: 'POST', url, body: { fields: { Title: "Buy 'milk'" } } })).toBe(
    `curl -X POST '${url}' -H "Authorization: Bearer $LISTCTL_TOKEN" -H 'Content-Type: application/json'` +
      ` --data-raw '{"fields":{"Title":"Buy '\\''milk'\\''"}}'`,
  );
});

test('a request without a body has no content type', () => {
  expect(curlLine({ method: 'DELETE', url: `${url}/7` })).toBe(
    `curl -X DELETE '${url}/7' -H "Authorization: Bearer $LISTCTL_TOKEN"`,
  );
});

test('the headers of the request come along, but for the token', () => {
  const headers = {
    authorization: 'Bearer secret',
    accept: 'application/json',
    'content-type': 'application/json',
    'idempotency-key': '"k-1"',
    'x-empty': '',
  };
  const line = curlLine({ method: 'POST', url, headers, body: {} });

  expect(line).not.toContain('secret');
  expect(argumentsOf(line)).toEqual([
    ...['-X', 'POST', url],
    ...['-H', 'Authorization: Bearer to\'ken $(x) "y"'],
    ...['-H', 'accept: application/json', '-H', 'content-type: application/json'],
    ...['-H', 'idempotency-key: "k-1"', '-H', 'x-empty;'],
    ...['--data-raw', '{}'],
  ]);
});

test('characters that curl would take for patterns, and dots that it would take away, stay', () => {
  expect(argumentsOf(curlLine({ method: 'GET', url: `${url}/a[1-3]{b}` })).slice(0, 4)).toEqual([
    ...['--globoff', '-X', 'GET'],
    `${url}/a[1-3]{b}`,
  ]);
  expect(argumentsOf(curlLine({ method: 'GET', url: `${url}/../x?a=1` }))[0]).toBe('--path-as-is');
  expect(argumentsOf(curlLine({ method: 'GET', url: `${url}/x?a=/../1` }))[0]).toBe('-X');
});

test.each(['local:', 'local:/srv/lists'])('%s is not for curl', (address) => {
  expect(() => curlLine({ method: 'GET', url: `${address}/sites/a/lists/b/items/7` })).toThrow(
    expect.objectContaining({ kind: 'usage', message: expect.stringMatching(/built-in service/) }),
  );
});

test('digits are kept, and no byte of a value steers a terminal', () => {
  const line = curlLine({ method: 'PATCH', url, body: parseJson('{"a":1.10,"b":"\\u001b\\u202e\\u0000"}') });

  expect(line).toContain(`'{"a":1.10,"b":"\\u001b\\u202e\\u0000"}'`);
});

test('whatever a value holds, a shell hands it to curl as it is, and runs none of it', () => {
  const text = fc.string({ unit: fc.constantFrom(...'\'"\\$`()\n!* ;&|-@%aä') });
  fc.assert(
    fc.property(text, text, (name, value) => {
      const request: PlannedRequest = { method: 'POST', url, body: { fields: { [name]: value } } };

      expect(JSON.parse(argumentsOf(curlLine(request)).at(-1) ?? '')).toEqual(request.body);
    }),
    { numRuns: 60 },
  );
});
