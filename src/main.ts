/** From a command line to an exit code. */
import packageJson from '../package.json' with { type: 'json' };
import type { Context } from './cli/command.ts';
import { exitCodeOf, exitCodes, Stopped } from './core/errors.ts';
import { endProcess, type Host, hostFromProcess } from './core/host.ts';
import { reportError, runProgram } from './program.ts';

/** Runs listctl in the real process, and ends it. */
export async function run(process: NodeJS.Process): Promise<void> {
  const host = await hostFromProcess(process);
  endProcess(process, await main(process.argv.slice(2), host), host);
}

/** Runs one command line and returns its exit code. Never rejects, and may be called several times in a process. */
export async function main(
  argv: readonly string[],
  host: Host,
  more: Pick<Context, 'transport'> = {},
): Promise<number> {
  const { version } = packageJson;
  const errors: Context['errors'] = { asJson: undefined, color: 'auto' };
  const ending: Context['ending'] = { is: 'done' };
  const context: Context = { host, words: argv, version, ending, errors, ...more };
  try {
    if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-V')) {
      // Without the command tree: scripts ask for it.
      await host.stdout.write(`${version}\n`);
    } else {
      await runProgram(context);
    }
    return exitCodes[ending.is];
  } catch (error) {
    return exitCodeFor(error, context);
  }
}

async function exitCodeFor(error: unknown, context: Context): Promise<number> {
  const exit = exitCodeOf(error, context.host.signal);
  try {
    if (!(error instanceof Stopped)) await reportError(error, exit, context);
  } catch {
    // stderr is not writable either; the exit code remains.
  }
  return exit;
}
