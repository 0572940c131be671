/** What is tortured: a command in a prepared place, and what must hold whatever becomes of its system calls. */
import type { LoggedRequest } from './list-service.ts';
import type { Ended, Place } from './place.ts';

export interface Scenario {
  readonly name: string;
  /** Whether the service makes one item only of a key that comes again. */
  readonly honorsKeys?: boolean;
  /** Makes the place what it is before the command; nothing fails in it. */
  prepare(place: Place): Promise<void> | void;
  words(place: Place): readonly string[];
  readonly input?: string;
  /** Exit codes that are right without a fault: 9 where a row is refused. */
  readonly usual?: number;
  /**
   * Begins to judge a run that is about to start in the place as it was prepared.
   *
   * @returns a sentence for each violation
   */
  judge(place: Place): (ended: Ended) => Promise<readonly string[]> | readonly string[];
  /**
   * The fault is gone: what was asked for is got, and everything is there once.
   *
   * @returns what does not hold
   */
  goOn(place: Place): Promise<readonly string[]>;
}

/**
 * What is never said, and never the end, whatever fails.
 *
 * @param words the command: one of the settings alone has nothing that could be left in doubt
 */
export function alwaysBroken(
  { exitCode, stdout, stderr, otherwise }: Ended,
  usual: number,
  [name = '']: readonly string[] = [],
): readonly string[] {
  const allowed = [usual, 10, ...(settingsCommands.includes(name) ? [] : [8])];
  // With JSON on stdout, failures are JSON too.
  const told = stderr.split('\n').filter((line) => /^(listctl: |\{"error":)/.test(line));
  return [
    ...(otherwise === undefined ? [] : [otherwise]),
    ...(exitCode === undefined || allowed.includes(exitCode) ? [] : [`it ended with ${exitCode}: ${stderr}`]),
    ...(/\n {4}at |is a bug/.test(stderr + stdout) ? [`it shows its inside: ${stderr}`] : []),
    ...(exitCode === 10 && told.length === 0 ? [`it does not say what failed: ${stderr}`] : []),
  ];
}

/** The commands that send nothing. */
const settingsCommands = ['profile', 'auth'];

/**
 * Half files, copies and locks, which a run takes away at its end.
 *
 * @param before what lay there before the run: of a process that was killed
 */
export function straysIn(place: Place, before: readonly string[] = []): readonly string[] {
  const isStray = (file: string) => /\.tmp-|(^|\/)spool-|\.lock\/|^tmp\//.test(file);
  return place.files().filter((file) => isStray(file) && !before.includes(file));
}

export function brokenIf(isBroken: boolean, sentence: string): readonly string[] {
  return isBroken ? [sentence] : [];
}

export function expectDone({ exitCode, stderr }: Ended): void {
  if (exitCode !== 0) throw new Error(`what prepares the place failed with ${exitCode}: ${stderr}`);
}

/** Runs a command, and kills it at the request of which `isMoment` says so. */
export async function runKilled(
  place: Place,
  words: readonly string[],
  isMoment: (request: LoggedRequest) => boolean,
): Promise<void> {
  let kill = (): boolean => false;
  place.service.onRequest = (request) => {
    if (isMoment(request)) kill();
  };
  await place.run(words, {
    onStart: (process) => {
      kill = () => process.kill('SIGKILL');
    },
  });
  place.service.onRequest = () => {};
}

/** That a run ended as it does without a fault. */
export function brokenEnd(what: string, { exitCode, stderr, otherwise }: Ended, usual = 0): readonly string[] {
  return brokenIf(exitCode !== usual, `${what}: ${otherwise ?? exitCode}: ${stderr}`);
}

export interface TortureEnd {
  readonly name: string;
  /** Runs in which something failed below the scenario's directory. */
  readonly hits: number;
  /** How often listctl ended how in those. */
  readonly exitCodes: ReadonlyMap<number | undefined, number>;
  readonly tookMs: number;
  /** What does not hold, with the fault that it does not hold under; none where all is well. */
  readonly broken: readonly string[];
}

export class Tally {
  readonly #name: string;
  readonly #startedAtMs = performance.now();
  readonly #exitCodes = new Map<number | undefined, number>();
  readonly #broken: string[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  /** A run in which something failed has ended so. */
  hit(exitCode: number | undefined): void {
    this.#exitCodes.set(exitCode, (this.#exitCodes.get(exitCode) ?? 0) + 1);
  }

  breaks(fault: string, sentences: readonly string[]): void {
    for (const sentence of sentences) this.#broken.push(`${fault}: ${sentence}`);
  }

  end(): TortureEnd {
    return {
      name: this.#name,
      hits: [...this.#exitCodes.values()].reduce((sum, count) => sum + count, 0),
      exitCodes: this.#exitCodes,
      tookMs: performance.now() - this.#startedAtMs,
      broken: this.#broken,
    };
  }
}
