/**
 * Completes package-lock.json with the packages for other platforms that npm left out, since the registry that it
 * asked does not have them: `node .ci/complete-lock.js`, after a change of dependencies. Without them `npm ci` refuses
 * the lock file, on every platform.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const systems = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

const file = join(import.meta.dirname, '../package-lock.json');
const lock = JSON.parse(readFileSync(file, 'utf8'));

const missing = Object.entries(lock.packages).flatMap(([parent, entry]) =>
  Object.entries(entry.optionalDependencies ?? {}).flatMap(([name, version]) => {
    const place = placeFor(parent, name, version);
    return place === undefined ? [] : [[place, entryFor(name, version, entry.dev === true)]];
  }),
);
const entries = [...Object.entries(lock.packages), ...missing].sort(([one], [other]) => (one < other ? -1 : 1));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(entries) }, null, 2)}\n`);
process.stdout.write(`${missing.length} added\n${missing.map(([place]) => `  ${place}\n`).join('')}`);

/** Where a dependency of `parent` goes that the lock file lacks; undefined if it has it. */
function placeFor(parent, name, version) {
  for (let directory = parent; ; directory = directory.slice(0, Math.max(0, directory.lastIndexOf('/node_modules/')))) {
    const place = directory === '' ? `node_modules/${name}` : `${directory}/node_modules/${name}`;
    const found = lock.packages[place];
    // A range of versions is npm's to judge, and a range that was not found is nothing to guess.
    if (found !== undefined)
      return isExact(version) && found.version !== version ? `${parent}/node_modules/${name}` : undefined;
    if (directory === '') return isExact(version) ? place : undefined;
  }
}

function isExact(version) {
  return /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version);
}

/** npm skips what is for another platform, so it must know which; the authors of such a package say it in its name. */
function entryFor(name, version, isDev) {
  const words = name.split(/[/-]/);
  const os = systems.filter((system) => words.includes(system));
  const cpu = processors.filter((processor) => words.includes(processor));
  if (cpu.length !== 1) throw new Error(`the name of ${name} does not say what it is for`);
  const libc = words.flatMap((word) => (word.startsWith('musl') ? ['musl'] : word.startsWith('gnu') ? ['glibc'] : []));
  return {
    version,
    cpu,
    ...(isDev ? { dev: true } : {}),
    ...(libc.length === 0 ? {} : { libc }),
    optional: true,
    ...(os.length === 0 ? {} : { os }),
  };
}
