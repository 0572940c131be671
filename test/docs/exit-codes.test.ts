import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exitCodes, stopSignals } from '../../src/errors.ts';

test('the table of exit codes in the README is the one of the program', () => {
  const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

  const documented = [...readme.matchAll(/^\| (?<code>\d+) \| (?:`(?<kind>[a-z-]+)`)? *\|/gm)].map(({ groups }) => [
    groups?.['kind'] ?? 'stopped',
    Number(groups?.['code']),
  ]);

  const stops = Object.values(stopSignals).map((code) => ['stopped', code]);
  expect(documented).toEqual([...Object.entries(exitCodes), ...stops]);
});
