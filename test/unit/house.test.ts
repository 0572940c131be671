/**
 * The house's rules, each seen to fail: files that break them are planted in an empty copy of the house, and the
 * linter must say the rule's own sentence, and nothing where nothing is broken. That the real house is clean is
 * `npm run check`'s to say.
 */
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { execa } from 'execa';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = join(import.meta.dirname, '../..');

const ground = [
  'absolute-path',
  'errno',
  'errors',
  'files',
  'hide',
  'item',
  'json',
  'lock',
  'lock-holder',
  'loopback',
  'nearest-name',
  'output-file',
  'private-folder',
  'passwd-home',
  'process-streams',
  'replace-file',
  'until-stopped',
  'yaml',
  'host',
];
const rooms = ['seed', 'bulk', 'rows', 'api', 'output', 'settings', 'service'];

/** What each part of the house may import, apart from itself, and what is said when it imports anything else. */
const layers: Readonly<Record<string, { readonly mayImport: readonly string[]; readonly sentence: string }>> = {
  main: { mayImport: ['program', 'commands', ...rooms, ...ground], sentence: '' },
  program: {
    mayImport: ['commands', ...rooms, ...ground],
    sentence: 'Imports point down: bin, main, program, commands, then the rooms below.',
  },
  commands: {
    mayImport: [...rooms, ...ground],
    sentence: 'Imports point down: a command is started by program, and knows neither it nor main.',
  },
  seed: {
    mayImport: ['bulk', 'rows', ...ground],
    sentence: 'A plan is pure: seed may use bulk and rows, and is handed the rest.',
  },
  bulk: { mayImport: ground, sentence: 'The bulk runner is handed an api; it does not make one.' },
  rows: { mayImport: ground, sentence: 'Rows come out of a file one at a time; nothing is sent or shown here.' },
  api: {
    mayImport: ground,
    sentence: 'The wire is written twice: api shares item, errors and json with service, and no helper.',
  },
  output: { mayImport: ground, sentence: 'A view turns a value into text; it fetches nothing.' },
  settings: {
    mayImport: ground,
    sentence: 'Settings say what a value is and where it came from; they send and show nothing.',
  },
  service: {
    mayImport: ['errno', 'errors', 'files', 'item', 'json', 'private-folder'],
    sentence: 'The wire is written twice: service shares item, errors and json with api, and no helper.',
  },
  ...Object.fromEntries(
    ground.map((part) => [
      part,
      { mayImport: ground, sentence: 'The ground floor carries the house: it imports nothing that stands on it.' },
    ]),
  ),
};

/** The files that are planted: at least one of each part, and each that has a door of its own. */
const places = [
  'src/main.ts',
  'src/program.ts',
  'src/commands/apply.ts',
  'src/commands/items/create.ts',
  'src/commands/prompts.ts',
  ...rooms.map((room) => `src/${room}/a-file.ts`),
  'src/settings/conf-file.ts',
  'src/output/style.ts',
  'src/output/table.ts',
  'src/output/progress-bar.ts',
  'src/output/jmespath.ts',
  'src/rows/csv-records.ts',
  'src/service/store.ts',
  'src/api/undici.ts',
  ...ground.map((part) => `src/${part}.ts`),
];

