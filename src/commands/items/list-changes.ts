/** `listctl items list --since last`: what has changed since the last time, and the mark that remembers it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Print } from '../../cli/output.ts';
import type { Session } from '../../cli/session.ts';
import { errnoCode, Failure, fileFailure } from '../../core/errors.ts';
import { attempt, makePrivateDirectory } from '../../core/files.ts';
import type { Item, ListRef } from '../../core/item.ts';
import { takeLock } from '../../core/lock.ts';
import { isString, oneOf, shaped } from '../../core/shape.ts';
import { replaceFile } from '../../core/write-file.ts';
import { changeView } from '../../output/item.ts';
import type { View } from '../../output/view.ts';
import { runsDirectory } from '../../settings/directories.ts';

/** The content of a mark's file. */
interface Mark {
  readonly version: 1;
  /** The path that lists what changed since. */
  readonly path: string;
  /** When everything had been printed, in UTC. */
  readonly at: string;
}

const isMark = shaped<Mark>({ version: oneOf(1), path: isString, at: isString });

/**
 * Prints each item that changed since the last time, and all of them the first time. The mark is set when stdout has
 * taken everything: after a crash, a stop, or a reader that closed, the changes come again.
 *
 * @throws {Failure} locked, while another process lists the changes; local-file; as `Client.send`
 */
export async function listChanges(select: readonly string[] | undefined, session: Session): Promise<void> {
  const { host, output } = session;
  const columns = ['id', 'deleted', ...(select ?? []).filter((name) => name !== 'id' && name !== 'deleted')];
  const view: View<Item> = { ...changeView, printsNone: true, inPages: true, ...(select && { columns }) };
  let mark: Awaited<ReturnType<typeof openMark>> | undefined;
  let path = '';
  try {
    await output.printing(view, true, async (print) => {
      mark = await openMark((await session.service.resolve(session.settings.list())).ids, session);
      path = await printChanges(mark, select, print, session);
    });
    if (!host.stdout.isClosed) mark?.write(path);
  } finally {
    mark?.close();
  }
}

/** Returns the path that lists what changes from now on. */
async function printChanges(
  { list, last }: { readonly list: ListRef; readonly last: Mark | undefined },
  select: readonly string[] | undefined,
  print: Print<Item>,
  { host, messages, service }: Session,
): Promise<string> {
  const client = await service.client();
  const { changes: readChanges } = await service.load();
  if (readChanges === undefined) throw new Error('items list has checked that there are changes');
  if (last === undefined) await messages.say('no earlier --since last of this list is known: listing all items');
  const changes = await readChanges(list, { select, mark: last?.path }, client);
  if (changes.isResynced) {
    await messages.say(
      `the service no longer knows what changed since ${last?.at}: listing all items, without those deleted since`,
    );
  }
  let count = 0;
  for (const item of changes.items()) {
    const printed = print(item);
    if (printed !== undefined) await printed;
    count += 1;
    if (host.stdout.isClosed) break;
  }
  if (count === 0) await messages.notice(last === undefined ? 'the list is empty' : `no change since ${last.at}`);
  return changes.mark;
}

/** Opens and locks the mark of a list, which each service and profile has for itself; its `last` is undefined at first. */
async function openMark(list: ListRef, { host, settings }: Session) {
  const owner = JSON.stringify([settings.address(), settings.profile() ?? null, list.site, list.list]);
  const name = createHash('sha256').update(owner).digest('hex').slice(0, 32);
  const file = join(dirname(runsDirectory(host)), 'marks', `${name}.json`);
  try {
    makePrivateDirectory(dirname(file));
  } catch (error) {
    throw fileFailure(`cannot create ${dirname(file)}`, error);
  }
  const lock = await takeLock(`${file}.lock`, { waitMs: 0 }, host);
  try {
    const write = (path: string) => {
      const mark: Mark = { version: 1, path, at: new Date(host.clock.now()).toISOString() };
      replaceFile(file, [`${JSON.stringify(mark)}\n`]);
    };
    return { list, last: readMark(file), write, close: lock.release };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function readMark(file: string): Mark | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return undefined;
    throw fileFailure(`cannot read ${file}`, error);
  }
  const mark: unknown = attempt(() => JSON.parse(text));
  if (isMark(mark) && mark.path.startsWith('/')) return mark;
  throw new Failure('local-file', `cannot read ${file}: it is not a mark of --since last`, {
    hint: 'remove it to list all items again',
  });
}
