import { test } from 'vitest';
import { checkSeedModel } from './seed-model.ts';

test('whatever happens between, a list ends as its seed says: twice is a no-op, no key is made twice, nothing of others is touched', async () => {
  await checkSeedModel({ runs: 300 });
}, 60_000);
