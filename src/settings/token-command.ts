/** A profile's `token-command`: a program of the user's own that prints the token. `import()` this where it is run. */
import { spawn } from 'node:child_process';
import { Failure } from '../errors.ts';
import type { Host } from '../host.ts';

/** How long it may take, and how much it may print: a token is a few kilobytes at most. */
const limits = { ms: 60_000, bytes: 65_536 } as const;

/**
 * Runs the command in the user's shell and gives what it printed, trimmed. What it says on stderr goes to stderr; it
 * has no stdin, which is listctl's, and no `LISTCTL_TOKEN`.
 *
 * @param profile whose command it is, for messages
 * @param limitMs tests wait for less
 * @throws {Failure} credentials, when it fails, takes longer than 60 s or prints nothing; no message repeats its text
 * @throws {Stopped} when the host's signal aborts
 */
export async function runTokenCommand(
  command: string,
  profile: string,
  host: Pick<Host, 'env' | 'platform' | 'signal' | 'stderr'>,
  limitMs: number = limits.ms,
): Promise<string> {
  const { code, signal, printed, fault } = await collect(command, host, limitMs);
  host.signal.throwIfAborted();
  const name = `the token-command of profile ${profile}`;
  const hint = 'run it yourself to see what is wrong; listctl profile set changes it';
  const fail = (what: string, cause?: unknown) => new Failure('credentials', `${name} ${what}`, { hint, cause });
  if (fault !== undefined) throw fail('could not be started', fault);
  if (signal === 'SIGKILL') throw fail(`gave no token within ${limitMs / 1000} s`);
  if (code !== 0) throw fail(code === null ? `was ended by ${signal}` : `failed with exit code ${code}`);
  if (printed.length > limits.bytes) throw fail('printed more than a token');
  const token = printed.toString().trim();
  if (token === '') throw fail('printed nothing');
  return token;
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly printed: Buffer;
  readonly fault?: unknown;
}

function collect(
  command: string,
  { env, platform, signal, stderr }: Pick<Host, 'env' | 'platform' | 'signal' | 'stderr'>,
  limitMs: number,
): Promise<Ended> {
  const { LISTCTL_TOKEN: _, ...childEnv } = env;
  const isWindows = platform === 'win32';
  const shell = isWindows ? env['ComSpec'] || 'cmd.exe' : env['SHELL'] || '/bin/sh';
  const words = isWindows ? ['/d', '/s', '/c', `"${command}"`] : ['-c', command];
  return new Promise((resolve) => {
    const child = spawn(shell, words, {
      env: childEnv,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
      signal,
      windowsVerbatimArguments: isWindows,
    });
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    let passed: Promise<void> = Promise.resolve();
    const end = (ended: Omit<Ended, 'printed'>) => {
      // What it started itself may go on, and must not be waited for.
      child.stdout.destroy();
      child.stderr.destroy();
      void passed.finally(() => resolve({ ...ended, printed: Buffer.concat(chunks) }));
    };
    child.stdout.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= limits.bytes + chunk.length) chunks.push(chunk);
    });
    child.stderr.on('data', (chunk: Buffer) => {
      passed = passed.then(() => stderr.write(chunk)).catch(() => {});
    });
    child.on('error', (fault) => end({ code: null, signal: null, fault }));
    // 'close' comes when its output is read; 'exit' may come before, and alone where a child of it keeps the pipe.
    child.on('close', (code, signalName) => end({ code, signal: signalName }));
    child.on('exit', (code, signalName) => {
      if (signalName === 'SIGKILL') end({ code, signal: signalName });
    });
  });
}
