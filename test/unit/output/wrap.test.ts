import { expect, test } from 'vitest';
import { wrapMessage } from '../../../src/output/wrap.ts';

test.each([
  {
    line: 'listctl: item "99" of list "tasks" was not found (HTTP 404: there is no such item)',
    lines: ['listctl: item "99" of list "tasks" was', '  not found (HTTP 404: there is no such', '  item)'],
  },
  {
    line: '  set LISTCTL_TOKEN or run listctl auth login --with-token -p prod < token.txt; it has expired',
    lines: [
      '  set LISTCTL_TOKEN or run',
      '    listctl auth login --with-token -p prod < token.txt;',
      '    it has expired',
    ],
  },
  {
    line: '  for a long while you can also pass --row 150 or -f Title="Buy some milk"',
    lines: ['  for a long while you can also pass', '    --row 150 or', '    -f Title="Buy some milk"'],
  },
  {
    line: '  write strings in quotes: [?Count > `5` && Title == 1]',
    lines: ['  write strings in quotes:', '    [?Count > `5` && Title == 1]'],
  },
  {
    line: '  run listctl init, or pass --base-url <url> and set LISTCTL_TOKEN',
    lines: ['  run listctl init, or pass', '    --base-url <url> and set', '    LISTCTL_TOKEN'],
  },
  { line: `cannot read /${'long/'.repeat(10)}file`, lines: ['cannot read', `  /${'long/'.repeat(10)}file`] },
  {
    line: '\u001b[31mlistctl:\u001b[39m exactly forty visible ones up',
    lines: ['\u001b[31mlistctl:\u001b[39m exactly forty visible ones up'],
  },
  { line: '', lines: [''] },
])('on 40 columns "$line" wraps at blanks, and what is copied stays whole', ({ line, lines }) => {
  expect(wrapMessage(line, 40).split('\n')).toEqual(lines);
});
