/** Which of several runs is the newest: their ids know that to the second, and their first lines to the millisecond. */
import { basename, join } from 'node:path';
import { fileIo } from '../../bulk/journal-io.ts';
import { readHeader } from '../../bulk/journal-lines.ts';
import { type ListedRun, resolveRun } from '../../bulk/run-files.ts';

/** `20261120-101530` */
const secondLength = 15;

/** The same runs, newest first; those that can't be read behind the other ones of their second. */
export function newestFirst(runs: readonly ListedRun[]): readonly ListedRun[] {
  return [...runs].sort((one, other) => orderOf(keyOf(one), keyOf(other)));
}

/**
 * The path of the last run in a folder.
 *
 * @throws {Failure} usage, when there is none; local-file, when the folder can't be read
 */
export function lastRun(folder: string): string {
  const path = resolveRun(folder, 'last');
  const second = basename(path).slice(0, secondLength);
  let last = { path, key: startOf(path) };
  for (const name of fileIo.list(folder)) {
    if (!name.startsWith(second) || !name.endsWith('.journal')) continue;
    const key = startOf(join(folder, name));
    if (key > last.key) last = { path: join(folder, name), key };
  }
  return last.path;
}

function keyOf({ run, header }: ListedRun): string {
  return `${run.slice(0, secondLength)} ${header?.startedAt ?? ''}`;
}

function orderOf(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? 1 : -1;
}

/** When a run began; '' where its journal does not say. */
function startOf(path: string): string {
  try {
    return readHeader(path, fileIo)?.header.startedAt ?? '';
  } catch {
    // Whoever reads it says what is wrong with it.
    return '';
  }
}
