/** The built `listctl apply`, killed again and again, with its service or without, over a wire with faults (reliability, P05 and E3). */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { StateShown } from '../command/apply/apply-world.ts';
import { type FaultProxy, faultProxy } from '../crash/fault-proxy.ts';
import { planKill } from '../crash/kill-plan.ts';
import { type ListContents, listContents, type TextFields } from '../crash/list-contents.ts';
import { type SeededRandom, seededRandom } from '../crash/seeded-random.ts';
import { type ServedFolder, serveFolder, token } from '../crash/served-folder.ts';
import { listctl } from '../support/listctl.ts';
import { run } from '../support/test-host.ts';

/** What a loop came to. */
export interface ApplyLoopEnd {
  readonly kills: number;
  readonly rounds: number;
  /** How many creates were in doubt, and settled by looking. */
  readonly inDoubt: number;
  /** How many sessions found a run that was killed half way. */
  readonly folded: number;
  /** What does not hold; none where all is well. */
  readonly broken: readonly string[];
}

/** Whether the next round tells listctl that keys are honoured, and its service does so. */
type Mode = 'keyed' | 'unkeyed';

/** Runs rounds until so many processes were killed, or something broke. */
export async function applyCrashLoop({ seed, kills }: { readonly seed: number; readonly kills: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'listctl-apply-crash-'));
  const service = await serveFolder(join(folder, 'items'));
  let end: ApplyLoopEnd = { kills: 0, rounds: 0, inDoubt: 0, folded: 0, broken: [] };
  try {
    while (end.kills < kills && end.broken.length === 0) {
      const name = `round-${end.rounds}`;
      const mode: Mode = end.rounds % 2 === 0 ? 'unkeyed' : 'keyed';
      const round = new Round(service, join(folder, name), name, mode, seededRandom(seed).branch(name));
      end = added(end, await round.run(Math.min(12, kills - end.kills)));
    }
  } finally {
    await service.kill();
    await rm(folder, { recursive: true, force: true });
  }
  return end;
}

function added(end: ApplyLoopEnd, { kills, inDoubt, folded, broken }: Omit<ApplyLoopEnd, 'rounds'>): ApplyLoopEnd {
  return {
    kills: end.kills + kills,
    rounds: end.rounds + 1,
    inDoubt: end.inDoubt + inDoubt,
    folded: end.folded + folded,
    broken: [...end.broken, ...broken.map((sentence) => `round ${end.rounds}: ${sentence}`)],
  };
}

/** A phase that nobody kills any more comes to its end in so many sessions, or never. */
const sessionsMax = 8;

/** A list of its own: made, then changed and pruned. */
class Round {
  readonly #service: ServedFolder;
  readonly #folder: string;
  readonly #list: string;
  readonly #mode: Mode;
  readonly #random: SeededRandom;
  readonly #contents: ListContents;
  readonly #broken: string[] = [];
  #kills = 0;
  #inDoubt = 0;
  #folded = 0;
  /** How long a session takes that nobody kills. */
  #tookMs = 500;
  #seed: readonly TextFields[] = [];

  constructor(service: ServedFolder, folder: string, list: string, mode: Mode, random: SeededRandom) {
    this.#service = service;
    this.#folder = folder;
    this.#list = list;
    this.#mode = mode;
    this.#random = random;
    this.#contents = listContents(service.url, `/sites/crash/lists/${list}/items`);
  }

