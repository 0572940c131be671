/** The pictures of docs/pictures: real runs of the program, typed into a shell in a terminal. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { listening } from '../support/loopback-server.ts';
import { environmentFor } from '../support/scripted-service.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { openTerminal, type Terminal } from '../support/terminal.ts';
import { newcomer, typeAll } from './console-blocks.ts';
import { type Caption, type CellRow, replaced, rowsOf, terminalPicture, textOf } from './terminal-picture.ts';

const docs = join(import.meta.dirname, '../../docs');

/** Wide enough for the longest line of them, and not too wide for a page to show at its own size. */
const columns = 88;

/** Values that differ between runs and machines, and their replacements: times, rates and the port of the service. */
const everChanging = [
  [/(?<=; )[^,;]+, [\d.,]+ rows?\/s(?=, on )/g, '2.1 s, 8.6 rows/s'],
  [/(?<=; )[^,;]+, [\d.,]+ steps\/s(?=, on )/g, '0.3 s, 10 steps/s'],
  [/(?<=, on )http:\S+/g, 'https://lists.example'],
  [/(?<=, )[\d.,]+ rows?\/s, .+ left$/g, '8.5 rows/s, 1 s left'],
] as const;

/** Makes every picture, from the name of its file to its text: the same from run to run, on any machine. */
export async function makePictures(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['items.svg', await itemsPicture()],
    ['many.svg', await manyPicture()],
    ['apply.svg', await applyPicture()],
  ]);
}

/** An item is created, and shown with others in a table. */
async function itemsPicture(): Promise<string> {
  await using home = await newHome();
  const environment = { ...home.environment, ...localList };
  await typeAll(
    [
      'listctl items create -f Title="Buy milk" -o none',
      'listctl items delete 1 -o none',
      // One at a time, so that their ids have the order of the rows.
      'listctl items create --from docs/examples/tasks.csv --concurrency 1 -o none',
    ],
    home.path,
    environment,
  );

  await using shell = await openShell(home, environment);
  await enter(shell, 'listctl items create -f Title="Buy milk" -f Due=2026-12-07 -f Priority:=2');
  await enter(shell, 'listctl items get 4 5 6 8 42');

  return pictureOf(shell, {
    title: 'listctl items create and listctl items get',
    description: 'A terminal: an item is created and shown field by field, then five items are shown as a table.',
  });
}

/** A run over a file is interrupted, and goes on; the picture is taken in the middle of that. */
async function manyPicture(): Promise<string> {
  await using service = await heldService();
  await using home = await newHome();
  await using shell = await openShell(home, { ...home.environment, ...environmentFor(service) });
  const command = 'listctl items create --from docs/examples/tasks.csv --concurrency 4';

  service.letThrough(14);
  shell.type(`${command}\r`);
  await shell.shows('14 of 40');
  await until(() => service.waiting.size === 4);
  shell.type('\u0003');
  await until(() => shell.written.includes('^C'));
  // By now it has the signal; what it draws in a later turn than the next, it draws after hearing of it.
  const drawn = countOf(shell.written, '14 of 40');
  await until(() => countOf(shell.written, '14 of 40') >= drawn + 2);
  service.letThrough(18);
  await shell.shows(/--resume\n\s*\$$/);
  service.letThrough(32);
  shell.type(`${command} --resume\r`);
  await shell.shows(/ 32 of 40, .* left$/);

  const picture = pictureOf(shell, {
    title: 'listctl items create --from, interrupted and resumed',
    description:
      'A terminal: a run over a file of 40 rows was interrupted after 18 and says how to go on with it; resumed, it ' +
      'shows a bar at 32 of 40 rows.',
  });
  // A run that ends well leaves nothing behind that still writes to its directory.
  service.letThrough(40);
  await shell.shows(/\n40 rows: 22 created, 18 before; .*\n\$$/);
  return picture;
}

