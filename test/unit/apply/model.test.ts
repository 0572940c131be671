import { test } from 'vitest';
import { checkManifestModel } from './model.ts';

test('whatever happens between, a list ends as its manifest says: twice is a no-op, no key is made twice, nothing of others is touched', async () => {
  await checkManifestModel({ runs: 100 });
}, 60_000);
