/** A disk of 64 kB that is nearly full: writes on it are cut short, and fail (tests-3). */
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountDisk, unmountDisk } from '../support/small-disk.ts';
import { listService } from './list-service.ts';
import { makePlace, type Place } from './place.ts';
import { alwaysBroken, type Scenario, straysIn } from './scenario.ts';
import { Tally, type TortureEnd } from './tally.ts';

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

/** Gives whether the disk was too full. */
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
