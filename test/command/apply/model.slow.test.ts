import { test } from 'vitest';
import { checkSeedModel } from '../../seed-model/check-seed-model.ts';

test('whatever happens between, apply ends in what the seed says: no key is made twice, nothing of others is touched', async () => {
  await checkSeedModel({ runs: 300 });
}, 120_000);
