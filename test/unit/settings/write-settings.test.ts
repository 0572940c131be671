/** Tokens are written whole, and once. */
import { existsSync, readFileSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { fileIo } from '../../../src/core/write-file.ts';
import { changeSettings } from '../../../src/settings/write-settings.ts';
import { settingsDirectory } from '../../support/settings-directory.ts';
import { testHost } from '../../support/test-host.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test.each([1, 2, 3])('there is no second copy of a token where sync %s of the directory fails', async (nth) => {
  const tokens = { prod: { origin: 'https://lists.example', token: 'the-old-token' } };
  await using directory = await settingsDirectory({ current: 'prod', profiles: { prod: {} }, tokens });
  let calls = 0;
  const sync = fileIo.syncDirectory;
  vi.spyOn(fileIo, 'syncDirectory').mockImplementation((path) => {
    calls += 1;
    if (calls === nth) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    sync(path);
  });

  const changed = changeSettings(testHost(directory), ({ tokens: draft }) => {
    draft.set('prod', { origin: 'https://lists.example', token: 'the-new-token' });
  });

  if (nth < 3) await expect(changed).rejects.toThrow('cannot write');
  else await changed;
  expect(existsSync(`${directory.credentials}.bak`)).toBe(false);
  expect(readFileSync(directory.credentials, 'utf8')).toContain(nth < 3 ? 'the-old-token' : 'the-new-token');
});
