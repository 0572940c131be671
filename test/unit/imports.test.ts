/** Which module may import which: docs/architecture.md, "Layers". Each rule is seen to fail on a planted import. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../src');

const lower = ['cli', 'services', 'api', 'rows', 'settings', 'output', 'core'];

/** The layers in `src/`, each with the layers that it may import besides itself. */
const layers: Readonly<Record<string, readonly string[]>> = {
  main: ['program', 'cli', 'core'],
  program: ['commands', 'cli', 'core'],
  commands: ['apply', 'bulk', ...lower, 'server'],
  apply: ['bulk', ...lower],
  bulk: lower,
  cli: ['services', 'api', 'settings', 'output', 'server', 'core'],
  services: ['api', 'core'],
  api: ['core'],
  rows: ['core'],
  settings: ['core'],
  output: ['core'],
  server: ['core'],
  core: [],
};

/** Only the types of the domain: a view shows values that others make. */
const typeImports: Readonly<Record<string, readonly string[]>> = { output: ['api', 'rows', 'bulk', 'apply'] };

/** Each package, and what only few modules may import, with the modules that may. */
const packages: Readonly<Record<string, RegExp>> = {
  commander: /^(program|cli\/|commands\/)/,
  undici: /^api\/undici/,
  'undici/lib/dispatcher/client.js': /^api\/undici/,
  conf: /^settings\/write-settings/,
  chalk: /^output\/view/,
  'cli-table3': /^output\/table/,
  'string-width': /^output\/table/,
  'cli-progress': /^output\/progress\b/,
  'lossless-json': /^core\/json\b/,
  yaml: /^core\/yaml/,
  '@jmespath-community/jmespath': /^output\/query/,
  '@inquirer/confirm': /^cli\/prompts/,
  '@inquirer/input': /^cli\/prompts/,
  '@inquirer/password': /^cli\/prompts/,
  lmdb: /^server\/store/,
  'node:http': /^(api|server)\//,
  'node:https': /^(api|server)\//,
  // Taken from Host, so that tests need no mocks.
  'node:process': /^$/,
  'node:timers': /^$/,
  'node:timers/promises': /^$/,
};

/** The imports of a module that it may not have. */
function violations(module: string, source: string): readonly string[] {
  return importsIn(source)
    .filter(({ specifier, isType }) =>
      specifier.startsWith('.') ? !isLayered(module, specifier, isType) : !isPackaged(module, specifier, isType),
    )
    .map(({ specifier }) => `${module} may not import ${specifier}`);
}

function isLayered(module: string, specifier: string, isType: boolean): boolean {
  const layer = layerOf(module);
  const target = layerOf(join(module, '..', specifier));
  if (target === '..' || target === layer || layers[layer]?.includes(target)) return true;
  return isType && (typeImports[layer]?.includes(target) ?? false);
}

function isPackaged(module: string, specifier: string, isType: boolean): boolean {
  const isFree = isType || (specifier.startsWith('node:') && !(specifier in packages));
  return isFree || (packages[specifier]?.test(module) ?? false);
}

function layerOf(module: string): string {
  return /^(\.\.|\w+)/.exec(module)?.[0] ?? '';
}

function importsIn(source: string): readonly { specifier: string; isType: boolean }[] {
  const statements = source.matchAll(/^(?:import|export)\s([^;']*?)\bfrom\s+'([^']+)'|import\('([^']+)'\)/gm);
  return [...statements].map(([, names = '', from, dynamic]) => {
    const listed = names
      .replace(/[{}]/g, '')
      .split(',')
      .filter((name) => name.trim() !== '');
    const isType = names.startsWith('type ') || (listed.length > 0 && listed.every((name) => /^\s*type\s/.test(name)));
    return { specifier: from ?? dynamic ?? '', isType: isType && from !== undefined };
  });
}

const modules = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));

test('every module imports what its layer may', () => {
  expect(modules.length).toBeGreaterThan(100);
  expect(modules.flatMap((module) => violations(module, readFileSync(join(root, module), 'utf8')))).toEqual([]);
});

test('a kind of service is known to services/index.ts alone', () => {
  const outside = modules.filter((module) => !/^services\/(graph\/|index)/.test(module));
  const reaching = outside.filter((module) =>
    importsIn(readFileSync(join(root, module), 'utf8')).some(({ specifier }) => /services\/graph\//.test(specifier)),
  );
  const asking = outside
    .filter((module) => !/^(server|settings)\//.test(module))
    .filter((module) => /'graph'/.test(readFileSync(join(root, module), 'utf8')));

  expect([reaching, asking]).toEqual([[], []]);
});

test('items get loads nothing of Microsoft Graph', () => {
  const closure = new Set(['main.ts', 'commands/items/items.ts', 'commands/items/get.ts', 'api/http.ts']);
  for (const module of closure) {
    const statements = readFileSync(join(root, module), 'utf8').matchAll(
      /^(?:import|export)\s(?!type\b)[^;']*?\bfrom\s+'(\.[^']+\.ts)'/gm,
    );
    for (const [, specifier = ''] of statements) closure.add(join(module, '..', specifier));
  }

  expect(closure.size).toBeGreaterThan(30);
  expect([...closure].filter((module) => /^(services|server)\/graph\//.test(module))).toEqual([]);
});

test.each([
  ['core/text.ts', "import { drawTable } from '../output/table.ts';"],
  ['api/client.ts', "import { storeFor } from '../server/store.ts';"],
  ['server/server.ts', "import { getRequest } from '../services/list-item/items.ts';"],
  ['rows/read.ts', "import type { Task } from '../bulk/task.ts';"],
  ['output/plan.ts', "import { makePlan } from '../apply/plan.ts';"],
  ['bulk/import.ts', "import { openPlan } from '../apply/open.ts';"],
  ['cli/session.ts', "export { setUpApply } from '../commands/apply.ts';"],
  ['commands/init.ts', "const { main } = await import('../main.ts');"],
  ['bulk/send.ts', "import { Pool } from 'undici';"],
  ['output/item.ts', "import { request } from 'node:http';"],
  ['settings/token.ts', "import process from 'node:process';"],
  ['rows/csv.ts', "import leftPad from 'left-pad';"],
])('%s may not say: %s', (module, source) => {
  expect(violations(module, source)).toHaveLength(1);
});

test.each([
  ['output/plan.ts', "import type { Plan } from '../apply/plan.ts';"],
  ['output/plan.ts', "import { type Plan, type Step } from '../apply/plan.ts';"],
  ['main.ts', "import packageJson from '../package.json' with { type: 'json' };"],
])('%s may say: %s', (module, source) => {
  expect(violations(module, source)).toEqual([]);
});
