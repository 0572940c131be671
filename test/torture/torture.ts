/** Every system call of a scenario fails in its turn; and disks of 64 kB are nearly full (tests-3). */
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountDisk, unmountDisk } from '../support/small-disk.ts';
import { type LoggedRequest, listService } from './list-service.ts';
import { makePlace, type Place } from './place.ts';
import { alwaysBroken, brokenIf, type Scenario, straysIn, Tally, type TortureEnd } from './scenario.ts';
import { type ErrorCode, type Injection, injectionText, runTraced, type TracedCall, type TracedRun } from './strace.ts';

export interface TortureOptions {
  readonly codes?: readonly ErrorCode[];
  readonly calls?: readonly string[];
  /** Whether a fault is tried as one that does not go away, too. */
  readonly lasts?: boolean;
}

/** The calls that a signal interrupts. */
const interruptible = ['openat', 'write', 'writev', 'pwrite64', 'pwritev', 'fdatasync', 'fsync', 'ftruncate', 'flock'];

/** The calls that need no room. */
const roomless = ['unlink', 'unlinkat', 'rmdir', 'chmod', 'fchmodat', 'flock', 'ftruncate'];

/** The calls that go on failing; others are made of sockets and of the program itself too, which no disk concerns. */
const lasting = ['pwrite64', 'pwritev', 'fdatasync', 'fsync', 'rename', 'renameat', 'renameat2'];

/** The calls whose failure may not be passed over: what they were to do is not done. */
const essential = ['write', 'writev', 'pwrite64', 'pwritev', 'fdatasync', 'fsync', 'ftruncate', /^rename/];

/** Runs a scenario once for each call that can fail, and each kind of failure. */
export async function torture(scenario: Scenario, options: TortureOptions = {}): Promise<TortureEnd> {
  const beside = mkdtempSync(join(tmpdir(), 'listctl-torture-'));
  const root = join(beside, 'place');
  mkdirSync(root, { mode: 0o700 });
  await using service = await listService(scenario.honorsKeys ?? false);
  const place = makePlace(root, beside, service);
  const tally = new Tally(scenario.name);
  try {
    await scenario.prepare(place);
    const putBack = place.keep();
    const log = join(beside, 'strace.log');
    const before = service.requests.length;
    const { calls, exitCode, stderr } = await runTraced(place, scenario.words(place), { log, ...inputOf(scenario) });
    if (exitCode !== (scenario.usual ?? 0)) throw new Error(`without a fault it fails: ${stderr}`);
    expectShown(calls, service.requests.slice(before));
    for (const way of waysToFail(calls, options)) {
      const ordinals = ordinalsOf(calls, way.call);
      for (let at = 0, isHit = true; isHit || at < ordinals.length; at += 1) {
        // Behind the last call that was seen: until none is hit, since no two runs are quite the same.
        const nth = ordinals[at] ?? lastOrdinal(calls, way.call) + 1 + at - ordinals.length;
        putBack();
        isHit = await tortureOnce(scenario, place, { ...way, nth }, log, tally);
      }
    }
  } finally {
    rmSync(beside, { recursive: true });
  }
  return tally.end();
}

function waysToFail(
  seen: readonly TracedCall[],
  { codes = ['ENOSPC', 'EIO', 'EINTR'], calls, lasts = true }: TortureOptions,
): readonly Omit<Injection, 'nth'>[] {
  const names = [...new Set(seen.filter(({ isInside }) => isInside).map(({ call }) => call))];
  return names
    .filter((call) => calls?.includes(call) ?? true)
    .flatMap((call) => codes.filter((code) => isMeant(call, code)).map((code) => ({ call, code, goesOn: false })))
    .flatMap((way) => {
      const mayLast = lasts && way.code !== 'EINTR' && lasting.includes(way.call);
      return mayLast ? [way, { ...way, goesOn: true }] : [way];
    });
}

function isMeant(call: string, code: ErrorCode): boolean {
  if (code === 'EINTR') return interruptible.includes(call);
  return code !== 'ENOSPC' || !roomless.includes(call);
}

