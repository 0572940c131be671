import fc from 'fast-check';
import { expect, test } from 'vitest';
import { getRequest } from '../../../src/api/requests.ts';
import { Failure } from '../../../src/core/errors.ts';

const base = 'https://lists.example/v1.0';

test('whatever an id is, it is refused, or is exactly one segment that a URL parser leaves alone', () => {
  const ids = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom('.', '..', '%2e%2e', '/', '?', '#'));
  fc.assert(
    fc.property(ids, (id) => {
      let path: string;
      try {
        path = getRequest({ site: 'home', list: 'tasks', id }).path;
      } catch (error) {
        expect(error).toBeInstanceOf(Failure);
        return;
      }
      const url = new URL(base + path);
      const segments = url.pathname.split('/');

      expect(url.href).toBe(base + path);
      expect(segments.slice(0, -1).join('/')).toBe('/v1.0/sites/home/lists/tasks/items');
      expect(decodeURIComponent(segments.at(-1) ?? '')).toBe(id);
    }),
  );
});
