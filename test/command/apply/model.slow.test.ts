import { test } from 'vitest';
import { checkManifestModel } from '../../apply-model/check-model.ts';

test('whatever happens between, apply ends in what the manifest says: no key is made twice, nothing of others is touched', async () => {
  await checkManifestModel({ runs: 300 });
}, 120_000);