/** Which calls of that name, in their threads, are about the place. */
function ordinalsOf(calls: readonly TracedCall[], name: string): readonly number[] {
  const found = calls.filter(({ call, isInside }) => call === name && isInside).map(({ nth }) => nth);
  return [...new Set(found)].sort((one, other) => one - other);
}

function lastOrdinal(calls: readonly TracedCall[], name: string): number {
  return Math.max(...calls.filter(({ call }) => call === name).map(({ nth }) => nth));
}

async function tortureOnce(
  scenario: Scenario,
  place: Place,
  injection: Injection,
  log: string,
  tally: Tally,
): Promise<boolean> {
  const [judge, strays] = [scenario.judge(place), straysIn(place)];
  const run = await runTraced(place, scenario.words(place), { log, injection, ...inputOf(scenario) });
  const hit = run.calls.filter(({ isInjected }) => isInjected);
  const isHit = hit.some(({ isInside }) => isInside);
  if (!isHit) return false;
  const { usual = 0 } = scenario;
  const removes = /^(unlink|rmdir)/.test(injection.call);
  const broken = [...alwaysBroken(run, usual, scenario.words(place)), ...(await judge(run))];
  // Syncs are the work of another thread, which is not seen then.
  if (injection.call !== 'write') broken.push(...sentUnsynced(run));
  if (injection.code === 'EINTR') {
    broken.push(...brokenIf(run.exitCode !== usual, `an interrupted call was not made again: ${run.stderr}`));
  } else {
    broken.push(...passedOver(run, usual), ...goneOn(run));
    if (!removes) broken.push(...straysIn(place, strays).map((file) => `left lying: ${file}`));
    broken.push(...(await scenario.goOn(place)));
  }
  const isOfReserve = removes && hit.every(({ text }) => reservePath.test(text));
  if (!isOfReserve) broken.push(...straysIn(place).map((file) => `left lying when all was done: ${file}`));
  const where = hit.map(({ text }) => text.replaceAll(`${place.root}/`, '')).join('; ');
  tally.hit(run.exitCode);
  tally.breaks(`${injectionText(injection)} [${where}]`, broken);
  return true;
}

/** A journal that failed once is not asked for the same again, unless room was kept for it (docs/faults.md, P08, P10). */
export function goneOn({ calls }: Pick<TracedRun, 'calls'>): readonly string[] {
  const failed = calls.find(
    ({ call, isInjected, text }) =>
      isInjected && isJournalCall(call, text) && !(call === 'write' && text.includes('ENOSPC')),
  );
  if (failed === undefined) return [];
  // Of another thread one may be under way.
  const isAgain = ({ call, text, beganAt }: TracedCall) =>
    call === failed.call && isJournalCall(call, text) && beganAt > failed.endedAt;
  return brokenIf(calls.some(isAgain), `a journal whose ${failed.call} had failed was used again`);
}

/** Each request's intent was written, then synced, then the request was (docs/faults.md, P07). */
export function sentUnsynced({ calls }: Pick<TracedRun, 'calls'>): readonly string[] {
  const journal = calls.filter(({ call, text }) => isJournalCall(call, text) && !/ = -1 E/.test(text));
  const isOnDisk = (key: string, before: number) =>
    journal
      .filter(({ call, text }) => call === 'write' && text.includes(key))
      .some(({ endedAt: writtenAt }) =>
        journal.some(({ call, beganAt, endedAt }) => call !== 'write' && beganAt > writtenAt && endedAt < before),
      );
  return keysSentIn(calls)
    .filter(({ key, beganAt }) => !isOnDisk(key, beganAt))
    .map(({ key }) => `the request with key ${key} was sent before its intent was on disk`);
}

/**
 * That the calls show what was sent: of none that they do not show could be judged when it was.
 *
 * @throws {Error} when the service had a create whose key is in no call that sends
 */
export function expectShown(calls: readonly TracedCall[], requests: readonly LoggedRequest[]): void {
  const shown = new Set(keysSentIn(calls).map(({ key }) => key));
  const isUnshown = ({ method, key }: LoggedRequest) => method === 'POST' && !shown.has(key ?? '');
  if (requests.some(isUnshown)) throw new Error('strace does not show what is sent');
}

