/** Opens the manifest of a command with its state, and recovers an interrupted run. */
import { existsSync } from 'node:fs';
import { type BulkFlags, parseReadingFlags, type RunLimits } from '../bulk/flags.ts';
import { reportBadRows, whileShown } from '../bulk/progress.ts';
import { bootId, type journalFiles, runOrigin } from '../bulk/record.ts';
import { removeRun } from '../bulk/runs.ts';
import { serviceFlagNames } from '../cli/flags.ts';
import type { ListNames } from '../cli/run-settings.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath, resolveLinks } from '../core/files.ts';
import { type Host, untilStopped } from '../core/host.ts';
import { refuseHardLinks, takeLock } from '../core/lock.ts';
import { countOf, shellWord } from '../core/text.ts';
import { nameOf, openInput } from '../rows/input.ts';
import { findFormat } from '../rows/read.ts';
import type { ResolvedList } from '../services/service.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { type Manifest, type ManifestOptions, readManifest } from './manifest.ts';
import type { ManifestSchema } from './manifest-schema.ts';
import { checkJournal, journalPath, type RunJournal, readRunJournal, recoverRun } from './recover.ts';
import type { State, Target } from './state.ts';
import { backupPath, readState, versionAt, writeState } from './state-file.ts';

export interface ManifestFlags extends BulkFlags {
  readonly key?: string;
  readonly state?: string;
}

export interface OpenManifest {
  readonly name: string;
  /** The manifest and its flags for the command lines of hints. */
  readonly words: string;
  /** The same with a saved plan instead of the manifest. */
  wordsFor(plan: string): string;
  readonly manifest: Manifest;
  readonly target: Target;
  readonly list: ResolvedList;
  /** Undefined for a service whose lists have no columns. */
  readonly schema: ManifestSchema | undefined;
  /** The absolute path of the state with links resolved, so that its lock is the same for each name. */
  readonly statePath: string;
}

/** Sizes from which reading takes long enough for a notice. */
const longBytes = { yaml: 100_000, other: 2_000_000 } as const;

export function statePathOf(manifest: string, { state }: Pick<ManifestFlags, 'state'>, host: Host): string {
  if (state === '') throw new Failure('usage', 'invalid --state "": expected a file');
  return resolveLinks(absolutePath(state ?? `${manifest}.state.json`, host));
}

/**
 * @param onProblem receives the first 1,000 invalid items
 * @throws {Failure} usage, if it is invalid or a flag conflicts with it; as `openInput`
 */
export async function openManifest(
  name: string,
  flags: ManifestFlags,
  session: Session,
  onProblem: (failure: Failure) => void = () => {},
): Promise<OpenManifest> {
  const { host } = session;
  const reading = parseReadingFlags(flags);
  const isYaml = (reading.format ?? findFormat(name)) === 'yaml';
  const statePath = statePathOf(name, flags, host);
  let problems: Parameters<NonNullable<ManifestOptions['onProblems']>> = [[], 0];
  const input = await openInput(name, { host, spoolDirectory: findRunsDirectory(host) });
  const { schema: readSchema } = await session.service.load();
  let schema: ManifestSchema | undefined;
  const openColumns =
    readSchema &&
    (async (head: ListNames) => {
      const { ids } = await session.service.resolve(session.settings.list(head));
      const { ManifestSchema: Opened } = await import('./manifest-schema.ts');
      schema = new Opened(await readSchema(ids, await session.service.client()), reading);
      return schema;
    });
  try {
    const read = () =>
      untilStopped(
        readManifest(input, {
          rows: { ...reading, common: {} },
          key: flags.key,
          stateKey: () => readState(statePath)?.key,
          openColumns,
          onProblems: (...found) => {
            problems = found;
          },
        }),
        host.signal,
      );
    const isLong = input.sizeBytes > (isYaml ? longBytes.yaml : longBytes.other);
    const manifest = await whileShown(() => ({ doing: `reading ${nameOf(name)}` }), session, read, isLong);
    for (const notice of manifest.notices) await session.messages.say(`listctl: ${notice}`);
    const list = await session.service.resolve(session.settings.list(manifest));
    const target = { origin: runOrigin(session), ...list.ids };
    const toWords = (file: string) => wordsFor(file, flags, session);
    return { name, words: toWords(name), wordsFor: toWords, manifest, target, list, schema, statePath };
  } finally {
    for (const failure of problems[0]) onProblem(failure);
    await reportBadRows(nameOf(name), ...problems, session);
    input.close();
  }
}

function wordsFor(name: string, flags: ManifestFlags, { settings: { sources } }: Session): string {
  const { inputFormat, delimiter, encoding, quotes, decimal, rename = [], only, type = [], empty, ...more } = flags;
  const { key, state, names, split } = more;
  const given: readonly (readonly [string, string | undefined])[] = [
    ...Object.entries({ '--key': key, '--state': state, '--input-format': inputFormat }),
    ...Object.entries({ '--names': names, '--split': split }),
    ...Object.entries({ '--delimiter': delimiter, '--encoding': encoding, '--only': only, '--empty': empty }),
    ['--decimal', decimal] as const,
    ...rename.map((text) => ['--rename', text] as const),
    ...type.map((text) => ['--type', text] as const),
    ...[...serviceFlagNames, '--site', '--list'].map((flag) => [flag, sources.flags[flag]] as const),
  ];
  const words = given.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  return [name, ...words, ...(quotes === false ? ['--no-quotes'] : [])].map(shellWord).join(' ');
}

