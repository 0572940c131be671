/** A person at a terminal: one session in a shell, from the first settings to an item that came and went. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serveDirectory, token } from '../support/served-directory.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { openShell } from '../support/typed-shell.ts';

const backspace = '\u007f';

test('init, create, edit, get and delete work when typed into a shell', async () => {
  await using directory = await temporaryDirectory();
  const service = await serveDirectory(join(directory.path, 'served'));
  await using person = await openShell('bash', directory.path, { columns: 100 });
  const { terminal } = person;
  const ending = () => person.run('echo "exit code $?"');

  try {
    person.start('listctl init');
    await person.shows('? Profile name, for --profile (default)');
    terminal.type('\r');
    await person.shows('? Service URL, including the version path');
    // One letter too many, which is then deleted.
    terminal.type(`${service.url}x`);
    await person.shows(`${service.url}x`);
    terminal.type(`${backspace}\r`);
    await person.shows('? Site');
    terminal.type('home\r');
    await person.shows('? List');
    terminal.type('tasks\r');
    await person.shows('? Token for');
    terminal.type('wrong-canary\r');
    await person.shows(/listctl: .*\n[\s\S]*\? Token for/);
    terminal.type(`${token}\r`);
    await person.shows('? Ask before every write');
    terminal.type('\r');
    const settings = await person.ended();
    expect(settings).toContain('the service responds and accepts the token');
    expect(settings).toMatch(/^site +home$/m);
    expect(await ending()).toBe('exit code 0');

    const created = await person.run('listctl items create -f Title="Buy milk" -f Count:=2');
    expect(created).toMatch(/^Title +Buy milk\nCount +2$/m);
    const [, id = ''] = /^id +(\S+)$/m.exec(created) ?? [];
    expect(id).not.toBe('');

    await person.run("export EDITOR='perl -pi -e s/milk/bread/'");
    person.start(`listctl items edit ${id}`);
    await person.shows(/Title: Buy milk → Buy bread\n[\s\S]*\? Send this change to default \(\S+\)\? \(y\/N\)/);
    terminal.type('y\r');
    expect(await person.ended()).toMatch(/^Title +Buy bread$/m);
    expect(await ending()).toBe('exit code 0');

    expect(await person.run(`listctl items get ${id}`)).toBe(created.replace('milk', 'bread'));

    // First thoughts, second thoughts.
    person.start(`listctl items delete ${id}`);
    await person.shows(`? Delete item ${id} from list "tasks"`);
    terminal.type('\r');
    expect(await person.ended()).toContain('listctl: not confirmed: nothing was deleted');
    expect(await ending()).toBe('exit code 2');
    person.start(`listctl items delete ${id}`);
    await person.shows(`? Delete item ${id} from list "tasks"`);
    terminal.type('yes\r');
    expect(await person.ended()).toMatch(RegExp(`^deleted ${id}$`, 'm'));

    expect(await person.run(`listctl items get ${id}`)).toMatch(/^listctl: .*404/);
    expect(await ending()).toBe('exit code 4');
    // No token was echoed, and none is in what the shell remembers.
    expect(await person.run('history')).toContain('listctl init');
    expect(terminal.written).not.toMatch(RegExp(`canary|${token}`));
  } finally {
    await service.kill();
  }
});