/** The keys of the creates that were sent, and when each was. */
function keysSentIn(calls: readonly TracedCall[]): readonly { readonly key: string; readonly beganAt: number }[] {
  const sent = calls.filter(({ call, text }) => call.startsWith('write') && text.includes('POST /'));
  return sent.flatMap(({ text, beganAt }) =>
    [...text.matchAll(/idempotency-key: \\"(\w+)\\"/gi)].map(([, key = '']) => ({ key, beganAt })),
  );
}

function isJournalCall(call: string, text: string): boolean {
  return ['write', 'fdatasync', 'fsync'].includes(call) && text.includes('.journal>');
}

/** A write, a sync or a rename that failed, where the run ended as if it had not. */
export function passedOver(
  { calls, exitCode }: Pick<TracedRun, 'calls' | 'exitCode'>,
  usual: number,
): readonly string[] {
  const payload = (text: string) => text.slice(0, text.lastIndexOf(') = '));
  // In the room that was kept for it (docs/faults.md, P08).
  const wasMadeGood = ({ call, text }: TracedCall) =>
    isJournalCall(call, text) &&
    text.includes('ENOSPC') &&
    calls.some((other) => !other.isInjected && payload(other.text) === payload(text));
  const failed = calls.filter(
    (each) =>
      each.isInjected && each.isInside && isEssential(each.call) && !isOptional(each.text) && !wasMadeGood(each),
  );
  return failed.length > 0 && exitCode === usual ? [`${failed[0]?.call} failed, and it ended with ${usual}`] : [];
}

/** The room that a journal keeps for its end (docs/decisions.md, journal-11). */
const reservePath = /\.journal\.tmp-listctl-/;

/** A run goes on without its reserve, and without the messages that `runs show` adds to failed rows. */
function isOptional(text: string): boolean {
  return reservePath.test(text) || text.includes('.errors>');
}

function isEssential(call: string): boolean {
  return essential.some((name) => (typeof name === 'string' ? name === call : name.test(call)));
}

function inputOf({ input }: Scenario): { readonly input?: string } {
  return input === undefined ? {} : { input };
}

const diskKilobytes = 64;

/** Runs a scenario once for each number of pages that are free on the disk, until it has room for all of it. */
export async function tortureOnSmallDisk(scenario: Scenario): Promise<TortureEnd> {
  const beside = mkdtempSync(join(tmpdir(), 'listctl-torture-'));
  const root = join(beside, 'place');
  mkdirSync(root, { mode: 0o700 });
  if (!mountDisk(root, diskKilobytes)) throw new Error(`no disk can be mounted at ${root}`);
  const tally = new Tally(scenario.name);
  try {
    await using service = await listService(scenario.honorsKeys ?? false);
    const place = makePlace(root, beside, service);
    await scenario.prepare(place);
    const putBack = place.keep();
    const { bavail: mostPages } = statfsSync(root);
    let hasRoom = false;
    for (let pages = 0; pages <= mostPages && !hasRoom; pages += 1) {
      putBack();
      hasRoom = !(await runOnFullDisk(scenario, place, pages, tally));
    }
    if (!hasRoom) tally.breaks('an empty disk', ['it does not fit on it, so nothing was seen to succeed']);
  } finally {
    unmountDisk(root);
    rmSync(beside, { recursive: true });
  }
  return tally.end();
}

async function runOnFullDisk(scenario: Scenario, place: Place, pages: number, tally: Tally): Promise<boolean> {
  const { bavail, bsize } = statfsSync(place.root);
  const filler = join(place.root, 'filler');
  writeFileSync(filler, Buffer.alloc((bavail - pages) * bsize));
  const { usual = 0, input } = scenario;
  const [judge, strays] = [scenario.judge(place), straysIn(place)];
  const run = await place.run(scenario.words(place), { input });
  const broken = [
    ...alwaysBroken(run, usual, scenario.words(place)),
    ...(await judge(run)),
    ...straysIn(place, strays).map((file) => `left lying: ${file}`),
  ];
  rmSync(filler);
  broken.push(...(await scenario.goOn(place)));
  broken.push(...straysIn(place).map((file) => `left lying when all was done: ${file}`));
  const fault = `${pages} pages free`;
  tally.breaks(fault, broken);
  if (run.exitCode === usual) return false;
  tally.hit(run.exitCode);
  return true;
}
