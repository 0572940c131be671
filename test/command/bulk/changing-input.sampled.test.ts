/**
 * An input that grows, and is edited, fixed, renamed and piped at random between runs that are cut off at random: with
 * --resume where a run without it is refused, every row is created once.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sampled } from '../../support/sampled.ts';
import { create, type ManyWorld, manyWorld } from './bulk-world.ts';
import { type ListService, listService, type Script } from './list-service.ts';

/** The rows of an input, each refused by the list or not. */
const badRows = fc.array(fc.boolean(), { minLength: 1, maxLength: 20 });

const move = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('add' as const), bad: badRows }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom(...(['fix', 'edit', 'rename', 'pipe'] as const)) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('run' as const),
      cutAfter: fc.constantFrom(0, 1, 2, 5, 1000),
      resumes: fc.boolean(),
    }),
  },
);
type Move = typeof move extends fc.Arbitrary<infer M> ? M : never;

/** An input, and the list that it is sent to. */
class Play {
  /** The number of the last request that the list takes. */
  lastRequest = Number.POSITIVE_INFINITY;
  readonly script: Script = ({ title = '', nth }) => {
    if (nth > this.lastRequest) return { status: 401, body: {} };
    return title.startsWith('bad') ? { status: 400, body: {} } : undefined;
  };
  #isBad: boolean[];
  #edited: number | undefined;
  #names = 1;
  #isPiped = false;

  constructor(isBad: readonly boolean[]) {
    this.#isBad = [...isBad];
  }

  change(step: Exclude<Move, { readonly kind: 'run' }>, created: readonly string[]): void {
    if (step.kind === 'add') this.#isBad.push(...step.bad);
    else if (step.kind === 'rename') this.#names += 1;
    else if (step.kind === 'pipe') this.#isPiped = !this.#isPiped;
    else if (step.kind === 'fix') this.#isBad = this.#isBad.with(Math.max(0, this.#isBad.indexOf(true)), false);
    else {
      // Of fewer rows most would have changed, as in another input.
      const isEdited = this.#edited === undefined && created.length > 2;
      this.#edited = isEdited ? this.#isBad.findIndex((_, at) => created.includes(`row${at}`)) : undefined;
    }
  }

  /** Fixes every row, and restores the one that was edited. */
  mend(): readonly string[] {
    this.#isBad.fill(false);
    this.#edited = undefined;
    this.lastRequest = Number.POSITIVE_INFINITY;
    return this.#isBad.map((_, at) => `row${at}`);
  }

  async run(world: ManyWorld, resumes: boolean): Promise<number> {
    const rows = this.#isBad.map((bad, at) => `${bad ? 'bad' : 'row'}${at}${at === this.#edited ? ' edited' : ''}`);
    const content = `Title\n${rows.join('\n')}\n`;
    const from = this.#isPiped ? '-' : world.file(`${this.#names}.csv`, content);
    const words = create(from, '--input-format', 'csv', '-o', 'none', '--concurrency', '2');
    return (await world.run([...words, ...(resumes ? ['--resume'] : [])], { stdin: content })).exitCode;
  }
}

function titlesIn({ items }: ListService): readonly string[] {
  const titles = [...items.values()].map(({ Title }) => String(Title));
  expect(titles).toEqual([...new Set(titles)]);
  expect(titles.filter((title) => title.includes('edited'))).toEqual([]);
  return titles;
}

async function play(isBad: readonly boolean[], moves: readonly Move[]): Promise<void> {
  const input = new Play(isBad);
  await using service = await listService(input.script);
  await using world = await manyWorld(service);
  for (const step of moves) {
    if (step.kind !== 'run') input.change(step, titlesIn(service));
    else {
      input.lastRequest = service.requests.length + step.cutAfter;
      await input.run(world, step.resumes);
      titlesIn(service);
    }
  }
  const all = input.mend();
  if ((await input.run(world, false)) === 2) await input.run(world, true);
  expect([...titlesIn(service)].sort()).toEqual([...all].sort());
}

test('no row is lost, and none is doubled, whatever becomes of the input between its runs', {
  timeout: 300_000,
}, async () => {
  const numRuns = sampled(Array.from({ length: 400 }), 40).length;
  await fc.assert(fc.asyncProperty(badRows, fc.array(move, { minLength: 1, maxLength: 12 }), play), { numRuns });
});
