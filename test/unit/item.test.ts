import fc from 'fast-check';
import { expect, test } from 'vitest';
import { responseBytesMax } from '../../src/api/transport.ts';
import { Failure } from '../../src/core/errors.ts';
import {
  checkId,
  fieldsBytesMax,
  headerValue,
  includesFields,
  isDeleted,
  isWebAddress,
  strongTag,
} from '../../src/core/item.ts';
import { listItemOperations } from '../../src/services/list-item/items.ts';

const list = { site: 'home', list: 'tasks' };

test('any id is refused, or is exactly one segment that decodes to it and that no URL parser changes', () => {
  const ids = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom('.', '..', '%2e', '%2E%2E', 'a/../b', '\ud800'),
  );

  fc.assert(
    fc.property(ids, (id) => {
      const path = pathOf(id);
      if (path === undefined) return;
      const segments = new URL(path, 'https://host').pathname.split('/');
      expect(segments).toHaveLength(7);
      expect(decodeURIComponent(segments.at(-1) ?? '')).toBe(id);
    }),
    { numRuns: 150 },
  );
});

test('only an id that no path can carry is refused', () => {
  expect(['', '.', '..', 'a\u0000', 'a\u007f', '\udfff', 'x'.repeat(1025)].map(pathOf)).toEqual(
    Array(7).fill(undefined),
  );
  const reasons = ['', '..', 'a\u0085', '\udfff', 'x'.repeat(1025)].map((id) => thrownBy(() => checkId(id, 'site')));
  const about = (text: string) => expect.objectContaining({ kind: 'usage', message: `the site id ${text}` });
  expect(reasons).toEqual(
    ['is empty', 'is "..", which is not a path segment', 'has control characters', 'has a lone surrogate']
      .concat('is longer than 1,024 bytes')
      .map(about),
  );
  expect(['...', 'x'.repeat(1024), '~', "it's", '(1)*!'].map(pathOf)).not.toContain(undefined);
});

test('the commas of a site id stay readable', () => {
  const { path } = listItemOperations.get({ site: 'contoso.example,guid,guid', list: 'tasks', id: '17' }).request;

  expect(path).toBe('/sites/contoso.example,guid,guid/lists/tasks/items/17');
});

test('only a strong tag is sent, and only what a header can carry', () => {
  expect(['"v1"', 'W/"v1"', '"vW/"', undefined].map(strongTag)).toEqual(['"v1"', undefined, '"vW/"', undefined]);
  const fit = ['', '\t ~', 'é\u0080\u00ff'];
  expect(fit.map(headerValue)).toEqual(fit);
  expect(['a\r\nb', '\x7f', '\u0100', undefined].map(headerValue)).toEqual(Array(4).fill(undefined));
});

test('an address in the browser begins with https', () => {
  const texts = ['https://contoso.example', 'HTTPS://x', 'http://x', 'see https://x', 'tasks', undefined];

  expect(texts.map(isWebAddress)).toEqual([true, true, false, false, false, false]);
});

test('fields hold others if each has the same value, null being like none', () => {
  const fields = { a: 1, b: null, c: 'x' };

  expect([{}, { a: 1 }, { b: null, z: null }].map((named) => includesFields(fields, named))).toEqual([
    true,
    true,
    true,
  ]);
  expect([{ a: 2 }, { a: 1, z: 0 }, { z: 0, a: 1 }].map((named) => includesFields(fields, named))).toEqual([
    ...[false, false, false],
  ]);
});

test('an item is deleted if it says how', () => {
  expect([{ deleted: { state: 'deleted' } }, { deleted: true }, {}].map((members) => isDeleted({ members }))).toEqual([
    ...[true, false, false],
  ]);
});

test('the longest fields leave room for the rest of a response', () => {
  expect(fieldsBytesMax).toBeLessThan(responseBytesMax);
  expect(responseBytesMax - fieldsBytesMax).toBeLessThanOrEqual(4096);
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

function pathOf(id: string): string | undefined {
  try {
    return listItemOperations.get({ ...list, id }).request.path;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'usage') return undefined;
    throw error;
  }
}
