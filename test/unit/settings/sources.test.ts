import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { addressSetting, findSetting } from '../../../src/settings/setting.ts';
import { findProjectFile, openSources } from '../../../src/settings/sources.ts';
import { testHost } from '../../support/test-host.ts';
import { test } from '../../support/test-in-directory.ts';

const site = { flag: '--site', variable: 'LISTCTL_SITE', parse: (text: string) => text };
const idempotency = { flag: '--idempotency', variable: 'LISTCTL_IDEMPOTENCY', parse: (text: string) => text };

/** Every source at once, each with its own value; a test leaves some out. */
const everything = {
  flag: 'from the flag',
  named: 'from the named profile',
  variable: 'from the environment',
  project: 'from the project',
  fallback: 'from the default profile',
};
type Source = keyof typeof everything;

describe('the first of these that has a value wins', () => {
  test.for<{ has: Source[]; wins: Source | undefined; source: string | undefined }>([
    { has: ['flag', 'named', 'variable', 'project'], wins: 'flag', source: '--site' },
    { has: ['named', 'variable', 'project'], wins: 'named', source: 'profile named' },
    { has: ['variable', 'project', 'fallback'], wins: 'variable', source: 'LISTCTL_SITE' },
    { has: ['project', 'fallback'], wins: 'project', source: '/.listctl.json' },
    { has: ['fallback'], wins: 'fallback', source: 'profile fallback' },
    { has: [], wins: undefined, source: undefined },
  ])('$has: $wins', async ({ has, wins, source }, { directory }) => {
    const values = Object.fromEntries(has.map((name) => [name, everything[name]]));
    const sources = await sourcesIn(directory.path, values);

    const found = findSetting(site, sources);

    expect(found?.value).toBe(wins && everything[wins]);
    if (source?.startsWith('/')) expect(found?.source).toBe(directory.path + source);
    else expect(found?.source).toBe(source);
  });

  test('what the named profile leaves open is not taken from the default one: it was not meant', async ({
    directory,
  }) => {
    await keep(directory.path, { current: 'dev', profiles: { dev: { site: 'dev' }, prod: {} } });
    const host = testHost({ env: { LISTCTL_CONFIG_DIR: directory.path } });

    expect(findSetting(site, openSources({}, host))?.value).toBe('dev');
    expect(findSetting(site, openSources({ '--profile': 'prod' }, host))).toBeUndefined();
  });

  test('LISTCTL_PROFILE chooses the default profile, and other variables override that profile', async ({
    directory,
  }) => {
    await keep(directory.path, { current: 'dev', profiles: { dev: { site: 'dev' }, prod: { site: 'prod' } } });
    const env = { LISTCTL_CONFIG_DIR: directory.path, LISTCTL_PROFILE: 'prod' };

    const alone = openSources({}, testHost({ env }));
    const beside = openSources({}, testHost({ env: { ...env, LISTCTL_SITE: 'env' } }));

    expect(findSetting(site, alone)).toEqual({ value: 'prod', source: 'profile prod' });
    expect(alone.profile()).toMatchObject({ name: 'prod', chosenBy: 'LISTCTL_PROFILE', isNamed: false });
    expect(findSetting(site, beside)).toEqual({ value: 'env', source: 'LISTCTL_SITE' });
  });
});

describe('settings of a profile that belong to its service do not apply to another one', () => {
  const profiles = {
    bound: { baseUrl: 'https://own.example/v1.0', idempotency: 'honored' },
    free: { idempotency: 'none' },
  };

  test.for([
    ['its own address is in force', 'bound', undefined, 'honored'],
    ['the same origin', 'bound', 'https://own.example/v2.0', 'honored'],
    ['another origin', 'bound', 'https://other.example', undefined],
    ['the built-in service', 'bound', 'local:', undefined],
    ['it names no address', 'free', 'https://other.example', 'none'],
  ] as const)('%s', async ([_because, profile, address, value], { directory }) => {
    await keep(directory.path, { current: profile, profiles });
    const env = { LISTCTL_CONFIG_DIR: directory.path, ...(address !== undefined && { LISTCTL_BASE_URL: address }) };

    const sources = openSources({}, testHost({ env }));

    expect(findSetting(idempotency, sources)?.value).toBe(value);
  });
});

test('a malformed value in a profile is named, with its profile', async ({ directory }) => {
  await keep(directory.path, { current: 'dev', profiles: { dev: { baseUrl: 'ftp://me:verysecret@host' } } });
  const sources = openSources({}, testHost({ env: { LISTCTL_CONFIG_DIR: directory.path } }));

  expect(() => findSetting(addressSetting, sources)).toThrowError(
    /^invalid baseUrl in profile dev: expected a URL such as [^@]*, or local:$/,
  );
});

