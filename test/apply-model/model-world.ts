/** `listctl apply`, the command itself, in this process: over the built-in service, with faults on the wire and kills. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileIo } from '../../src/bulk/journal-lines.ts';
import { Stopped } from '../../src/core/errors.ts';
import type { StateShown } from '../command/apply/fixtures.ts';
import { type ItemService, itemService } from '../command/apply/item-service.ts';
import type { ListRequest, Script } from '../command/bulk/list-service.ts';
import { type Run, run } from '../support/test-host.ts';
import type { Call, Crash, Fate, ManifestItem } from './moves.ts';

export interface ServiceKind {
  readonly honorsKeys: boolean;
  readonly givesEtags: boolean;
}

/** Memory, where there is some to be had as a directory: ten thousand runs wait for no disk. */
const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

const files = ['manifest.json.state.json', 'manifest.json.state.json.bak', 'manifest.json.state.json.journal'] as const;

/** A directory with a manifest and its state, and a service that watches over what `apply` does with it. */
export class ModelWorld {
  readonly service: ItemService;
  /** Of the items that are the manifest's own, the key of each by its id. */
  readonly owned = new Map<string, string>();
  readonly broken: string[] = [];
  /** By idempotency key, the id that was made. */
  readonly made = new Map<string, string>();
  readonly #honorsKeys: boolean;
  readonly #directory: string;
  manifest: readonly ManifestItem[] = [];

  private constructor(service: ItemService, { honorsKeys }: ServiceKind) {
    this.service = service;
    this.#honorsKeys = honorsKeys;
    this.#directory = mkdtempSync(join(root, 'listctl-model-'));
    service.onApplied = (request, id) => this.#watch(request, id);
    this.edit([]);
  }

  static async open(kind: ServiceKind): Promise<ModelWorld> {
    return new ModelWorld(Object.assign(await itemService(), kind), kind);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#directory, { recursive: true, force: true });
    await this.service[Symbol.asyncDispose]();
  }

