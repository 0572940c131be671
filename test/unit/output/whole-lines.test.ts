import { expect, test } from 'vitest';
import { wholeLines } from '../../../src/output/layout.ts';

test('the status is removed before each write, and only complete lines are written', async () => {
  const screen: string[] = [];
  const output = { isClosed: false, write: async (text: string) => void screen.push(text) };
  const lines = wholeLines(output, () => screen.push('(away)'));

  for (const text of ['[\n  1', ',\n  2', ',', '\n  3', '\n]\n']) await lines.write(text);
  await lines.flush();

  expect(screen).toEqual(['(away)', '[\n', '(away)', '  1,\n', '(away)', '  2,\n', '(away)', '  3\n]\n']);
});

test('a last line without an end is written at the end', async () => {
  const screen: string[] = [];
  const output = { isClosed: false, write: async (text: string) => void screen.push(text) };
  const lines = wholeLines(output, () => screen.push('(away)'));

  await lines.write('half a line');
  expect(screen).toEqual([]);
  await lines.flush();
  await lines.flush();

  expect(screen).toEqual(['(away)', 'half a line']);
});
