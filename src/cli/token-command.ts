/** A token command: a program of the user's own that prints the token. `import()` this where it is run. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { Failure } from '../core/errors.ts';
import { createHider } from '../core/hide.ts';
import { type Host, type Output, withoutToken } from '../core/host.ts';
import { printable } from '../core/text.ts';
import { shortestToken } from '../settings/token.ts';

/** How long it may take, and how much it may print: a token is a few kilobytes at most. */
const limits = { ms: 60_000, bytes: 65_536 } as const;

/** How long, at least, what it says on stderr is kept back, so that a token printed at the same time is known and masked. */
const stderrDelayMs = 200;

/** What running a token command needs of the world. */
type TokenCommandHost = Pick<Host, 'clock' | 'env' | 'killGroup' | 'platform' | 'signal'> & {
  readonly stderr: Pick<Output, 'isTTY' | 'write'>;
};

/**
 * Runs the command in the user's shell and returns what it printed, trimmed. Its stderr goes to stderr, without control
 * characters and without the token it prints. It has no stdin, which is listctl's, and no variable that gives listctl
 * its token. What it leaves in the background goes on and is not waited for.
 *
 * @param name for messages: `LISTCTL_TOKEN_COMMAND`, `the token-command of profile prod`
 * @param limitMs tests wait for less
 * @throws {Failure} credentials, when it fails, takes longer than 60 s or prints nothing; no message repeats its text
 * @throws {Stopped} when the host's signal aborts
 */
export async function runTokenCommand(
  command: string,
  name: string,
  host: TokenCommandHost,
  limitMs: number = limits.ms,
): Promise<string> {
  const { code, signal, printed, fault, isLate } = await collect(command, host, limitMs);
  host.signal.throwIfAborted();
  const hint = 'run it yourself to see the error';
  const fail = (what: string, cause?: unknown) => new Failure('credentials', `${name} ${what}`, { hint, cause });
  if (fault !== undefined) throw fail('could not be started', fault);
  if (isLate) throw fail(`printed no token within ${limitMs / 1000} s`);
  if (code !== 0) throw fail(code === null ? `was ended by ${signal}` : `failed with exit code ${code}`);
  if (printed.length > limits.bytes) throw fail('printed more than a token');
  if (printed === '') throw fail('printed nothing');
  return printed;
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly printed: string;
  readonly isLate: boolean;
  readonly fault?: unknown;
}

async function collect(command: string, host: TokenCommandHost, limitMs: number): Promise<Ended> {
  const { clock, signal, stderr } = host;
  // A group of its own can be ended as a whole, but has no terminal on which the command could ask for a passphrase.
  const hasGroup = host.platform !== 'win32' && !stderr.isTTY;
  const child = startShell(command, host, hasGroup);
  const printed = collectText(child.stdout);
  const said = relay(child.stderr, host, () => printed().trim());
  let isLate = false;
  const kill = () => {
    if (hasGroup && child.pid !== undefined) host.killGroup(child.pid);
    else child.kill('SIGKILL');
  };
  const endLimit = clock.every(limitMs, () => {
    isLate = true;
    kill();
  });
  signal.addEventListener('abort', kill);
  if (signal.aborted) kill();
  try {
    const ended = await exitOf(child);
    if (!isLate && !signal.aborted) await drained(child.stdout, child.stderr);
    return { ...ended, printed: printed().trim(), isLate };
  } finally {
    endLimit();
    signal.removeEventListener('abort', kill);
    child.stdout.destroy();
    child.stderr.destroy();
    await said.end();
  }
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

function startShell(command: string, { env, platform }: TokenCommandHost, hasGroup: boolean): Child {
  // Without its own variable: a command that starts listctl would start itself without end.
  const { LISTCTL_TOKEN_COMMAND: _, ...childEnv } = withoutToken(env);
  const isWindows = platform === 'win32';
  const shell = isWindows ? env['ComSpec'] || 'cmd.exe' : env['SHELL'] || '/bin/sh';
  return spawn(shell, isWindows ? ['/d', '/s', '/c', `"${command}"`] : ['-c', command], {
    env: childEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: hasGroup,
    windowsVerbatimArguments: isWindows,
  });
}

function exitOf(child: Child): Promise<Omit<Ended, 'printed' | 'isLate'>> {
  return new Promise((resolve) => {
    child.on('error', (fault) => resolve({ code: null, signal: null, fault }));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
}

/**
 * Resolves when what was written before the exit has been read: after two turns of the event loop in which nothing
 * came. Not at the end of the pipes, which what runs on in the background may hold open for ever.
 */
async function drained(...streams: Readable[]): Promise<void> {
  let quietTurns = 0;
  const restart = () => {
    quietTurns = 0;
  };
  for (const stream of streams) stream.on('data', restart);
  for (; quietTurns < 2; quietTurns += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Collects what a stream gives, up to a little more than a token may have. */
function collectText(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (sizeBytes <= limits.bytes) chunks.push(chunk);
    sizeBytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString();
}

/** Passes on what the command says on stderr, a little later; `token` is what it has printed until then. */
function relay(
  from: Readable,
  { clock, stderr }: Pick<TokenCommandHost, 'clock' | 'stderr'>,
  token: () => string,
): { readonly end: () => Promise<void> } {
  const held = { before: '', now: '' };
  let written: Promise<void> = Promise.resolve();
  const show = (text: string) => {
    if (text === '') return;
    const secret = token();
    const masked = secret.length < shortestToken ? text : createHider(secret)(text);
    const lines = masked.split(/\r?\n/).map(printable);
    written = written.then(() => stderr.write(lines.join('\n'))).catch(() => {});
  };
  const stop = clock.every(stderrDelayMs, () => {
    show(held.before);
    Object.assign(held, { before: held.now, now: '' });
  });
  from.setEncoding('utf8').on('data', (chunk: string) => {
    held.now += chunk;
  });
  const end = () => {
    stop();
    show(held.before + held.now);
    return written;
  };
  return { end };
}
