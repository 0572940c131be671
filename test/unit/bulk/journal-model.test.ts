/** A run as it may go, crashes and all, against a model of what its journal must say of it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createJournal, type Journal, reopenJournal } from '../../../src/bulk/journal.ts';
import type { JournalRecord } from '../../../src/bulk/journal-format.ts';
import { readJournal } from '../../../src/bulk/journal-read.ts';
import { powerLossDisk } from '../../support/power-loss.ts';
import { hashFor, sampleHeader, sampleSession } from './journal-samples.ts';

const path = '/runs/a.journal';
const rows = 6;
const limit = 2;

/** Rows by what they are, and the intents without an outcome, in the order of the client. */
class Model {
  readonly done = new Set<number>();
  readonly doubts = new Set<number>();
  open: number[] = [];
  /** How many of the open ones went out: the first ones. */
  sent = 0;

  intend(row: number) {
    if (!this.done.has(row) && !this.open.includes(row)) this.open.push(row);
  }
  /** The row of the n-th request under way is answered; which one it was. */
  answer(nth: number): number | undefined {
    const [row] = nth < this.sent ? this.open.splice(nth, 1) : [];
    if (row !== undefined) this.sent -= 1;
    return row;
  }
  send() {
    if (this.sent < Math.min(limit, this.open.length)) this.sent += 1;
  }
  end(hasLostPower: boolean) {
    for (const row of hasLostPower ? this.open : this.open.slice(0, limit)) this.doubts.add(row);
    this.open = [];
    this.sent = 0;
  }
  settle(row: number, isApplied: boolean) {
    this.doubts.delete(row);
    if (isApplied) this.done.add(row);
  }
}

/** The journal beside the model: the same, written down. */
class Real {
  readonly disk = powerLossDisk(4096);
  boot = 0;
  seq = 0;
  journal: Journal;

  constructor() {
    this.journal = createJournal(path, sampleHeader(rows), this.session(), this.disk.io);
  }
  session() {
    return sampleSession({ boot: `boot-${this.boot}`, limit });
  }
  write(record: JournalRecord) {
    this.journal.write([record], 1);
  }
  intend(row: number) {
    this.seq += 1;
    this.write(['I', row, this.seq, 1, null, hashFor(row)]);
  }
  async read() {
    const replay = await readJournal(path, { boot: `boot-${this.boot}`, io: this.disk.io });
    if (replay === undefined) throw new Error('it was begun');
    return replay;
  }
}

type Command = fc.AsyncCommand<Model, Real>;

function command(name: string, run: (model: Model, real: Real) => void | Promise<void>): Command {
  return { check: () => true, run: async (model, real) => run(model, real), toString: () => name };
}

const row = fc.integer({ min: 1, max: rows });
const nth = fc.nat(limit - 1);

/** The n-th request under way ends, and this is written of it. */
function ending(
  name: string,
  at: number,
  record: (row: number) => JournalRecord,
  note: (row: number, model: Model) => void,
) {
  return command(`${name}(${at})`, (model, real) => {
    const answered = model.answer(at);
    if (answered === undefined) return;
    real.write(record(answered));
    note(answered, model);
  });
}

const commands = [
  row.map((number) =>
    command(`intend(${number})`, (model, real) => {
      if (model.done.has(number) || model.open.includes(number)) return;
      model.intend(number);
      real.intend(number);
    }),
  ),
  fc.constant(command('send', (model) => model.send())),
  nth.map((at) =>
    ending(
      'answer',
      at,
      (number) => ['D', number, 'id', null, 1],
      (number, model) => model.settle(number, true),
    ),
  ),
  nth.map((at) =>
    ending(
      'lose',
      at,
      (number) => ['U', number, 'lost', 1],
      (number, model) => model.doubts.add(number),
    ),
  ),
  nth.map((at) =>
    ending(
      'throttle',
      at,
      (number) => ['N', number],
      () => {},
    ),
  ),
  fc.tuple(row, fc.boolean()).map(([number, isApplied]) =>
    command(`resolve(${number}, ${isApplied})`, (model, real) => {
      if (!model.doubts.has(number) || model.open.includes(number)) return;
      model.settle(number, isApplied);
      real.write(isApplied ? ['R', number, 'applied', 'id'] : ['R', number, 'not-applied']);
    }),
  ),
  fc.tuple(fc.boolean(), fc.nat(40)).map(([hasLostPower, tornBytes]) =>
    command(`crash(${hasLostPower}, ${tornBytes})`, async (model, real) => {
      const underWay = model.open.slice(0, model.sent);
      model.end(hasLostPower);
      real.boot += hasLostPower ? 1 : 0;
      const whole = real.disk.bytesOf(path) ?? Buffer.alloc(0);
      real.disk.put(path, Buffer.concat([whole, whole.subarray(0, tornBytes)]));
      const replay = await real.read();
      expect(replay.tornBytes).toBe(tornBytes);
      expect([...replay.doubts()]).toEqual(expect.arrayContaining(underWay));
      compare(model, replay);
      real.journal = reopenJournal(path, replay, real.session(), real.disk.io);
      expect(replay.nextSeq).toBe(real.seq + 1);
    }),
  ),
];

function compare(model: Model, replay: Awaited<ReturnType<Real['read']>>) {
  const numbers = Array.from({ length: rows }, (_, at) => at + 1);
  const isDone = (number: number) => replay.stateOf(number) === 'done';
  expect(numbers.filter(isDone)).toEqual([...model.done].sort());
  expect([...replay.doubts()]).toEqual([...model.doubts].sort());
  expect(replay.counts).toMatchObject({
    done: model.done.size,
    inDoubt: model.doubts.size,
    left: rows - model.done.size - model.doubts.size,
  });
}

test('a journal says after any crash what the model says: nothing that was sent is remaining', async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (run) => {
      const setup = { model: new Model(), real: new Real() };
      await fc.asyncModelRun(() => setup, run);
      setup.model.end(false);
      compare(setup.model, await setup.real.read());
    }),
    { numRuns: 200 },
  );
});
