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
const everything = Object.entries(packages).filter(([place]) => place !== '');
/** But for those that one machine needs of many: a native part for each platform. */
const locked = everything.filter(([, entry]) => !isNative(entry));

/**
 * As many as there are. Whoever adds a dependency sees here what comes with it, judges that, and sets the new number
 * in the same commit, with the reason.
 */
const counts = { bundled: 37, withTheStore: 9, all: 361, unproven: 41 };

describe('the tree of packages has not grown unseen:', () => {
  test('in the bundle, which everybody runs', () => {
    const licenses = readFileSync(join(root, 'dist/third-party-licenses.txt'), 'utf8');

    expect(licenses.match(/^@?[a-z]\S* \d+\.\d+\.\d+\S* \(/gm)).toHaveLength(counts.bundled);
  });

  test('installed beside it, with the store of the built-in service', () => {
    expect(placesOf(({ dev }) => dev !== true)).toHaveLength(counts.withTheStore);
  });

  test('in all, with what builds and tests it', () => {
    expect(locked).toHaveLength(counts.all);
  });
});

describe('nothing that is installed', () => {
  test('has a script that would run then, but for two that fall back to one where no binary was packed', () => {
    const scripted = everything.filter(([, { hasInstallScript }]) => hasInstallScript === true);

    expect(scripted.map(([place]) => place)).toEqual(['node_modules/lmdb', 'node_modules/msgpackr-extract']);
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
  });

  test('can be another package than the one that was looked at, but for native parts that the registry lacked', () => {
    const unproven = everything.filter(([, { integrity }]) => integrity === undefined);

    // `npm run lock` adds them without a hash, for npm refuses a lock file that lacks a platform.
    expect(unproven.filter(([, entry]) => !isNative(entry))).toEqual([]);
    expect(unproven).toHaveLength(counts.unproven);
  });

  test('is bound to the registry of one machine', () => {
    expect(everything.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });
});

function isNative({ os, cpu }: Locked): boolean {
  return (os ?? cpu) !== undefined;
}

function placesOf(isMeant: (entry: Locked) => boolean): readonly string[] {
  return locked.filter(([, entry]) => isMeant(entry)).map(([place]) => place);
}