export function stateFilePaths(path: string): ReturnType<typeof journalFiles> {
  return { path, endings: ['.journal', '.bak', '.lock'] };
}

/**
 * Works with a state under its lock, after recovering an interrupted run.
 *
 * @param work receives the state; undefined if the file is missing
 * @throws {Failure} locked; local-file, if the state is damaged, or the journal next to it does not belong to it
 */
export async function withLockedState<T>(
  path: string,
  { lockWaitMs: waitMs, breakLock }: Pick<RunLimits, 'lockWaitMs' | 'breakLock'>,
  session: Session,
  work: (state: State | undefined) => Promise<T>,
): Promise<T> {
  const lock = await takeLock(`${path}.lock`, { waitMs, breakLock }, session.host);
  try {
    for (const holder of lock.broken) {
      await session.messages.say(
        `warning: broke the lock held by ${holder}; if that process is still running, stop one of the two`,
      );
    }
    refuseHardLinks(path);
    return await work(await recoverState(path, session));
  } finally {
    lock.release();
  }
}

/** Reads a state without its lock, and writes nothing. The results of a run in progress are in the returned state. */
export async function readUnlockedState(path: string, session: Session): Promise<State | undefined> {
  const { state, recovered } = await readStable(path, 10);
  if (recovered === undefined) return state;
  await session.messages.say(`a run of ${path} is in progress or was interrupted: ${formatRecovered(recovered)}`);
  return recovered.state;
}

/** Reads again if another process wrote the next version between two reads. */
async function readStable(path: string, triesLeft: number): ReturnType<typeof readWithJournal> {
  const before = versionAt(path);
  try {
    return await readWithJournal(path);
  } catch (error) {
    if (triesLeft === 0 || versionAt(path) === before) throw error;
    return readStable(path, triesLeft - 1);
  }
}

/** Reads a state and its journal; `recovered` is the state with the results of an interrupted run. */
async function readWithJournal(path: string) {
  const state = readState(path);
  const journal = await readRunJournal(journalPath(path), { boot: bootId() });
  if (state === undefined) refuseRemains(path, journal);
  if (state === undefined) return { state, journal, recovered: undefined };
  const isOwn = journal !== undefined && checkJournal(state, journal) === 'own';
  if (state.run !== undefined && !isOwn) throw journalLost(path);
  return { state, journal, recovered: state.run === undefined ? undefined : recoverRun(state, journal) };
}

/** Reads the state, and writes the results of an interrupted run into it. */
async function recoverState(path: string, session: Session): Promise<State | undefined> {
  const { state, journal, recovered } = await readWithJournal(path);
  const written = recovered === undefined ? state : writeState(path, recovered.state);
  if (journal !== undefined) removeRun(journal.path);
  if (recovered !== undefined)
    await session.messages.say(`recovered an interrupted run: ${formatRecovered(recovered)}`);
  return written;
}

function formatRecovered({ done, inDoubt }: ReturnType<typeof recoverRun>): string {
  return `${countOf(done, 'step')} applied${inDoubt === 0 ? '' : `, ${inDoubt} in doubt`}`;
}

/** Without a state there must be no backup, and no journal except that of a first run that sent nothing. */
function refuseRemains(path: string, journal: RunJournal | undefined): void {
  if (journal !== undefined && journal.replay.nextSeq > 1) {
    throw new Failure('local-file', `no state file at ${path}, but ${journal.path} records a run of it`, {
      hint: 'restore the state file: only it records what that run created',
    });
  }
  if (!existsSync(backupPath(path))) return;
  throw new Failure('local-file', `no state file at ${path}, but ${backupPath(path)} is its previous version`, {
    hint: `restore the state, or its previous version (cp ${backupPath(path)} ${path})\nif there should be no state, remove ${backupPath(path)} as well`,
  });
}

/** Without the journal, everything that the run created would be created again. */
function journalLost(path: string): Failure {
  return new Failure('local-file', `${path} has an interrupted run, but ${journalPath(path)} is missing`, {
    hint: 'restore that file, it records what was applied\nkeep both files together, in a CI cache as well',
  });
}

/**
 * Writes the results of a run into its state, which was written when the run began.
 *
 * @throws {Failure} local-file; the journal stays, and the next command recovers the run
 */
export async function recordRun(path: string, state: State): Promise<void> {
  if (!existsSync(journalPath(path))) throw journalLost(path);
  try {
    const journal = await readRunJournal(journalPath(path), { boot: bootId() });
    writeState(path, recoverRun(state, journal).state);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(error.kind, `${error.message}; the results are in ${journalPath(path)}`, {
      ...error.details,
      hint: 'keep that file: the next listctl apply recovers the run from it',
    });
  }
  removeRun(journalPath(path));
}