/** A manifest, the plan of what makes the list match it, and that carried out. */
async function applyPicture(): Promise<string> {
  await using home = await newHome();
  const environment = { ...home.environment, LISTCTL_BASE_URL: 'local:' };
  const writeManifest = (...items: readonly string[]) => {
    const lines = ['site: home', 'list: tasks', 'key: Title', 'items:', ...items.map((item) => `  - ${item}`), ''];
    writeFileSync(join(home.path, 'manifest.yaml'), lines.join('\n'));
  };
  writeManifest('{Title: Bread, Count: 3}', '{Title: Oil}', '{Title: Salt}');
  await typeAll(
    ['listctl apply manifest.yaml --init --yes -o none', 'listctl items update 1 -s home -l tasks -f Count:=9 -o none'],
    home.path,
    environment,
  );
  writeManifest('{Title: Bread, Count: 3}', '{Title: Oil}', '{Title: Olives, Count: 2}');

  await using shell = await openShell(home, environment);
  await enter(shell, 'cat manifest.yaml');
  await enter(shell, 'listctl apply manifest.yaml --prune --dry-run');
  await enter(shell, 'listctl apply manifest.yaml --prune --yes -o none');

  return pictureOf(shell, {
    title: 'listctl apply',
    description:
      'A terminal: a manifest of three items; the plan that makes the list match it, with an item to set back in yellow, ' +
      'one to create in green and one to delete in red; and the plan carried out.',
  });
}

const localList = { LISTCTL_BASE_URL: 'local:', LISTCTL_SITE: 'home', LISTCTL_LIST: 'tasks' };

/** The home of a user who has just installed listctl, with these docs in it. */
async function newHome(): Promise<TemporaryDirectory & { readonly environment: Record<string, string> }> {
  const home = await temporaryDirectory();
  symlinkSync(docs, join(home.path, 'docs'));
  return { ...home, environment: newcomer(home.path) };
}

async function openShell(home: TemporaryDirectory, environment: Record<string, string>): Promise<Terminal> {
  const prompt = '\x1b[32m$\x1b[39m ';
  const shell = openTerminal('sh', ['-i'], { columns, cwd: home.path, env: { ...environment, PS1: prompt } });
  await shell.shows(/^\$$/);
  return shell;
}

/** Types a line that was not typed before, and waits for the prompt after what it prints. */
async function enter(shell: Terminal, line: string): Promise<void> {
  shell.type(`${line}\r`);
  const literal = line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  await shell.shows(new RegExp(`\\$ ${literal}\\n(?:.*\\n)*\\$$`));
}

/** Waits for a state that has no event. */
async function until(isSo: () => boolean): Promise<void> {
  for (let looks = 0; !isSo(); looks += 1) {
    if (looks === 3000) throw new Error(`waited in vain for ${isSo}`);
    await sleep(5);
  }
}

function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** The picture of the current screen: what was typed and printed, without what the shell adds. */
function pictureOf({ screen }: Terminal, caption: Caption): string {
  const rows = rowsOf(screen);
  const texts = rows.map(textOf);
  const isShells = (at: number) =>
    // The prompt that waits, and the empty line after a program that was interrupted.
    (texts[at] === '$' && at === rows.length - 1) || (texts[at] === '' && texts[at + 1]?.startsWith('$ '));
  const shown = rows.filter((_, at) => !isShells(at));
  return terminalPicture(shown.map(withoutChange), columns, caption);
}

function withoutChange(row: CellRow): CellRow {
  return everChanging.reduce((made, [pattern, text]) => replaced(made, pattern, text), row);
}

/** A service that answers creates row by row of docs/examples/tasks.csv, as far as it is let: a run can be held anywhere. */
interface HeldService extends AsyncDisposable {
  readonly url: string;
  /** The rows whose creates wait for an answer. */
  readonly waiting: ReadonlySet<number>;
  /** Answers the rows up to this one from now on, also those that wait. */
  letThrough(lastRow: number): void;
}

/** The first row of the file has this code, the next one the next. */
const firstCode = 417;

async function heldService(): Promise<HeldService> {
  let last = 0;
  const waiting = new Map<number, () => void>();
  const server = createServer(async (request, response) => {
    const { fields } = (await json(request)) as { readonly fields: { readonly Code: string } };
    const row = Number(fields.Code) - firstCode + 1;
    if (row > last) await new Promise<void>((resolve) => waiting.set(row, resolve));
    response.writeHead(201, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ id: String(row), fields }));
  });
  return {
    ...(await listening(server)),
    get waiting() {
      return new Set(waiting.keys());
    },
    letThrough: (lastRow) => {
      last = lastRow;
      for (const [row, answer] of [...waiting].filter(([each]) => each <= lastRow)) {
        waiting.delete(row);
        answer();
      }
    },
  };
}
