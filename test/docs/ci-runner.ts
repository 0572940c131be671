/**
 * Runs the recipes of docs/ci.md as their CI systems would: each job in a clone and a home of its own, with the
 * artifacts, retries and cancellation that the system has, as far as the recipes use them.
 */
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process, { env } from 'node:process';
import { execa } from 'execa';
import { parseAllDocuments } from 'yaml';
import { listctlFile, testNode } from '../support/listctl.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** The nth fenced block of a language below a heading path, such as `['Load rows once', 'GitHub Actions']`. */
export function fencedBlock(markdown: string, headings: readonly string[], language: string, nth = 1): string {
  let at = 0;
  for (const heading of headings) {
    at = markdown.indexOf(`# ${heading}\n`, at);
    if (at === -1) throw new Error(`no heading "${heading}"`);
  }
  const blocks = markdown.slice(at).matchAll(new RegExp(`^ *\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm'));
  const [, body] = [...blocks][nth - 1] ?? [];
  if (body === undefined) throw new Error(`no ${language} block below ${headings.join(', ')}`);
  return body;
}

export interface JobEnd {
  /** Of its first step that failed; 0 where none did. */
  readonly exitCode: number;
  readonly log: string;
}

export interface RunOptions {
  /** Of the workflow run or pipeline; another number is another one. */
  readonly run: number;
  /** From 1; greater for "Re-run failed jobs" or `retry`. */
  readonly attempt?: number;
  readonly inputs?: Readonly<Record<string, string>>;
  /** The jobs of a matrix or of `parallel` that run, from 1; all of them by default. */
  readonly only?: readonly number[];
  readonly signal?: AbortSignal;
  /** Ends all processes of the jobs at once, as the loss of a runner does. */
  readonly kill?: AbortSignal;
  /** How long `timeout` in a recipe lets its command run, in seconds, in place of what the recipe says. */
  readonly limitSeconds?: number;
  /** The commit that the jobs check out; the newest one by default. */
  readonly commit?: string;
  /** Called when the clone is ready, before the job's own steps. */
  readonly prepare?: (clone: string) => void;
}

/** A hosted repository with its CI: branches, artifacts and volumes outlive the jobs. */
export class Forge implements AsyncDisposable {
  readonly #directory: string;
  readonly #serviceUrl: string;
  readonly #dispose: () => PromiseLike<void>;
  #jobs = 0;
  readonly #artifacts: string[] = [];

  private constructor(directory: string, serviceUrl: string, dispose: () => PromiseLike<void>) {
    this.#directory = directory;
    this.#serviceUrl = serviceUrl;
    this.#dispose = dispose;
  }

  /** Makes an empty repository whose jobs reach the service at this address. */
  static async create(serviceUrl: string): Promise<Forge> {
    const { path, [Symbol.asyncDispose]: dispose } = await temporaryDirectory();
    for (const name of ['artifacts', 'bin', 'volumes']) mkdirSync(join(path, name));
    const programs = {
      listctl: `exec '${testNode}' '${listctlFile}' "$@"`,
      npm: 'exit 0',
      // With the flags of the recipe, and a limit of the test.
      timeout: `for flag; do case $flag in -*) flags="$flags $flag"; shift ;; *) break ;; esac; done
shift; exec /usr/bin/timeout $flags "\${TEST_LIMIT:-60}" "$@"`,
    };
    for (const [name, line] of Object.entries(programs)) {
      writeFileSync(join(path, 'bin', name), `#!/bin/sh\n${line}\n`);
      chmodSync(join(path, 'bin', name), 0o755);
    }
    const forge = new Forge(path, serviceUrl, () => dispose());
    await forge.git(['init', '--quiet', '--bare', '--initial-branch=main', forge.repository], path);
    await forge.git(['clone', '--quiet', forge.repository, join(path, 'author')], path);
    return forge;
  }

  get repository(): string {
    return join(this.#directory, 'origin.git');
  }

  /** The author's clone: files are changed there and pushed. */
  get author(): string {
    return join(this.#directory, 'author');
  }

  /** Replaces the files of a branch by a new commit; without files, deletes the branch. */
  async setBranch(branch: string, files?: Readonly<Record<string, string>>): Promise<void> {
    const ref = `refs/heads/${branch}`;
    if (files === undefined) {
      await this.git(['update-ref', '-d', ref], this.repository);
      return;
    }
    const clone = this.#newDirectory();
    await this.git(['clone', '--quiet', '--branch', branch, this.repository, '.'], clone);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(clone, name), text);
    await this.git(['commit', '--quiet', '--all', '-m', 'change'], clone);
    await this.git(['push', '--quiet', 'origin', branch], clone);
  }

  fileOf(branch: string, name: string): Promise<string> {
    return this.git(['show', `refs/heads/${branch}:${name}`], this.repository);
  }

  /** The newest artifact with files of listctl. */
  artifact(): string {
    return this.#artifacts.findLast((directory) => existsSync(join(directory, '.listctl'))) ?? refuse('artifact');
  }

  /** The directory behind a volume of Kubernetes. */
  volume(name: string): string {
    const directory = join(this.#directory, 'volumes', name);
    mkdirSync(directory, { recursive: true });
    return directory;
  }

  /** Lets the repository take pushes, or refuse them. */
  allowPushes(isAllowed: boolean): void {
    const hook = `#!/bin/sh\nexit ${isAllowed ? 0 : 1}\n`;
    writeFileSync(join(this.repository, 'hooks/pre-receive'), hook, { mode: 0o755 });
  }

  /** Commits files to main and pushes them. Gives the commit. */
  async push(files: Readonly<Record<string, string>>): Promise<string> {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.author, name), text);
    await this.git(['switch', '--quiet', '-C', 'main'], this.author);
    await this.git(['add', '--all'], this.author);
    await this.git(['commit', '--quiet', '-m', 'change'], this.author);
    await this.git(['push', '--quiet', 'origin', 'main'], this.author);
    return this.git(['rev-parse', 'HEAD'], this.author);
  }

  async git(words: readonly string[], cwd: string): Promise<string> {
    const identity = ['-c', 'user.name=author', '-c', 'user.email=author@localhost'];
    const { stdout } = await execa('git', [...identity, ...words], { cwd });
    return stdout;
  }

  async type(lines: string, environment: Readonly<Record<string, string>>): Promise<JobEnd> {
    const identity = Object.fromEntries(
      ['AUTHOR', 'COMMITTER'].flatMap((who) => [
        [`GIT_${who}_NAME`, 'author'],
        [`GIT_${who}_EMAIL`, 'author@localhost'],
      ]),
    );
    const { exitCode, all } = await execa('bash', ['-e', '-c', lines], {
      ...{ cwd: this.author, env: { ...this.#environment(this.author), ...identity, ...environment } },
      ...{ extendEnv: false, reject: false, all: true, stdin: 'ignore' },
    });
    return { exitCode: exitCode ?? 1, log: all };
  }

  /** Runs every job of a GitHub workflow, or of its matrix, side by side. */
  async github(workflow: string, options: RunOptions): Promise<readonly JobEnd[]> {
    const [{ jobs }] = this.#parse(workflow) as [GithubWorkflow];
    const [job] = Object.values(jobs);
    if (job === undefined) throw new Error('no job');
    const shards = options.only ?? job.strategy?.matrix['shard'] ?? [1];
    return Promise.all(shards.map((shard) => this.#githubJob(job, shard, options)));
  }

  async #githubJob(job: GithubJob, shard: number, options: RunOptions): Promise<JobEnd> {
    const { run, attempt = 1, inputs = {}, signal } = options;
    const clone = this.#newDirectory();
    const values: Record<string, string> = {
      ...{ 'matrix.shard': `${shard}`, 'github.run_id': `${run}`, 'github.run_attempt': `${attempt}` },
      ...{ 'secrets.LISTCTL_TOKEN': token, 'github.server_url': 'https://forge.example', 'github.repository': 'a/b' },
      ...Object.fromEntries(Object.entries(inputs).map(([name, value]) => [`inputs.${name}`, value])),
    };
    const filled = (text: string) =>
      text.replace(/\$\{\{ *([\w.]+) *\}\}/g, (_, name: string) => values[name] ?? refuse(name));
    const filledAll = (texts: Readonly<Record<string, unknown>> = {}) =>
      Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filled(String(text))]));
    const environment = {
      ...this.#environment(clone, options),
      ...{ GITHUB_RUN_ATTEMPT: `${attempt}`, GITHUB_RUN_ID: `${run}`, ...filledAll(job.env) },
    };
    let end: JobEnd = { exitCode: 0, log: '' };
    for (const step of job.steps) {
      const isDue = step.if === 'always()' || (end.exitCode === 0 && signal?.aborted !== true);
      if (!isDue) continue;
      if (step.uses !== undefined) {
        await this.#action(step.uses, filledAll(step.with), clone, options);
        continue;
      }
      const script = join(this.#directory, `step-${this.#jobs++}.sh`);
      writeFileSync(script, filled(step.run ?? ''));
      const ended = await this.#run(['bash', '-e', script], clone, { ...environment, ...filledAll(step.env) }, options);
      end = { exitCode: end.exitCode || ended.exitCode, log: end.log + ended.log };
    }
    return end;
  }

  async #action(name: string, inputs: Readonly<Record<string, string>>, clone: string, options: RunOptions) {
    const action = name.replace(/@.*/, '');
    const paths = (inputs['path'] ?? '').trim().split('\n');
    switch (action) {
      case 'actions/checkout':
        await this.#checkout(clone, options, ['-B', 'main']);
        return;
      case 'actions/setup-node':
        return;
      case 'actions/upload-artifact':
        this.#keep(clone, `github-${options.run}-${inputs['name']}`, paths);
        return;
      default:
        throw new Error(`unknown action ${name}`);
    }
  }

  /** Runs a job of GitLab CI, all of its `parallel` instances side by side, each with the retries that it has. */
  async gitlab(configuration: string, name: string, options: RunOptions): Promise<readonly JobEnd[]> {
    const [jobs] = this.#parse(configuration) as [Readonly<Record<string, GitlabJob>>];
    const own = jobs[name] ?? refuse(name);
    const base: Partial<GitlabJob> = own.extends === undefined ? {} : (jobs[own.extends] ?? refuse(own.extends));
    const job: GitlabJob = { ...base, ...own, variables: { ...base.variables, ...own.variables } };
    const instances = options.only ?? Array.from({ length: job.parallel ?? 1 }, (_, index) => index + 1);
    return Promise.all(
      instances.map(async (index) => {
        let end = await this.#gitlabJob(job, index, options);
        for (let left = job.retry ?? 0; left > 0 && end.exitCode !== 0; left -= 1) {
          end = await this.#gitlabJob(job, index, options);
        }
        return end;
      }),
    );
  }

  async #gitlabJob(job: GitlabJob, index: number, options: RunOptions): Promise<JobEnd> {
    const clone = this.#newDirectory();
    const predefined: Record<string, string> = {
      ...{ CI_NODE_INDEX: `${index}`, CI_NODE_TOTAL: `${job.parallel ?? 1}`, CI_PIPELINE_ID: `${options.run}` },
      ...{ CI_JOB_URL: `https://forge.example/jobs/${this.#jobs}`, LISTCTL_TOKEN: token },
    };
    const filled = (text: string) => text.replace(/\$(CI_\w+)/g, (_, variable: string) => predefined[variable] ?? '');
    const variables = Object.entries(job.variables ?? {}).map(([variable, text]) => [variable, filled(text)]);
    // A runner checks out a commit, not a branch.
    await this.#checkout(clone, options, ['--detach']);
    const environment = { ...this.#environment(clone, options), ...predefined, ...Object.fromEntries(variables) };
    const script = join(this.#directory, `step-${this.#jobs++}.sh`);
    writeFileSync(script, ['set -eo pipefail', ...(job.before_script ?? []), ...job.script].join('\n'));
    const end = await this.#run(['bash', script], clone, environment, options);
    if (job.artifacts !== undefined) this.#keep(clone, `gitlab-${this.#jobs}`, job.artifacts.paths);
    return end;
  }

  /**
   * Runs one pod of a Kubernetes Job. Its volumes are directories; what the ConfigMap holds is in `input`.
   *
   * @param index the completion index, from 0
   */
  async pod(
    manifest: string,
    index: number,
    input: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<JobEnd> {
    const job = this.#parse(manifest).find((each) => (each as KubernetesJob).kind === 'Job') as KubernetesJob;
    const [container] = job.spec.template.spec.containers;
    if (container === undefined) throw new Error('no container');
    let [script = ''] = container.args;
    for (const { name, mountPath } of container.volumeMounts) {
      script = script.replaceAll(`${mountPath}/`, `${this.volume(name)}/`);
    }
    for (const [name, text] of Object.entries(input)) {
      const path = join(this.#directory, 'volumes', 'input', name);
      // Once: another pod may be reading it.
      if (!existsSync(path)) writeFileSync(path, text);
    }
    const variables = container.env.map(({ name, value }) => [name, value ?? token]);
    const home = this.#newDirectory();
    const environment = { ...this.#environment(home), ...Object.fromEntries(variables) };
    return this.#run(
      [...container.command, script],
      home,
      { ...environment, JOB_COMPLETION_INDEX: `${index}` },
      { signal },
    );
  }

  #parse(text: string): unknown[] {
    const here = text.replaceAll('https://lists.example/v1.0', this.#serviceUrl);
    return parseAllDocuments(here).map((document) => document.toJS());
  }

  #newDirectory(): string {
    const directory = join(this.#directory, `job-${this.#jobs++}`, 'work');
    mkdirSync(directory, { recursive: true });
    return directory;
  }

  #environment(clone: string, { limitSeconds }: Partial<RunOptions> = {}): Record<string, string> {
    const home = join(dirname(clone), `home-${basename(clone)}`);
    mkdirSync(home, { recursive: true });
    return {
      ...{ CI: 'true', HOME: home, PATH: `${join(this.#directory, 'bin')}:${env['PATH']}` },
      ...(limitSeconds !== undefined && { TEST_LIMIT: `${limitSeconds}` }),
    };
  }

  async #checkout(clone: string, { commit, prepare }: RunOptions, how: readonly string[]): Promise<void> {
    await this.git(['clone', '--quiet', `file://${this.repository}`, '.'], clone);
    await this.git(['checkout', '--quiet', ...how, commit ?? 'origin/main'], clone);
    prepare?.(clone);
  }

  #keep(clone: string, name: string, paths: readonly string[]): void {
    const directory = join(this.#directory, 'artifacts', name);
    this.#artifacts.push(directory);
    this.#copy(clone, directory, paths);
  }

  #copy(clone: string, directory: string, paths: readonly string[]): void {
    mkdirSync(directory, { recursive: true });
    for (const path of paths) {
      if (existsSync(join(clone, path))) cpSync(join(clone, path), join(directory, path), { recursive: true });
    }
  }

  /** Runs a command. An abort interrupts it, and it alone; 7.5 s later it is terminated, and 2.5 s later killed. */
  async #run(
    [program = '', ...words]: readonly string[],
    cwd: string,
    environment: Record<string, string>,
    { signal, kill }: { readonly signal?: AbortSignal | undefined; readonly kill?: AbortSignal | undefined },
  ): Promise<JobEnd> {
    const running = execa(program, words, {
      ...{ cwd, env: environment, extendEnv: false, reject: false, all: true, stdin: 'ignore' as const },
      // A process group of its own, so that the loss of the runner can end it whole.
      detached: true,
    });
    const killAll = () => running.pid !== undefined && process.kill(-running.pid, 'SIGKILL');
    kill?.addEventListener('abort', killAll, { once: true });
    const timers: NodeJS.Timeout[] = [];
    const cancel = () => {
      running.kill('SIGINT');
      timers.push(
        setTimeout(() => running.kill('SIGTERM'), 7500),
        setTimeout(() => running.kill('SIGKILL'), 10_000),
      );
    };
    if (signal?.aborted) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
    const { exitCode, signal: endedBy, all } = await running;
    for (const timer of timers) clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
    kill?.removeEventListener('abort', killAll);
    return { exitCode: exitCode ?? (endedBy === undefined ? 1 : 128 + constants.signals[endedBy]), log: all };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispose();
  }
}

const token = 'token-of-the-ci';

function refuse(name: string): never {
  throw new Error(`the recipe uses "${name}", which the runner does not know`);
}

interface GithubWorkflow {
  readonly jobs: Readonly<Record<string, GithubJob>>;
}

interface GithubJob {
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly number[]>> };
  readonly env?: Readonly<Record<string, string>>;
  readonly steps: readonly {
    readonly uses?: string;
    readonly run?: string;
    readonly if?: string;
    readonly with?: Readonly<Record<string, string>>;
    readonly env?: Readonly<Record<string, string>>;
  }[];
}

interface GitlabJob {
  readonly extends?: string;
  readonly parallel?: number;
  readonly retry?: number;
  readonly variables?: Readonly<Record<string, string>>;
  readonly before_script?: readonly string[];
  readonly script: readonly string[];
  readonly artifacts?: { readonly paths: readonly string[] };
}

interface KubernetesJob {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly {
          readonly command: readonly string[];
          readonly args: readonly string[];
          readonly env: readonly { readonly name: string; readonly value?: string }[];
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
        }[];
      };
    };
  };
}