test('where every value is given elsewhere, no file is read', async ({ directory }) => {
  await writeFile(join(directory.path, 'config.json'), 'damaged');
  const sources = openSources({ '--site': 'typed' }, testHost({ env: { LISTCTL_CONFIG_DIR: directory.path } }));

  expect(findSetting(site, sources)?.value).toBe('typed');
  expect(() => findSetting(idempotency, sources)).toThrowError('is damaged');
});

async function sourcesIn(directory: string, values: Partial<Record<Source, string>>) {
  const config = join(directory, 'config');
  await mkdir(config);
  await keep(config, {
    current: 'fallback',
    profiles: {
      ...{ named: 'named' in values ? { site: values.named } : {} },
      ...{ fallback: 'fallback' in values ? { site: values.fallback } : {} },
    },
  });
  if (values.project !== undefined) {
    await writeFile(join(directory, '.listctl.json'), JSON.stringify({ site: values.project }));
  }
  const env = {
    LISTCTL_CONFIG_DIR: config,
    ...(values.variable === undefined ? {} : { LISTCTL_SITE: values.variable }),
  };
  const flags = {
    ...(values.flag === undefined ? {} : { '--site': values.flag }),
    ...(values.named === undefined ? {} : { '--profile': 'named' }),
  };
  return openSources(flags, testHost({ env, cwd: directory }));
}

function keep(directory: string, config: unknown): Promise<void> {
  return writeFile(join(directory, 'config.json'), JSON.stringify({ version: 1, ...(config as object) }));
}

const uid = process.geteuid?.();

test('the nearest one upwards is taken, and it alone', async ({ directory }) => {
  const deep = join(directory.path, 'a/b/c');
  mkdirSync(deep, { recursive: true });
  write(directory.path, { site: 'outer', list: 'outer' });
  write(join(directory.path, 'a'), { site: 'inner' });

  const found = findProjectFile({ cwd: deep, uid });

  expect(found).toEqual({ file: join(directory.path, 'a/.listctl.json'), values: { site: 'inner' } });
});

test('there need be none', async ({ directory }) => {
  expect(findProjectFile({ cwd: directory.path, uid })).toBeUndefined();
  expect(findProjectFile({ cwd: '', uid })).toBeUndefined();
});

test.for([
  { content: { baseUrl: 'https://evil.example' }, says: '"baseUrl" is not allowed in a project file', kind: 'usage' },
  { content: { site: 'home', token: 'x' }, says: '"token" is not allowed in a project file', kind: 'usage' },
  {
    content: { tokenCommand: 'touch /tmp/owned' },
    says: '"tokenCommand" is not allowed in a project file',
    kind: 'usage',
  },
  { content: { profile: 'prod' }, says: '"profile" is not allowed in a project file', kind: 'usage' },
  { content: JSON.parse('{"__proto__": "x"}'), says: '"__proto__" is not allowed in a project file', kind: 'usage' },
  { content: { site: 17 }, says: 'site must be a string', kind: 'usage' },
  { content: { list: '' }, says: 'list must be a string', kind: 'usage' },
  { content: [], says: 'is damaged: expected a JSON object', kind: 'local-file' },
])('$content is refused, and the file is named', async ({ content, says, kind }, { directory }) => {
  write(directory.path, content);

  expect(() => findProjectFile({ cwd: directory.path, uid })).toThrowError(
    expect.objectContaining({ kind, message: expect.stringContaining(says) }),
  );
  expect(() => findProjectFile({ cwd: directory.path, uid })).toThrowError(join(directory.path, '.listctl.json'));
});

test.skipIf(uid !== 0)('a file of another user is refused', async ({ directory }) => {
  write(directory.path, { site: 'theirs' });
  chownSync(join(directory.path, '.listctl.json'), 12_345, 12_345);

  expect(() => findProjectFile({ cwd: directory.path, uid })).toThrowError(
    'belongs to another user (its uid is 12345)',
  );
});

test.for([0o666, 0o646])('one that everybody may write is refused: mode %o', async (mode, { directory }) => {
  const file = join(directory.path, '.listctl.json');
  write(directory.path, { site: 'home' });
  chmodSync(file, mode);

  expect(() => findProjectFile({ cwd: directory.path, uid })).toThrowError(
    expect.objectContaining({
      kind: 'local-file',
      message: expect.stringContaining(`${file} is writable by others`),
      details: expect.objectContaining({ hint: expect.stringContaining(`chmod go-w ${file}`) }),
    }),
  );
  // Where users have no numbers files have no such modes.
  expect(findProjectFile({ cwd: directory.path, uid: undefined })).toMatchObject({ values: { site: 'home' } });
});

test('one that its group may write is read: a umask of 002 makes every file so', async ({ directory }) => {
  write(directory.path, { site: 'home' });
  chmodSync(join(directory.path, '.listctl.json'), 0o664);

  expect(findProjectFile({ cwd: directory.path, uid })).toMatchObject({ values: { site: 'home' } });
});

function write(directory: string, content: unknown): void {
  writeFileSync(join(directory, '.listctl.json'), JSON.stringify(content));
}
