import { expect, test } from 'vitest';
import { reportBug } from '../../../src/cli/report.ts';
import { testHost } from '../../support/test-host.ts';

test('a bug is reported with its version and stack, and nothing in it drives the terminal', async () => {
  const host = testHost({ terminal: 80 });
  const bug = Object.assign(new Error('x'), { stack: 'Error: a\u001b[31mb\n    at somewhere\u202e' });

  await reportBug(bug, {
    ...{ host, words: [], version: '1.2.3', ending: { is: 'done' } },
    errors: { asJson: false, color: 'auto' },
  });

  expect(host.printed.stderr).toMatch(/^listctl: this is a bug in listctl 1\.2\.3/);
  expect(host.printed.stderr).toContain('\nError: a\\x1b[31mb\n    at somewhere\\u{202e}\n');
});
