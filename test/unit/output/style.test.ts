import { expect, test } from 'vitest';
import { loadStyle, plainStyle, type Style } from '../../../src/output/view.ts';

const names = ['bold', 'dim', 'red', 'yellow', 'green'] as const satisfies readonly (keyof Style)[];

test.each(names)('%s leaves the text as it is where there is no color', async (name) => {
  expect((await loadStyle(0))[name]('text')).toBe('text');
  expect(plainStyle[name]('text')).toBe('text');
});

test.each([
  ['bold', '\x1b[1mtext\x1b[22m'],
  ['dim', '\x1b[2mtext\x1b[22m'],
  ['red', '\x1b[31mtext\x1b[39m'],
  ['yellow', '\x1b[33mtext\x1b[39m'],
  ['green', '\x1b[32mtext\x1b[39m'],
] as const)('%s wraps the text in its codes, whatever the environment says', async (name, painted) => {
  expect((await loadStyle(1))[name]('text')).toBe(painted);
});
