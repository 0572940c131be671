import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSeed } from '../../../src/apply/manifest.ts';
import { printJson } from '../../../src/core/json.ts';
import { type FuzzTarget, failureWords, mustHold } from '../target.ts';
import { jsonWords } from './words.ts';
import { yamlWords } from './yaml.ts';

const words = [
  'key',
  'items',
  'site',
  'list',
  '"key":"Title",',
  '"items":[',
  'key: Title\n',
  'items:\n  - ',
  'Title: ',
];

/** The target of seeds with this name. */
function seedTarget(name: string, file: string, more: readonly string[], testRuns: number): FuzzTarget {
  return {
    ...{ name, words: [...words, ...more], testRuns },
    open: (directory) => ({
      run: async (bytes) => {
        const path = join(directory, file);
        writeFileSync(path, bytes);
        return seedWords(path, bytes);
      },
    }),
  };
}

async function seedWords(path: string, bytes: Buffer): Promise<string> {
  const descriptor = openSync(path, 'r');
  const input = { name: path, isSpooled: false, isRegular: true, descriptor, sizeBytes: bytes.length, close: () => {} };
  try {
    const seed = await readSeed(input, {
      rows: { rename: new Map(), types: new Map(), empty: 'omit', idColumn: 'id', rows: 'auto', common: {} },
      onProblems: (failures) =>
        mustHold(
          failures.every(({ message }) => message.length < 5000),
          'a problem is no endless line',
        ),
    });
    const keys = new Set(seed.items.map(({ key }) => key));
    mustHold(keys.size === seed.items.length && !keys.has(''), 'no key is empty, and none stands twice');
    return `${seed.items.length} items: ${seed.items
      .map(({ fields }) => printJson(fields))
      .join()
      .slice(0, 60)}`;
  } catch (error) {
    return failureWords(error, ['usage', 'local-file']);
  } finally {
    closeSync(descriptor);
  }
}

export const seedTargets: readonly FuzzTarget[] = [
  seedTarget('seed-yaml', 'seed.yaml', yamlWords, 300),
  seedTarget('seed-json', 'seed.json', jsonWords, 400),
];
