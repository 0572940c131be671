import { test } from 'vitest';
import { checkManifestModel } from '../../apply-model/check-model.ts';
import { isSample } from '../../support/sampled.ts';

test('whatever happens between, apply ends in what the manifest says: no key is made twice, nothing of others is touched', async () => {
  await checkManifestModel({ runs: isSample ? 20 : 300 });
}, 120_000);
