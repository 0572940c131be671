/** Runs a token command: a program of the user that prints the token. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { Failure } from '../core/errors.ts';
import { createHider } from '../core/hide.ts';
import { type Host, type Output, withoutToken } from '../core/host.ts';
import { printable } from '../core/text.ts';
import { shortestToken } from '../settings/token.ts';

const limits = { ms: 60_000, bytes: 65_536 } as const;

/** Delays its stderr, so that a token that is printed at the same time is known and can be masked. */
const stderrDelayMs = 200;

type TokenCommandHost = Pick<Host, 'clock' | 'env' | 'killGroup' | 'platform' | 'signal'> & {
  readonly stderr: Pick<Output, 'isTTY' | 'write'>;
};

/**
 * Runs the command in the user's shell and returns its output, trimmed. Its stderr is printed without the token and
 * control characters. It has no stdin, and background processes are not waited for.
 *
 * @throws {Failure} credentials, if it fails, takes too long or prints no token; never with its output
 */
export async function runTokenCommand(
  command: string,
  name: string,
  host: TokenCommandHost,
  limitMs: number = limits.ms,
): Promise<string> {
  const { code, signal, output, error, isLate } = await collect(command, host, limitMs);
  host.signal.throwIfAborted();
  const hint = 'run it yourself to see the error';
  const fail = (problem: string, cause?: unknown) => new Failure('credentials', `${name} ${problem}`, { hint, cause });
  if (error !== undefined) throw fail('could not be started', error);
  if (isLate) throw fail(`printed no token within ${limitMs / 1000} s`);
  if (code !== 0) throw fail(code === null ? `was ended by ${signal}` : `failed with exit code ${code}`);
  if (output.length > limits.bytes) throw fail('printed more than a token');
  if (output === '') throw fail('printed nothing');
  return output;
}

async function collect(command: string, host: TokenCommandHost, limitMs: number) {
  const { clock, signal, stderr } = host;
  // A process group can be killed as a whole, but could not ask for a passphrase on the terminal.
  const hasGroup = host.platform !== 'win32' && !stderr.isTTY;
  const child = startShell(command, host, hasGroup);
  const output = collectText(child.stdout);
  const relayed = relayStderr(child.stderr, host, () => output().trim());
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
    const exit = await exitOf(child);
    if (!isLate && !signal.aborted) await drained(child.stdout, child.stderr);
    return { ...exit, output: output().trim(), isLate };
  } finally {
    endLimit();
    signal.removeEventListener('abort', kill);
    child.stdout.destroy();
    child.stderr.destroy();
    await relayed.end();
  }
}

function startShell(command: string, { env, platform }: TokenCommandHost, hasGroup: boolean) {
  // Without the variable a token command that runs listctl does not run itself.
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

function exitOf(
  child: ChildProcess,
): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly error?: unknown }> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: null, signal: null, error }));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
}

/**
 * Resolves when the output is read, after two turns of the event loop without data: background processes may keep the
 * pipes open forever.
 */
async function drained(...streams: Readable[]): Promise<void> {
  let quietTurns = 0;
  const restart = () => {
    quietTurns = 0;
  };
  for (const stream of streams) stream.on('data', restart);
  for (; quietTurns < 2; quietTurns += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Collects the text of a stream, up to a little over the limit. */
function collectText(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (sizeBytes <= limits.bytes) chunks.push(chunk);
    sizeBytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString();
}

/** Prints the command's stderr, with a delay; `token` returns its output so far. */
function relayStderr(from: Readable, { clock, stderr }: TokenCommandHost, token: () => string) {
  const pending = { earlier: '', latest: '' };
  let written: Promise<void> = Promise.resolve();
  const show = (text: string) => {
    if (text === '') return;
    const secret = token();
    const masked = secret.length < shortestToken ? text : createHider(secret)(text);
    const lines = masked.split(/\r?\n/).map(printable);
    written = written.then(() => stderr.write(lines.join('\n'))).catch(() => {});
  };
  const stop = clock.every(stderrDelayMs, () => {
    show(pending.earlier);
    Object.assign(pending, { earlier: pending.latest, latest: '' });
  });
  from.setEncoding('utf8').on('data', (chunk: string) => {
    pending.latest += chunk;
  });
  const end = () => {
    stop();
    show(pending.earlier + pending.latest);
    return written;
  };
  return { end };
}
