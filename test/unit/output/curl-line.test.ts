import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseJson } from '../../../src/core/json.ts';
import { curlLine, type PlannedRequest } from '../../../src/output/item.ts';

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
