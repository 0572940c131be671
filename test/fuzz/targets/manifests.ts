import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readManifest } from '../../../src/apply/manifest.ts';
import { printJson } from '../../../src/core/json.ts';
import { type FuzzTarget, failureWords, mustHold } from '../target.ts';
import { jsonWords } from './words.ts';
import { yamlWords } from './yaml.ts';

const words = 'key·items·site·list·"key":"Title",·"items":[·key: Title\n·items:\n  - ·Title: '.split('·');

/** The target of manifests with this name. */
function manifestTarget(name: string, file: string, more: readonly string[], testRuns: number): FuzzTarget {
  return {
    ...{ name, words: [...words, ...more], testRuns },
    open: (directory) => ({
      run: async (bytes) => {
        const path = join(directory, file);
        writeFileSync(path, bytes);
        return manifestWords(path, bytes);
      },
    }),
  };
}

async function manifestWords(path: string, bytes: Buffer): Promise<string> {
  const descriptor = openSync(path, 'r');
  const input = { name: path, isSpooled: false, isRegular: true, descriptor, sizeBytes: bytes.length, close: () => {} };
  try {
    const manifest = await readManifest(input, {
      rows: { rename: new Map(), types: new Map(), empty: 'omit', idColumn: 'id', rows: 'auto', common: {} },
      onProblems: (failures) =>
        mustHold(
          failures.every(({ message }) => message.length < 5000),
          'a problem is no endless line',
        ),
    });
    const keys = new Set(manifest.items.map(({ key }) => key));
    mustHold(keys.size === manifest.items.length && !keys.has(''), 'no key is empty, and none stands twice');
    return `${manifest.items.length} items: ${manifest.items
      .map(({ fields }) => printJson(fields))
      .join()
      .slice(0, 60)}`;
  } catch (error) {
    return failureWords(error, ['usage', 'local-file']);
  } finally {
    closeSync(descriptor);
  }
}

export const manifestTargets: readonly FuzzTarget[] = [
  manifestTarget('manifest-yaml', 'manifest.yaml', yamlWords, 300),
  manifestTarget('manifest-json', 'manifest.json', jsonWords, 400),
];
