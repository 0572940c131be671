import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRequest, getRequest } from '../../src/api/requests.ts';
import { Failure } from '../../src/core/errors.ts';

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
  expect(['...', 'x'.repeat(1024), '~', "it's", '(1)*!'].map(pathOf)).not.toContain(undefined);
});

test('the commas of a site id stay readable', () => {
  const request = createRequest({ site: 'contoso.example,guid,guid', list: 'tasks' }, { a: 1 }, undefined);

  expect(request.path).toBe('/sites/contoso.example,guid,guid/lists/tasks/items');
});

function pathOf(id: string): string | undefined {
  try {
    return getRequest({ ...list, id }).path;
  } catch (error) {
    if (error instanceof Failure && error.kind === 'usage') return undefined;
    throw error;
  }
}
