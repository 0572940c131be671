/** The seed that a command line names: read, and whose list and which state it is. */

import { absolutePath } from '../../absolute-path.ts';
import { resolveLinks } from '../../files.ts';
import { shellWord } from '../../output/curl-line.ts';
import { nameOf, openInput } from '../../rows/input.ts';
import { readSeed, type SeedOptions } from '../../seed/read-seed.ts';
import type { Seed } from '../../seed/seed.ts';
import type { Target } from '../../seed/state.ts';
import { findRunsDirectory } from '../../settings/directories.ts';
import { untilStopped } from '../../until-stopped.ts';
import { whileShown } from '../many/display.ts';
import { type ManyFlags, readReadingFlags } from '../many/flags.ts';
import { reportBadRows } from '../many/reading.ts';
import { runOrigin } from '../many/run-origin.ts';
import type { Session } from '../session.ts';

/** The flags that name a seed, as they were typed. */
export interface SeedFlags extends ManyFlags {
  readonly key?: string;
  readonly state?: string;
}

/** A seed, and the list that it is for. */
export interface NamedSeed {
  /** As it was typed. */
  readonly name: string;
  /** The seed on the command line of another command, quoted for a shell, with the flags that say whose it is. */
  readonly words: string;
  readonly seed: Seed;
  readonly target: Target;
  /** Where the state is: an absolute path behind every link, so that its lock and its journal are the same by each name. */
  readonly statePath: string;
}

/** What takes longer than a moment to read, without a pause: a seed of one value is read as a whole. */
const longBytes = { yaml: 100_000, other: 2_000_000 } as const;

/**
 * Reads a seed.
 *
 * @throws {Failure} usage, when it can't be used, or a flag contradicts it; as `openInput`
 */
export async function openSeed(name: string, flags: SeedFlags, session: Session): Promise<NamedSeed> {
  const { host } = session;
  const { inputFormat, ...others } = flags;
  const isYaml = inputFormat === 'yaml';
  const reading = readReadingFlags(isYaml ? others : flags);
  let problems: Parameters<NonNullable<SeedOptions['onProblems']>> = [[], 0];
  const input = await openInput(name, { host, spoolFolder: findRunsDirectory(host) });
  try {
    const read = () =>
      untilStopped(
        readSeed(input, {
          rows: { ...reading, common: {} },
          ...(isYaml && { isYaml }),
          key: flags.key,
          onProblems: (...told) => {
            problems = told;
          },
        }),
        host.signal,
      );
    const isLong = input.sizeBytes > (isYaml || /\.ya?ml/i.test(name) ? longBytes.yaml : longBytes.other);
    const seed = await whileShown(() => ({ doing: `reading ${nameOf(name)}` }), session, read, isLong);
    for (const notice of seed.notices) await session.say(`listctl: ${notice}`);
    const target = { origin: runOrigin(session), ...session.list(seed) };
    const words = wordsOf(name, flags, session);
    return {
      name,
      words,
      seed,
      target,
      statePath: resolveLinks(absolutePath(flags.state ?? `${name}.state.json`, host)),
    };
  } finally {
    await reportBadRows(nameOf(name), ...problems, session);
    input.close();
  }
}

function wordsOf(name: string, flags: SeedFlags, { sources }: Session): string {
  const { inputFormat, delimiter, encoding, rename = [], only, type = [], empty, key, state } = flags;
  const given: readonly (readonly [string, string | undefined])[] = [
    ...Object.entries({ '--key': key, '--state': state, '--input-format': inputFormat }),
    ...Object.entries({ '--delimiter': delimiter, '--encoding': encoding, '--only': only, '--empty': empty }),
    ...rename.map((text) => ['--rename', text] as const),
    ...type.map((text) => ['--type', text] as const),
    ...['--profile', '--base-url', '--site', '--list'].map((flag) => [flag, sources.flags[flag]] as const),
  ];
  const words = given.flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  return [name, ...words].map(shellWord).join(' ');
}
