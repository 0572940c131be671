/** What comes in with listctl and its tools: how much of it, and that none of it runs when it is installed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** A package in package-lock.json (docs.npmjs.com, package-lock.json, "packages"). */
interface Locked {
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: true;
  readonly optional?: true;
  readonly hasInstallScript?: true;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>;
};
/** All but the project itself, and but for those that one machine needs of many: a native part for each platform. */
const locked = Object.entries(packages).filter(([place, { os, cpu }]) => place !== '' && (os ?? cpu) === undefined);

/**
 * As many as there are. Whoever adds a dependency sees here what comes with it, judges that, and sets the new number
 * in the same commit, with the reason.
 */
const counts = { bundled: 39, withTheStore: 9, all: 325 };

describe('the tree of packages has not grown unseen:', () => {
  test('in the bundle, which everybody runs', () => {
    const licences = readFileSync(join(root, 'dist/third-party-licences.txt'), 'utf8');

    expect(licences.match(/^@?[a-z]\S* \d+\.\d+\.\d+\S* \(/gm)).toHaveLength(counts.bundled);
  });

  test('installed beside it, with the store of the embedded service', () => {
    expect(placesOf(({ dev }) => dev !== true)).toHaveLength(counts.withTheStore);
  });

  test('in all, with what builds and tests it', () => {
    expect(locked).toHaveLength(counts.all);
  });
});

describe('nothing that is installed', () => {
  test('has a script that would run then, but for two that fall back to one where no binary was packed', () => {
    expect(placesOf(({ hasInstallScript }) => hasInstallScript === true)).toEqual([
      'node_modules/lmdb',
      'node_modules/msgpackr-extract',
    ]);
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });

  test('can be another package than the one that was looked at', () => {
    expect(placesOf(({ integrity }) => integrity === undefined)).toEqual([]);
  });

  test('is bound to the registry of one machine', () => {
    expect(Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });
});

function placesOf(isMeant: (entry: Locked) => boolean): readonly string[] {
  return locked.filter(([, entry]) => isMeant(entry)).map(([place]) => place);
}