  #watch({ method, fields, key: header }: ListRequest, id: string): void {
    if (method === 'POST') {
      const key = String(fields['Title']);
      const idempotencyKey = header === undefined ? undefined : (JSON.parse(header) as string);
      const isReplay = idempotencyKey !== undefined && this.made.get(idempotencyKey) === id;
      if (isReplay) return;
      if (this.ownedBy(key).length > 0) this.broken.push(`${JSON.stringify(key)} is made twice`);
      if (idempotencyKey !== undefined) this.made.set(idempotencyKey, id);
      this.owned.set(id, key);
    } else if (method !== 'GET' && !this.owned.has(id)) this.broken.push(`${method} ${id}: it is not the manifest's`);
  }

  /** The ids of what was made for a key, and is still there. */
  ownedBy(key: string): readonly string[] {
    const items = this.service.items();
    return [...this.owned].filter(([id, owner]) => owner === key && items.has(id)).map(([id]) => id);
  }

  edit(manifest: readonly ManifestItem[]): void {
    this.manifest = manifest;
    const items = manifest.map(({ key, fields }) => {
      const members = fields.map(([name, json]) => `,${JSON.stringify(name)}:${json}`);
      return `{"Title":${JSON.stringify(key)}${members.join('')}}`;
    });
    writeFileSync(join(this.#directory, 'manifest.json'), `{"key":"Title","items":[${items.join(',\n')}]}`);
  }

  /** The contents of the state file; undefined if it is missing. */
  state(): StateShown | undefined {
    const text = this.stateText();
    return text === undefined ? undefined : (JSON.parse(text) as StateShown);
  }

  stateText(): string | undefined {
    const bytes = this.#read(files[0]);
    return bytes === undefined ? undefined : Buffer.from(bytes, 'latin1').toString();
  }

  /** Runs a command that nothing happens to. */
  run(words: readonly string[], stops: { readonly signal?: AbortSignal; readonly forceStop?: AbortSignal } = {}) {
    const env = {
      LISTCTL_BASE_URL: this.service.url,
      LISTCTL_TOKEN: 'model-token',
      LISTCTL_SITE: 'home',
      LISTCTL_LIST: 'tasks',
    };
    const directories = { LISTCTL_STATE_DIR: this.#directory, HOME: this.#directory };
    return run(words, { cwd: this.#directory, env: { ...env, ...directories }, ...stops });
  }

  /** Applies the manifest; gives whether the process was killed, and else how it ended. */
  async apply(call: Call): Promise<Run | 'killed'> {
    const flags = [
      ...['--yes', '-o', 'none', '--concurrency', String(call.concurrency)],
      ...(call.saysHonored && this.#honorsKeys ? ['--idempotency', 'honored'] : []),
    ];
    const planned = [...(call.prunes ? ['--prune'] : []), ...(call.refreshes ? [] : ['--no-refresh'])];
    const init = this.stateText() === undefined ? ['--init'] : [];
    if (!call.savesPlan) return this.#faulty(['apply', 'manifest.json', ...init, ...planned, ...flags], call);
    const saved = await this.run(['apply', 'manifest.json', ...init, ...planned, ...flags, '--out', 'plan.json']);
    if (saved.exitCode !== 0) return saved;
    return this.#faulty(['apply', 'plan.json', ...flags], call);
  }

  async #faulty(words: readonly string[], { fates, crash }: Call): Promise<Run | 'killed'> {
    const [stop, forceStop] = [new AbortController(), new AbortController()];
    let atCrash: ReadonlyMap<string, string> | undefined;
    const kill = () => {
      atCrash ??= new Map(files.flatMap((name) => [[name, this.#read(name)] as const].flatMap(present)));
      // What it does from now on is undone; so that it does not take long, it is asked to stop.
      stop.abort(new Stopped('SIGINT'));
      forceStop.abort(new Stopped('SIGINT'));
    };
    this.service.script = scriptOf(fates, crash, kill, () => atCrash !== undefined);
    const restore = killingAtJournal(crash, kill);
    try {
      const ended = await this.run(words, { signal: stop.signal, forceStop: forceStop.signal });
      if (atCrash === undefined) return ended;
      for (const name of files) rmSync(join(this.#directory, name), { force: true });
      for (const [name, text] of atCrash) writeFileSync(join(this.#directory, name), text, 'latin1');
      return 'killed';
    } finally {
      restore();
      this.service.script = () => undefined;
    }
  }

  /** A byte is a character here. */
  #read(name: string): string | undefined {
    const path = join(this.#directory, name);
    return existsSync(path) ? readFileSync(path, 'latin1') : undefined;
  }
}

function present([name, text]: readonly [string, string | undefined]): readonly (readonly [string, string])[] {
  return text === undefined ? [] : [[name, text]];
}

function scriptOf(fates: readonly Fate[], crash: Crash | undefined, kill: () => void, isDead: () => boolean): Script {
  let [requests, writes] = [0, 0];
  return ({ method }) => {
    // Nobody sends anything any more.
    if (isDead()) return { status: 0, cut: true };
    requests += 1;
    if (crash?.at.startsWith('request') && requests === crash.nth) {
      kill();
      return { status: 0, cut: true, applies: crash.at === 'request-applied' };
    }
    if (method === 'GET') return undefined;
    writes += 1;
    return answers[fates[writes - 1] ?? 'done'];
  };
}

const answers: Readonly<Record<Fate, ReturnType<Script>>> = {
  done: undefined,
  'lost-applied': { status: 0, cut: true, applies: true },
  'lost-not-applied': { status: 0, cut: true },
  'failed-applied': { status: 500, applies: true, body: { error: 'a bad day' } },
  refused: { status: 400, body: { error: 'not this one' } },
  throttled: { status: 429, headers: { 'retry-after': '1' } },
};

/** Kills at a write to a journal; gives what makes writing as it was. */
function killingAtJournal(crash: Crash | undefined, kill: () => void): () => void {
  const { write } = fileIo;
  let writes = 0;
  if (crash?.at.startsWith('journal')) {
    fileIo.write = (...given) => {
      writes += 1;
      if (crash.at === 'journal-before' && writes === crash.nth) kill();
      const written = write(...given);
      if (crash.at === 'journal-after' && writes === crash.nth) kill();
      return written;
    };
  }
  return () => {
    fileIo.write = write;
  };
}
