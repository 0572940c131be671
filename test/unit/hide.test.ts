import { describe, expect, test } from 'vitest';
import { createHider } from '../../src/core/hide.ts';

const token = 'Az9/+k=~"<x>&_-7f3a-canary.token';
const base64 = (text: string) => Buffer.from(text).toString('base64');
const escapedBy = (toEscape: (code: string) => string) =>
  [...token].map((character) => toEscape(character.charCodeAt(0).toString(16).padStart(2, '0'))).join('');

describe('a token is hidden', () => {
  test.each([
    ['as it is', token],
    ['in capitals', token.toUpperCase()],
    ['URL-encoded', encodeURIComponent(token)],
    ['URL-encoded in lower case', encodeURIComponent(token).toLowerCase()],
    ['with every character URL-encoded', escapedBy((code) => `%${code}`)],
    ['as JSON', JSON.stringify(token).slice(1, -1)],
    ['as JSON of PHP', JSON.stringify(token).slice(1, -1).replaceAll('/', '\\/')],
    ['in \\u escapes', escapedBy((code) => `\\u00${code}`)],
    ['in \\x escapes', escapedBy((code) => `\\x${code}`)],
    ['as JSON in JSON', JSON.stringify(JSON.stringify(token)).slice(3, -3)],
    ['as HTML', token.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')],
    ['in decimal entities', [...token].map((character) => `&#${character.charCodeAt(0)};`).join('')],
    ['in hexadecimal entities', escapedBy((code) => `&#x${code};`)],
    ['in hexadecimal', Buffer.from(token).toString('hex').toUpperCase()],
  ])('%s', (_, form) => {
    expect(createHider(token)(`echo ${form} here`)).toBe('echo *** here');
  });

  test.each([
    ['', ''],
    ['Bearer ', ''],
    ['user:', '\n'],
    ['{"token":"', '"}'],
  ])('in base64, between %j and %j', (before, after) => {
    const text = base64(before + token + after);
    const shown = createHider(token)(`echo ${text} ${text.replaceAll('+', '-').replaceAll('/', '_')}`);

    expect(shown).toMatch(/^echo \S{0,16}\*\*\*\S{0,8} \S{0,16}\*\*\*\S{0,8}$/);
    expect(Buffer.from(shown.slice(5), 'base64').toString()).not.toContain('canary');
  });

  test('in part: any 12 characters in a row of it, and no fewer', () => {
    const hide = createHider(token);
    for (let at = 0; at + 12 <= token.length; at += 1) {
      expect(hide(`-- ${token.slice(at, at + 12)} --`)).toBe('-- *** --');
    }
    expect(hide(`(${token.slice(0, -4)})`)).toBe('(***)');
    expect(hide(token.slice(0, 11))).toBe(token.slice(0, 11));
  });

  test('twice, side by side, and whatever is around it', () => {
    const hide = createHider(token);

    expect(hide(token + token)).toBe('***');
    expect(hide(`é%41${token}\u{1f600}&amp;${encodeURIComponent(token)}%`)).toBe('é%41***\u{1f600}&amp;***%');
    expect(hide(`${'x'.repeat(9999)}${token}`)).toBe(`${'x'.repeat(9999)}***`);
  });

  test('that is short, as a whole', () => {
    const hide = createHider('8-chars!');

    expect(hide(`a 8-chars! and ${base64('8-chars!')} b`)).toMatch(/^a \*\*\* and \*\*\*\S? ?b?/);
    expect(hide('8-chars')).toBe('8-chars');
  });

  test('that looks escaped itself', () => {
    const odd = 'abc%41def&amp;ghi\\u0041jkl';

    expect([odd, encodeURIComponent(odd), JSON.stringify(odd)].map(createHider(odd))).toEqual(['***', '***', '"***"']);
  });
});

test('text without a token is unchanged, byte for byte', () => {
  const texts = ['', 'HTTP 400: no such list', '%zz \\u12 &nope; &#0; 100%', 'x'.repeat(70_000), '%41%42\\u0043'];

  expect(texts.map(createHider(token))).toEqual(texts);
});
