import type { NumberToken } from '../json.ts';

/** A decimal: `0.significant` times ten to the power of `point`; no zeros at either end of the significant digits. */
interface Decimal {
  readonly isNegative: boolean;
  readonly significant: string;
  readonly point: number;
}

/** Compares two numbers by what their digits say, however many: below 0, 0, or above 0. */
export function compareNumbers(a: number | NumberToken, b: number | NumberToken): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [decimalOf(a), decimalOf(b)];
  if (left.isNegative !== right.isNegative) return left.isNegative ? -1 : 1;
  return left.isNegative ? compareSizes(right, left) : compareSizes(left, right);
}

function decimalOf(value: number | NumberToken): Decimal {
  const digits = typeof value === 'number' ? String(value) : value.digits;
  const [, minus = '', whole = '', part = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(digits) ?? [];
  const all = whole + part;
  const significant = all.replace(/^0+/, '').replace(/0+$/, '');
  const zeros = all.length - all.replace(/^0+/, '').length;
  // Zero is neither negative nor of any size.
  if (significant === '') return { isNegative: false, significant, point: Number.NEGATIVE_INFINITY };
  return { isNegative: minus !== '', significant, point: Number(exponent) + whole.length - zeros };
}

function compareSizes(a: Decimal, b: Decimal): number {
  if (a.point !== b.point) return a.point < b.point ? -1 : 1;
  if (a.significant === b.significant) return 0;
  return a.significant < b.significant ? -1 : 1;
}
