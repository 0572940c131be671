/**
 * Starts the program from compiled code, where an earlier run left some.
 *
 * Most of a short run is V8 compiling the bundle anew: its code cache takes 4 ms off the 39 of one GET on Node 20. The
 * cache is code, and whoever can write it runs as the user: so it counts only as a file of the user's own that nobody
 * else may write. V8 itself refuses one of another version or other flags.
 *
 * Imports nothing of ours: the program is what this loads.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { createRequire, Module } from 'node:module';
import { dirname, join } from 'node:path';
import { Script } from 'node:vm';

/** The program, as the front door needs it. */
interface Program {
  run(process: NodeJS.Process): Promise<void>;
}

/** Runs the bundled program in the real process; `file` is its absolute path. */
export async function start(process: NodeJS.Process, file: string): Promise<void> {
  const source = readFileSync(file, 'utf8');
  const cacheFile = cacheFileFor(source, process);
  const cachedData = cacheFile === undefined ? undefined : readOwn(cacheFile, process);
  const script = new Script(Module.wrap(source), { filename: file, ...(cachedData && { cachedData }) });
  await load(script, file).run(process);
  const isKept = cachedData !== undefined && script.cachedDataRejected === false;
  if (cacheFile !== undefined && !isKept && hasRunMuch(process))
    keep(cacheFile, script.createCachedData(), process.pid);
}

/** Runs the script as the CommonJS module that it is, so that its chunks find it by its file. */
function load(script: Script, file: string): Program {
  const module = new Module(file);
  const require = createRequire(file);
  module.filename = file;
  require.cache[file] = module;
  script.runInThisContext()(module.exports, require, module, file, dirname(file));
  module.loaded = true;
  return module.exports;
}

/**
 * Where the code of this build is kept for this Node: in the user's cache folder (XDG Base Directory Specification, or
 * the platform's own). Undefined where there is none, and where Node's own variable says not to.
 */
function cacheFileFor(source: string, { env, platform, version, arch }: NodeJS.Process): string | undefined {
  // The build writes the hash of the code into its last line: V8 looks at the length of a source alone.
  const hash = /\n\/\/ ([0-9a-f]{32})\n$/.exec(source.slice(-40))?.[1];
  const folder = env['XDG_CACHE_HOME'] || cacheFolderOf(platform, env);
  if (env['NODE_DISABLE_COMPILE_CACHE'] || hash === undefined || !folder) return undefined;
  return join(folder, 'listctl', `${hash}-${version}-${arch}.code`);
}

function cacheFolderOf(platform: NodeJS.Platform, { HOME: home, LOCALAPPDATA }: NodeJS.ProcessEnv): string | undefined {
  if (platform === 'win32') return LOCALAPPDATA;
  if (!home) return undefined;
  return platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
}

function readOwn(file: string, process: NodeJS.Process): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'r');
    const { uid, mode } = fstatSync(descriptor);
    const isOwn = process.geteuid === undefined || (uid === process.geteuid() && (mode & 0o022) === 0);
    return isOwn ? readFileSync(descriptor) : undefined;
  } catch {
    // None yet, or none that can be read: the program compiles, as it does the first time.
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Whether the run has compiled what commands have in common: a page of help, a completion or an error has not. */
function hasRunMuch({ exitCode, argv }: NodeJS.Process): boolean {
  return exitCode === 0 && !argv.some((word) => /^(-h|--help|help|-V|--version|completion|__complete)$/.test(word));
}

/** Keeps the code for later runs, whole or not at all. */
function keep(file: string, code: Buffer, processId: number): void {
  const unfinished = `${file}.${processId}`;
  try {
    // Not `recursive`: below a folder that is there and takes none, as /proc, Node would try for ever.
    for (const folder of [dirname(dirname(file)), dirname(file)]) {
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
    }
    const descriptor = openSync(unfinished, 'wx', 0o600);
    try {
      writeWhole(descriptor, code);
      renameSync(unfinished, file);
    } catch {
      unlinkSync(unfinished);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // A full or read-only disk costs later runs a few milliseconds, and this one nothing.
  }
}

function writeWhole(descriptor: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
  fsyncSync(descriptor);
}
