/**
 * Runs a script of ours that is written in TypeScript, on a Node that cannot: `node run-typescript.js <script.ts> [argument …]`.
 *
 * The script runs in this very process, so its exit code, its signals and its errors are the process's own.
 */
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

const script = process.argv[2];
if (script === undefined) {
  process.stderr.write('usage: node run-typescript.js <script.ts> [argument …]\n');
  process.exitCode = 2;
} else {
  const source = resolve(script);
  // Inside node_modules, so that the script finds its dependencies; a directory for each process, so that two can run.
  const directory = join(import.meta.dirname, '../../node_modules/.cache/run-typescript', String(process.pid));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const bundled = await bundle(source, directory);
  // In place: `import { argv } from 'node:process'` holds this very array.
  process.argv.splice(1, 2, source);
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(bundled).href);
}

async function bundle(source, directory) {
  const bundled = await rolldown({
    input: { script: source },
    platform: 'node',
    // Dependencies stay where they are: what is neither a path nor rolldown's own.
    external: /^(?![./\0]|@oxc-project\/runtime)/,
    transform: { target: 'node20' },
    plugins: [{ name: 'where-the-source-is', transform: { filter: { code: 'import.meta' }, handler: placeOf } }],
  });
  await bundled.write({ dir: directory, format: 'esm', entryFileNames: '[name].js', sourcemap: true });
  await bundled.close();
  return join(directory, 'script.js');
}

/** A bundle lies elsewhere than its sources, which find their neighbors through import.meta. */
function placeOf(code, id) {
  const place = { url: pathToFileURL(id).href, filename: id, dirname: join(id, '..') };
  const placed = code.replaceAll(/\bimport\.meta\.(url|filename|dirname)\b/g, (_, member) =>
    JSON.stringify(place[member]),
  );
  // Every line stays in its place, so the map that there is holds.
  return { code: placed, map: null };
}
