import { expect, test } from 'vitest';
import type { Item } from '../../../src/core/item.ts';
import { isObject, parseJson } from '../../../src/core/json.ts';
import { deletedView, itemView, requestView } from '../../../src/output/item.ts';
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
