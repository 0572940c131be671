import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberToken } from '../../../src/core/json.ts';
import { compareNumbers } from '../../../src/output/query-functions.ts';

const token = (digits: string) => new NumberToken(digits);

test.each([
  ['1.10', '1.1', 0],
  ['12345678901234567890', '12345678901234567891', -1],
  ['1e400', '1e401', -1],
  ['-1e400', '1', -1],
  ['-1e401', '-1e400', -1],
  ['100', '1e2', 0],
  ['0.001', '1e-3', 0],
  ['-0', '0', 0],
  ['0.0', '-0e5', 0],
  ['0', '1e-400', -1],
  ['-1e-400', '0', -1],
  ['9', '10', -1],
  ['1.5', '1.49', 1],
  ['1e+2', '1E2', 0],
])('%s and %s', (a, b, sign) => {
  expect(Math.sign(compareNumbers(token(a), token(b)))).toBe(sign);
  expect(Math.sign(compareNumbers(token(b), token(a)))).toBe(sign === 0 ? 0 : -sign);
});

test('numbers that a double holds compare as doubles do, written in any way', () => {
  const number = fc.oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
  );
  fc.assert(
    fc.property(number, number, (a, b) => {
      expect(Math.sign(compareNumbers(token(String(a)), b))).toBe(Math.sign(a - b));
      expect(compareNumbers(token(a.toExponential()), a)).toBe(0);
    }),
  );
});
