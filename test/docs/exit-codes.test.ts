import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exitCodes, stopSignals } from '../../src/core/errors.ts';

test('docs/scripting.md has the exit codes of the program', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/scripting.md'), 'utf8');

  const documented = [...page.matchAll(/^\| (?<code>\d+) \| (?:`(?<kind>[a-z-]+)`)? *\|/gm)].map(({ groups }) => [
    groups?.['kind'] ?? 'stopped',
    Number(groups?.['code']),
  ]);

  const stops = Object.values(stopSignals).map((code) => ['stopped', code]);
  expect(documented).toEqual([...Object.entries(exitCodes), ...stops]);
});