const wire = { at: /^src\/(api|service)\//, sentence: 'The wire is for src/api and src/service alone.' };
const undici = { at: /^src\/api\/undici\.ts/, sentence: "undici's door is src/api/undici.ts." };
const csvParse = { at: /^src\/rows\/csv-records\.ts/, sentence: "csv-parse's door is src/rows/csv-records.ts." };
const nowhere = /^$/;

/** Where each library may be imported, and what is said elsewhere. */
const doors: Readonly<Record<string, { readonly at: RegExp; readonly sentence: string }>> = {
  commander: {
    at: /^src\/(program\.ts|commands\/)/,
    sentence: "commander's door is src/program.ts and src/commands.",
  },
  '@inquirer/confirm': {
    at: /^src\/commands\/prompts\.ts/,
    sentence: "@inquirer/confirm's door is src/commands/prompts.ts.",
  },
  '@inquirer/input': {
    at: /^src\/commands\/prompts\.ts/,
    sentence: "@inquirer/input's door is src/commands/prompts.ts.",
  },
  '@inquirer/password': {
    at: /^src\/commands\/prompts\.ts/,
    sentence: "@inquirer/password's door is src/commands/prompts.ts.",
  },
  conf: { at: /^src\/settings\/conf-file\.ts/, sentence: "conf's door is src/settings/conf-file.ts." },
  'lossless-json': { at: /^src\/json\.ts/, sentence: "lossless-json's door is src/json.ts." },
  chalk: { at: /^src\/output\/style\.ts/, sentence: "chalk's door is src/output/style.ts." },
  'cli-table3': { at: /^src\/output\/table\.ts/, sentence: "cli-table3's door is src/output/table.ts." },
  'string-width': { at: /^src\/output\/table\.ts/, sentence: "string-width's door is src/output/table.ts." },
  yaml: { at: /^src\/yaml\.ts/, sentence: "yaml's door is src/yaml.ts." },
  'cli-progress': {
    at: /^src\/output\/progress-bar\.ts/,
    sentence: "cli-progress's door is src/output/progress-bar.ts.",
  },
  '@jmespath-community/jmespath': {
    at: /^src\/output\/jmespath\.ts/,
    sentence: "@jmespath-community/jmespath's door is src/output/jmespath.ts.",
  },
  'csv-parse': csvParse,
  'csv-parse/sync': csvParse,
  lmdb: { at: /^src\/service\/store\.ts/, sentence: "lmdb's door is src/service/store.ts." },
  undici,
  'undici/lib/dispatcher/client.js': undici,
  'node:http': wire,
  'node:https': wire,
  'node:process': { at: nowhere, sentence: 'Take it from Host.' },
  'node:timers': { at: nowhere, sentence: 'Take it from Host.clock.' },
  'node:timers/promises': { at: nowhere, sentence: 'Take it from Host.clock.' },
};

/** One violation of each other rule: the file it is planted in, the code, and the rule's sentence if it is ours. */
const violations: readonly {
  readonly rule: string;
  readonly file: string;
  readonly code: string;
  readonly sentence?: string;
}[] = [
  global('src/rows/process.ts', 'export const home = process.env;', 'Take it from Host.'),
  global('src/api/process.ts', 'export const home = process.env;', 'Take it from Host.'),
  global('src/bulk/log.ts', "console.error('no');", 'Write to Host.stdout or Host.stderr.'),
  global('src/service/log.ts', "console.error('no');", 'Write to Host.stdout or Host.stderr.'),
  global('src/bulk/wait.ts', 'setTimeout(() => {}, 1000);', 'Sleep with Host.clock.'),
  global('src/commands/tick.ts', 'setInterval(() => {}, 1000);', 'Sleep with Host.clock.'),
  global('src/api/tick.ts', 'setInterval(() => {}, 1000);', 'Sleep with Host.clock.'),
  global(
    'src/commands/fetch.ts',
    "export const got = await fetch('http://[::1]/');",
    'Send through src/api: fetch costs a start 90 ms.',
  ),
  { rule: 'suspicious/noImportCycles', file: 'src/rows/left.ts', code: "export { right as left } from './right.ts';" },
  { rule: 'suspicious/noImportCycles', file: 'src/rows/right.ts', code: "export { left as right } from './left.ts';" },
  {
    rule: 'suspicious/noImportCycles',
    file: 'src/rows/one.ts',
    code: "import type { Two } from './two.ts';\nexport type One = Two | 1;",
  },
  {
    rule: 'suspicious/noImportCycles',
    file: 'src/rows/two.ts',
    code: "import type { One } from './one.ts';\nexport type Two = One | 2;",
  },
  { rule: 'performance/noBarrelFile', file: 'src/rows/index.ts', code: "export * from './one.ts';" },
  {
    rule: 'nursery/noFloatingPromises',
    file: 'src/rows/floating.ts',
    code: 'async function read(): Promise<void> {}\nexport function start(): void {\n  read();\n}',
  },
  {
    rule: 'nursery/noMisusedPromises',
    file: 'src/rows/misused.ts',
    code: 'async function isRead(): Promise<boolean> {\n  return true;\n}\nexport const word = isRead() ? 1 : 2;',
  },
  { rule: 'suspicious/noExplicitAny', file: 'src/rows/any.ts', code: 'export const anything = (value: any) => value;' },
  {
    rule: 'style/noNonNullAssertion',
    file: 'src/rows/non-null.ts',
    code: 'export const size = (text?: string) => text!.length;',
  },
  { rule: 'style/noDefaultExport', file: 'src/rows/default.ts', code: 'export default 1;' },
  {
    rule: 'style/useThrowOnlyError',
    file: 'src/rows/throw.ts',
    code: "export const fail = () => {\n  throw 'no';\n};",
  },
  {
    rule: 'style/noParameterAssign',
    file: 'src/rows/parameter.ts',
    code: 'export function next(at: number): number {\n  at += 1;\n  return at;\n}',
  },
  {
    rule: 'correctness/useImportExtensions',
    file: 'src/rows/extension.ts',
    code: "import type { Line } from './camelCase';\nexport type Extended = Line;",
  },
  { rule: 'style/useFilenamingConvention', file: 'src/rows/camelCase.ts', code: 'export type Line = string;' },
  { rule: 'style/useNodejsImportProtocol', file: 'src/rows/protocol.ts', code: "export { join } from 'path';" },
  {
    rule: 'complexity/noExcessiveLinesPerFunction',
    file: 'src/rows/long.ts',
    code: `export function count(sink: number[]): void {\n${'  sink.push(1);\n'.repeat(61)}}`,
  },
  {
    rule: 'complexity/noExcessiveCognitiveComplexity',
    file: 'src/rows/complex.ts',
    code: `export function knot(value: number): number {\n${'if (value > 1) {\n'.repeat(6)}return value;\n${'}\n'.repeat(6)}return 0;\n}`,
  },
];

/** What the rules must let pass: the places that are exempt, each with the reason. */
const exemptions = [
  { file: 'bin/front-door.js', code: 'process.exitCode = 0;\n', because: 'bin is the process' },
  { file: 'src/host.ts', code: 'export const wait = setTimeout;\n', because: 'host.ts makes the Host' },
  { file: 'src/api/timer.ts', code: 'export const wait = setTimeout;\n', because: "a transport's time-outs are real" },
  { file: 'src/service/timer.ts', code: 'export const wait = setTimeout;\n', because: "a server's time-outs are real" },
  { file: 'some.config.ts', code: 'export default process.argv;\n', because: 'tools want a default export' },
  {
    file: 'test/unit/a.test.ts',
    code: "import { env } from 'node:process';\n\nconsole.log(env);\n",
    because: 'a test is the outside world',
  },
];

/** What the linter said of one place in a file. */
interface Diagnostic {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  readonly sentences: readonly string[];
}

let layerDiagnostics: readonly Diagnostic[];
let ruleDiagnostics: readonly Diagnostic[];

beforeAll(async () => {
  // Apart: the files of the layers import each other in every direction, so each is in a cycle.
  [layerDiagnostics, ruleDiagnostics] = await Promise.all([
    lint(
      places.map((file) => ({
        file,
        code: importsOf(file)
          .map(({ line }) => line)
          .join(''),
      })),
    ),
    lint([...violations, ...exemptions]),
  ]);
});

describe('who may import what', () => {
  test.each(places)('%s', (place) => {
    const imports = importsOf(place);

    const said = layerDiagnostics
      .filter(({ rule, file }) => rule === 'style/noRestrictedImports' && file === place)
      .toSorted((one, other) => one.line - other.line)
      .map(({ line, sentences }) => [imports[line - 1]?.source, sentences[0]]);

    expect(said).toEqual(
      imports.filter(({ sentence }) => sentence !== undefined).map(({ source, sentence }) => [source, sentence]),
    );
  });

  test('every part of the real house has its layer', async () => {
    const entries = await readdir(join(root, 'src'));

    expect(Object.keys(layers)).toEqual(expect.arrayContaining(entries.map((entry) => entry.replace('.ts', ''))));
  });
});

describe('the other rules', () => {
  test.each(violations)('$rule in $file', ({ rule, file, sentence }) => {
    const said = ruleDiagnostics.filter((diagnostic) => diagnostic.rule === rule && diagnostic.file === file);

    expect(said).toHaveLength(1);
    if (sentence !== undefined) expect(said[0]?.sentences).toContain(sentence);
  });

  test.each(exemptions)('nothing is said of $file: $because', ({ file }) => {
    expect(ruleDiagnostics.filter((diagnostic) => diagnostic.file === file)).toEqual([]);
  });
});

function global(file: string, code: string, sentence: string) {
  return { rule: 'style/noRestrictedGlobals', file, code, sentence };
}

/** One import of everything for the file at `place`, each with the sentence that it must earn, if any. */
function importsOf(place: string) {
  const part = partOf(place);
  const files = places
    .filter((file) => file !== place)
    .map((file) => {
      const isAllowed = partOf(file) === part || layers[part]?.mayImport.includes(partOf(file));
      const path = relative(dirname(place), file);
      return {
        source: path.startsWith('.') ? path : `./${path}`,
        sentence: isAllowed ? undefined : layers[part]?.sentence,
      };
    });
  const libraries = Object.entries(doors).map(([source, { at, sentence }]) => ({
    source,
    sentence: at.test(place) ? undefined : sentence,
  }));
  return [...files, ...libraries].map((one) => ({ ...one, line: `import '${one.source}';\n` }));
}

function partOf(file: string): string {
  return file.split('/')[1]?.replace('.ts', '') ?? file;
}

async function lint(
  files: readonly { readonly file: string; readonly code: string }[],
): Promise<readonly Diagnostic[]> {
  await using folder = await temporaryFolder();
  for (const { file, code } of files) {
    await mkdir(join(folder.path, dirname(file)), { recursive: true });
    await writeFile(join(folder.path, file), code);
  }
  for (const file of ['biome.jsonc', '.gitignore']) await cp(join(root, file), join(folder.path, file));

  const { stderr } = await execa('biome', ['lint', '--max-diagnostics=none'], {
    cwd: folder.path,
    preferLocal: true,
    localDir: root,
    reject: false,
  });
  return diagnosticsIn(stderr);
}

/** Reads what the linter prints for people: its reports for machines leave out the sentences on globals. */
function diagnosticsIn(text: string): readonly Diagnostic[] {
  const headings = [...text.matchAll(/^(\S+?)(?::(\d+):\d+)? lint\/(\S+) .*━$/gm)];
  return headings.map((heading, at) => {
    const [, file = '', line = '1', rule = ''] = heading;
    const body = text.slice(heading.index, headings[at + 1]?.index);
    const sentences = [...body.matchAll(/^ {2}[×!i] (.*)$/gm)].map(([, sentence = '']) => sentence.trim());
    return { rule, file, line: Number(line), sentences };
  });
}