  async run(killsMax: number): Promise<Omit<ApplyLoopEnd, 'rounds'>> {
    await mkdir(this.#folder);
    const isUnkeyed = this.#mode === 'unkeyed';
    const options = { throttles: false, ignoresKeys: isUnkeyed };
    const proxy = await faultProxy(this.#service.url, this.#random.branch('faults'), options);
    const bystander = { Title: 'k1', Note: 'of somebody' };
    const [id = ''] = await this.#contents.add([bystander]);
    const count = 20 + this.#random.whole(30);
    const first = numbered(1, count).map((key) => ({ Title: key, Note: 'first', Kept: 'x' }));
    const second = [
      ...first.filter((_, at) => at % 3 !== 0).map((item, at) => (at % 2 === 0 ? item : { ...item, Note: 'second' })),
      ...numbered(count + 1, count + 10).map((key) => ({ Title: key, Note: 'new', Kept: 'x' })),
    ];
    try {
      for (const [at, items] of [first, second].entries()) {
        await this.#phase(items, proxy, Math.ceil((killsMax * (at + 1)) / 2));
        await this.#check(items, proxy, new Map([[id, bystander]]));
      }
    } finally {
      await proxy.close();
    }
    return { kills: this.#kills, inDoubt: this.#inDoubt, folded: this.#folded, broken: this.#broken };
  }

  /** Applies a seed until it is done, killed on the way until there were so many kills. */
  async #phase(items: readonly TextFields[], proxy: FaultProxy, killsUntil: number): Promise<void> {
    this.#seed = items;
    await writeFile(join(this.#folder, 'seed.json'), JSON.stringify({ key: 'Title', items }));
    for (let quiet = 0; quiet < sessionsMax; ) {
      const { exitCode, wasKilled, stderr } = await this.#session(proxy, this.#kills < killsUntil);
      if (stderr.includes('the run before was ended half way')) this.#folded += 1;
      if (wasKilled) continue;
      quiet += 1;
      if (exitCode === 0) return;
      // The service was gone for too long, or steps are in doubt: it is gone on with.
      if (![6, 7, 8].includes(exitCode)) this.#broken.push(`it ended with ${exitCode}: ${stderr}`);
      if (exitCode === 8) await this.#resolve(proxy);
    }
    this.#broken.push(`it comes to no end in ${sessionsMax} sessions`);
  }

  async #session(proxy: FaultProxy, mayKill: boolean) {
    const init = existsSync(this.#statePath) ? [] : ['--init'];
    const keyed = this.#mode === 'keyed' ? ['--idempotency', 'honoured'] : [];
    const words = ['apply', 'seed.json', '--prune', '--yes', '-o', 'none', '--concurrency', '8', ...init, ...keyed];
    const startedAtMs = performance.now();
    const running = listctl(words, this.#environment(proxy), { cwd: this.#folder });
    let hasEnded = false;
    const ended = running.finally(() => {
      hasEnded = true;
    });
    if (mayKill) await this.#kill(running, proxy, () => hasEnded);
    const { exitCode = -1, signal, stderr } = await ended;
    const wasKilled = signal === 'SIGKILL';
    if (!(mayKill || wasKilled)) this.#tookMs = performance.now() - startedAtMs;
    return { exitCode, wasKilled, stderr: String(stderr) };
  }

  async #kill(running: ReturnType<typeof listctl>, proxy: FaultProxy, hasEnded: () => boolean): Promise<void> {
    const { kind, atMs, laterMs } = planKill({ startMs: 0, workMs: this.#tookMs }, 1, this.#random);
    // By the clock most kills hit a start, a look or a wait: those in the middle of the writes tell more.
    if (this.#random.next() < 0.3) await Promise.race([sleep(atMs), running]);
    else await this.#nthWrite(1 + this.#random.whole(this.#writesLeft()), proxy, hasEnded);
    if (hasEnded()) return;
    this.#kills += 1;
    // One that is killed alone holds up for 5 s: its client goes soon after it.
    if (kind !== 'service' && kind !== 'service-first') running.kill('SIGKILL');
    if (kind === 'client') return;
    await Promise.all([this.#service.kill(), proxy.goDown()]);
    await sleep(Math.min(laterMs, 100));
    running.kill('SIGKILL');
    await this.#service.start();
    await proxy.comeUp();
  }

  async #nthWrite(nth: number, { requests }: FaultProxy, hasEnded: () => boolean): Promise<void> {
    const from = requests.length;
    const writes = () => requests.slice(from).filter(({ method }) => method !== 'GET').length;
    while (writes() < nth && !hasEnded()) await sleep(1);
  }

  /** About as many as the seed differs from the state. */
  #writesLeft(): number {
    const items = existsSync(this.#statePath) ? this.#state().items : {};
    const known = new Set(Object.values(items).map(({ fields }) => JSON.stringify(fields)));
    const changed = this.#seed.filter((fields) => !known.delete(JSON.stringify(fields))).length;
    return Math.max(1, changed, known.size);
  }

  /** Looks what became of each create in doubt, as a person would, and says so. */
  async #resolve(proxy: FaultProxy): Promise<void> {
    await proxy.settled();
    const { items } = this.#state();
    const found = await this.#found(proxy);
    const owned = new Set(Object.values(items).flatMap(({ id }) => (id === undefined ? [] : [id])));
    for (const [key, { inDoubt, fields }] of Object.entries(items)) {
      if (inDoubt === undefined) continue;
      this.#inDoubt += 1;
      const [id = 'none'] =
        [...found].find(([other, made]) => !owned.has(other) && isDeepStrictEqual({ ...made }, fields)) ?? [];
      const words = ['state', 'resolve', 'seed.json', `${key}=${id}`];
      const { exitCode, stderr } = await run(words, { cwd: this.#folder, env: this.#environment(proxy) });
      if (exitCode !== 0) this.#broken.push(`${words.join(' ')} ended with ${exitCode}: ${stderr}`);
    }
  }

  /** The list holds each item of the seed once and what is somebody else's, and another apply sends nothing. */
  async #check(items: readonly TextFields[], proxy: FaultProxy, others: ReadonlyMap<string, TextFields>) {
    await proxy.settled();
    const list = [...(await this.#found(proxy))];
    for (const [id, fields] of others) {
      const now = list.find(([other]) => other === id)?.[1];
      if (!isDeepStrictEqual(now, fields)) this.#broken.push(`item ${id}, which is not the seed's, is another one`);
    }
    const made = list.filter(([id]) => !others.has(id)).map(([, fields]) => JSON.stringify(fields));
    const named = items.map((fields) => JSON.stringify(fields));
    const twice = made.filter((text, at) => made.indexOf(text) !== at);
    const lost = named.filter((text) => !made.includes(text));
    const phantom = made.filter((text) => !named.includes(text));
    for (const [what, texts] of Object.entries({ twice, lost, phantom })) {
      if (texts.length > 0) this.#broken.push(`${what}: ${texts.slice(0, 3).join(', ')}`);
    }
    const before = proxy.requests.length;
    const { exitCode, stderr } = await this.#session(proxy, false);
    const isQuiet = proxy.requests.slice(before).every(({ method }) => method === 'GET');
    if (!isQuiet || (exitCode !== 0 && exitCode !== 8))
      this.#broken.push(`twice is not a no-op: ${exitCode} ${stderr}`);
  }

  /** What the list holds: no id is higher than there were creates. */
  #found({ requests }: FaultProxy): Promise<ReadonlyMap<string, TextFields>> {
    return this.#contents.upTo(
      1 + requests.filter(({ method, isForwarded }) => method === 'POST' && isForwarded).length,
    );
  }

  #state(): StateShown {
    return JSON.parse(readFileSync(this.#statePath, 'utf8')) as StateShown;
  }

  get #statePath(): string {
    return join(this.#folder, 'seed.json.state.json');
  }

  #environment({ url }: FaultProxy): Record<string, string> {
    const folders = { HOME: this.#folder, LISTCTL_STATE_DIR: this.#folder };
    const place = { LISTCTL_SITE: 'crash', LISTCTL_LIST: this.#list };
    return { ...folders, ...place, LISTCTL_BASE_URL: url, LISTCTL_TOKEN: token };
  }
}

function numbered(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from + 1 }, (_, at) => `k${from + at}`);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
