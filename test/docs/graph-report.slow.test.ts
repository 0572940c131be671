/** docs/examples/graph-report.sh, the script for people with a tenant, against the built-in server. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { listctl } from '../support/listctl.ts';
import { serveDirectory, token } from '../support/served-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { everyColumn } from '../unit/server/graph/graph-in.ts';
import { newcomer } from './console-blocks.ts';

const script = join(import.meta.dirname, '../../docs/examples/graph-report.sh');

test('the report answers each question, names nothing, and leaves nothing behind', { timeout: 300_000 }, async () => {
  await using home = await temporaryDirectory();
  const schema = join(home.path, 'schema.json');
  writeFileSync(schema, JSON.stringify({ lists: [{ title: 'Secret plans', columns: everyColumn }] }));
  const served = await serveDirectory(join(home.path, 'items'), ['--service', 'graph', '--schema', schema]);
  const env = {
    ...newcomer(home.path),
    LISTCTL_BASE_URL: served.url,
    LISTCTL_SERVICE: 'graph',
    LISTCTL_TOKEN: token,
    LISTCTL_SITE: 'contoso.sharepoint.com:/sites/secret',
    LISTCTL_LIST: 'Secret plans',
  };

  const { stdout, stderr, exitCode } = await execa('sh', [script], { env, extendEnv: false, reject: false });
  const left = await listctl(['items', 'list', '-o', 'id'], env);
  await served.kill();

  expect({ stderr, exitCode, left: left.stdout }).toEqual({ stderr: '', exitCode: 0, left: '' });
  expect(stdout).not.toMatch(/secret|contoso|[\da-f]{8}-[\da-f]{4}/i);
  expect(stdout).not.toContain(token);
  const answers = new Map(stdout.split('\n').map((line) => [line.slice(0, 60).trim(), line.slice(61)] as const));
  expect(Object.fromEntries(answers)).toMatchObject({
    'read the site': 'ok',
    'create an item': 'ok',
    'the tag of that response is the eTag of the item': 'yes',
    'eTag equals @odata.etag': 'true',
    'PATCH fields with an old tag in If-Match': '412 resourceModified',
    'PATCH of the item with {"fields"}': 'ok',
    'GET of an id that is no number': '404 itemNotFound',
    'text: a number': '500 generalException',
    'choice[]: without @odata.type': '500 generalException',
    'of these were stored': '1',
    'a bare date 2026-01-31 is read as': '2026-01-31T00:00:00Z',
    delta: 'exit 0',
    'the next link of a delta keeps $expand': 'yes',
    'items that were created and are deleted': expect.stringMatching(/^\d+, of which now remain 0$/),
  });
  expect(stdout).toContain('of 10 pairs of creates with one unique key, not exactly one stays 0');
});
