import { expect, test } from 'vitest';
import type { CommandNode } from '../../src/commands/help/help.ts';
import { environmentFor, scriptedService } from '../support/scripted-service.ts';
import { run } from '../support/test-host.ts';

const milk = { id: '17', fields: {} };
const path = (site: string, list: string) => `/v1.0/sites/${site}/lists/${list}/items/17`;

test.each([
  { words: 'items get 17 -s S -l L', site: 'S', list: 'L', because: 'after the verb' },
  { words: 'items get -s S -l L 17', site: 'S', list: 'L', because: 'between the verb and the id' },
  { words: '-s S -l L items get 17', site: 'S', list: 'L', because: 'before everything' },
  { words: 'items -s S -l L get 17', site: 'S', list: 'L', because: 'between the words' },
  { words: '-s A items -s B get 17 -s C', site: 'C', list: 'tasks', because: 'the one nearest the verb wins' },
  { words: '-s A items -s B get 17', site: 'B', list: 'tasks', because: 'the one nearest the verb wins' },
  { words: 'items get 17 -s A -s B', site: 'B', list: 'tasks', because: 'the last one wins' },
  { words: '--site=S items get --list=L 17', site: 'S', list: 'L', because: 'with =' },
  { words: '-sS items get -lL 17', site: 'S', list: 'L', because: 'touching' },
  { words: 'item get 17', site: 'home', list: 'tasks', because: 'item is short for items' },
  { words: 'items get -s -l -l x 17', site: '-l', list: 'x', because: 'a value may look like a flag' },
  { words: '-s items items get 17', site: 'items', list: 'tasks', because: 'a value may look like a command' },
  { words: 'items get -s=S 17', site: '=S', list: 'tasks', because: 'a short flag has no =' },
  { words: 'items get -- 17', site: 'home', list: 'tasks', because: 'after -- there are only ids' },
])('$words: $because', async ({ words, site, list }) => {
  await using service = await scriptedService({ status: 200, body: milk });

  const { exitCode, stderr } = await run(words.split(' '), { env: environmentFor(service) });

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(service.requests.map((request) => decodeURIComponent(request.path))).toEqual([path(site, list)]);
});

test.each([
  ['version', '--version'],
  ['help create', 'items create --help'],
  ['create --help', 'items create --help'],
  ['rm -h', 'items delete --help'],
  ['get items --help', 'items get --help'],
  ['items help', 'items --help'],
  ['items help update', 'items update --help'],
  ['runs help', 'runs --help'],
  ['-h items get', 'items get --help'],
  ['items --help get', 'items get --help'],
  ['-p x --help auth login', 'auth login --help'],
  ['-h items', 'items --help'],
  ['version --json', '--version -o json'],
])('%s prints what %s prints', async (words, same) => {
  const { exitCode, stdout, stderr } = await run(words.split(' '));

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout).toBe((await run(same.split(' '))).stdout);
});

test('--version is JSON if that was typed, and the number alone otherwise', async () => {
  const [text, json, ofEnvironment] = await Promise.all([
    run(['--version']),
    run(['--version', '-o', 'json']),
    run(['version'], { env: { LISTCTL_OUTPUT: 'json' } }),
  ]);

  expect(JSON.parse(json.stdout)).toEqual({ version: text.stdout.trim() });
  expect(ofEnvironment.stdout).toBe(text.stdout);
});

test('each verb of items has its page without items', async () => {
  const { commands } = JSON.parse((await run(['help', 'items', '--json'])).stdout);

  for (const { path } of commands.filter((each: CommandNode) => each.path !== 'items list')) {
    const [noun, verb] = path.split(' ');
    expect((await run([verb, '--help'])).stdout).toBe((await run([noun, verb, '--help'])).stdout);
  }
});

test.each(['-f Title=x -o curl', '-o curl -f Title=x', '-f Title=x --dry-run -o curl'])(
  'items create %s sends nothing',
  async (words) => {
    await using service = await scriptedService();

    const { exitCode, stdout } = await run(['items', 'create', ...words.split(' ')], { env: environmentFor(service) });

    expect({ exitCode, requests: service.requests.length }).toEqual({ exitCode: 0, requests: 0 });
    expect(stdout).toMatch(/^curl .*"Title":"x"/s);
  },
);

test('a query of jq is answered with the one to write', async () => {
  const { exitCode, stderr } = await run(['items', 'get', '17', '-q', '.fields.Title'], {
    env: { LISTCTL_BASE_URL: 'local:', LISTCTL_SITE: 's', LISTCTL_LIST: 'l' },
  });

  expect(exitCode).toBe(2);
  expect(stderr).toContain('it begins with a dot, as in jq\n  write fields.Title\n');
});

test('help list says that there is none', async () => {
  expect((await run(['help', 'list'])).stderr).toMatch(/^listctl: cannot list items: /);
});

test.each([
  ['items show 17 -o=json', 'GET'],
  ['items get 17 -o JSON', 'GET'],
  ['items add -f a=b -ojson', 'POST'],
  ['items new -f a=b -o=Json', 'POST'],
  ['items rm 17 --output=JSON', 'DELETE'],
])('%s is what it looks like', async (words, method) => {
  const status = method === 'POST' ? 201 : 200;
  await using service = await scriptedService(method === 'DELETE' ? { status: 204 } : { status, body: milk });

  const { exitCode, stdout } = await run(words.split(' '), { env: environmentFor(service) });

  expect({ exitCode, id: JSON.parse(stdout).id }).toEqual({ exitCode: 0, id: '17' });
  expect(service.requests).toMatchObject([{ method }]);
});

test('table is pretty', async () => {
  await using service = await scriptedService({ status: 200, body: milk });
  const env = environmentFor(service);

  const pretty = await run(['items', 'get', '17', '-o', 'pretty'], { env });

  expect((await run(['items', 'get', '17', '-o', 'table'], { env })).stdout).toBe(pretty.stdout);
  expect((await run(['items', 'get', '17'], { env: { ...env, LISTCTL_OUTPUT: 'TABLE' } })).stdout).toBe(pretty.stdout);
});

test.each(['a=b -f c=d', '-f c=d -- 1 a=b', 'a== b== -f c=d'])(
  'items update %s takes ids as they are',
  async (words) => {
    await using service = await scriptedService();
    const typed = ['items', 'update', '--dry-run', ...words.split(' ')];

    expect(await run(typed, { env: environmentFor(service) })).toMatchObject({ exitCode: 0, stderr: '' });
  },
);

test('help shows the page that --help shows', async () => {
  for (const words of [[], ['items'], ['items', 'create'], ['item', 'get'], ['auth', 'login'], ['serve']]) {
    const help = await run(['help', ...words]);
    expect(help).toMatchObject({ exitCode: 0, stderr: '' });
    expect(help.stdout).toBe((await run([...words, '--help'])).stdout);
  }
});

test('a flag wins over the environment, and an empty variable counts as unset', async () => {
  await using service = await scriptedService({ status: 200, body: milk });
  const env = { ...environmentFor(service), LISTCTL_OUTPUT: '' };

  const flag = await run(['items', 'get', '17', '--site', 'mine'], { env });
  const unset = await run(['items', 'get', '17'], { env: { ...env, LISTCTL_SITE: '' } });

  expect(flag.exitCode).toBe(0);
  expect(service.requests.map((request) => request.path)).toEqual([path('mine', 'tasks')]);
  expect(unset).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('no site given') });
});

test.each([
  { words: 'itmes create', says: "unknown command 'itmes'", hint: 'did you mean: listctl items create\n' },
  { words: 'create -f a=b', says: "unknown command 'create'", hint: 'did you mean: listctl items create -f a=b\n' },
  { words: 'rm 17', says: "unknown command 'rm'", hint: 'did you mean: listctl items delete 17\n' },
  { words: 'login', says: "unknown command 'login'", hint: 'did you mean: listctl auth login\n' },
  { words: 'items set 17', says: "unknown command 'set'", hint: 'did you mean: listctl items update 17\n' },
  { words: 'profile add x', says: "unknown command 'add'", hint: 'did you mean: listctl profile set x\n' },
  { words: 'constructor', says: "unknown command 'constructor'", hint: 'listctl --help' },
  { words: 'items create Title=x', says: 'takes no arguments', hint: 'use: listctl items create -f Title=x\n' },
  { words: 'items create a.csv', says: 'takes no arguments', hint: 'use: listctl items create --from a.csv\n' },
  { words: 'items create -s x a.csv', says: 'takes no arguments', hint: 'listctl items create -s x --from a.csv\n' },
  { words: 'items create x y', says: 'takes no arguments', hint: 'use -f before each field' },
  { words: 'items import a.csv', says: "unknown command 'import'", hint: ': listctl items create --from a.csv\n' },
  { words: 'import a.csv', says: "unknown command 'import'", hint: ': listctl items create --from a.csv\n' },
  { words: 'create Title=x', says: "unknown command 'create'", hint: ': listctl items create -f Title=x\n' },
  { words: 'update 1 Title=x', says: "unknown command 'update'", hint: ': listctl items update 1 -f Title=x\n' },
  { words: 'get items 17', says: "unknown command 'get'", hint: ': listctl items get 17\n' },
  { words: 'create --token=verysecret', says: "unknown command 'create'", hint: ': listctl items create\n' },
  { words: 'items update 1 Title=x', says: 'no fields given', hint: 'use: listctl items update 1 -f Title=x\n' },
  { words: 'items update a.csv', says: 'no fields given', hint: 'use: listctl items update --from a.csv\n' },
  { words: 'items update 1 T=x -f a=b', says: '"T=x" is not an id', hint: ': listctl items update 1 -f T=x -f a=b\n' },
  { words: 'items create', says: 'no fields given', hint: 'standard input use: listctl items create --from -\n' },
  { words: 'items create --title x', says: 'unknown option --title', hint: ': listctl items create -f title=x\n' },
  {
    words: 'items create --title=x -f a=b',
    says: 'option --title',
    hint: ': listctl items create -f title=x -f a=b\n',
  },
  { words: 'items create --title', says: 'unknown option --title', hint: 'set a field with -f title=VALUE; see' },
  { words: 'items create --password verysecret', says: 'option --password', hint: 'use: listctl items create\n' },
  { words: 'apply -f s.yaml --prune', says: 'unknown option -f', hint: 'use: listctl apply s.yaml --prune\n' },
  { words: 'apply --filename=s.yaml', says: 'unknown option --filename', hint: 'use: listctl apply s.yaml\n' },
  { words: 'profile set p --no-protected', says: '--no-protected', hint: 'listctl profile set p --unset protected\n' },
  { words: 'ls', says: 'cannot list items', hint: 'listctl items get' },
  { words: 'list -s x', says: 'cannot list items', hint: 'listctl items get' },
  { words: 'get items', says: 'cannot list items', hint: 'listctl items get' },
  { words: 'apply s.yaml --detailed-exitcode', says: '--detailed-exitcode requires --dry-run or --out', hint: '' },
  { words: 'help nope', says: "unknown command or topic 'nope'", hint: '--help' },
  { words: 'help exit-code', says: "unknown command or topic 'exit-code'", hint: 'did you mean exit-codes?' },
  { words: 'items get 17 --token=verysecret', says: 'unknown option --token', hint: 'LISTCTL_TOKEN' },
  { words: 'items get', says: "missing required argument 'id'", hint: '--help' },
  {
    words: 'items create -f Title=Buy milk',
    says: 'too many arguments: listctl items create takes no arguments',
    hint: "use: listctl items create -f Title='Buy milk'\n",
  },
  { words: 'profile use a b', says: 'listctl profile use takes one argument', hint: 'listctl profile use --help' },
  { words: 'api GET a b', says: 'listctl api takes 2 arguments', hint: 'quote' },
  { words: 'completion', says: "missing required argument 'shell'", hint: 'listctl completion --help' },
  { words: 'items get 17 -s', says: '--site requires a value', hint: 'use: --site <id>\n' },
  { words: 'items create --from a.csv --rows itmes', says: 'invalid --rows "itmes"', hint: 'did you mean items?' },
  { words: 'items get -x', says: 'unknown option -x', hint: 'the short flags are -V, -h, -l, -o, -p, -q, -s, -v' },
  { words: 'items get -xyz', says: 'unknown option -xyz', hint: 'use: listctl items get -- -xyz\n' },
  { words: 'doctor -x', says: 'unknown option -x', hint: 'listctl doctor --help' },
  { words: 'items get 17 --nothing', says: 'unknown option --nothing', hint: 'listctl items get --help' },
  {
    words: 'items create --input-format csv',
    says: '--input-format requires --from',
    hint: '--from tasks.csv --input',
  },
  { words: 'items delete --resume=verysecret', says: '--resume requires --from', hint: 'items delete --from' },
  { words: 'items update 17 --input-fromat csv', says: 'option --input-fromat', hint: 'did you mean --input-format?' },
  { words: 'items get --id 5', says: 'unknown option --id', hint: 'use: listctl items get 5\n' },
  { words: 'items delete --item-id=5 -y', says: 'unknown option --item-id', hint: 'use: listctl items delete 5 -y\n' },
  { words: 'items get --id -5', says: 'unknown option --id', hint: 'see listctl items get --help\n' },
  { words: 'items edit 1 --id 2', says: 'unknown option --id', hint: 'see listctl items edit --help\n' },
  { words: 'items get --from a.csv --id Nr', says: 'unknown option --id', hint: 'did you mean --id-column?\n' },
  { words: 'items get --from a.csv --format csv', says: '--format', hint: 'did you mean --input-format <format>?\n' },
  {
    words: 'items update 5 --id 7 -f a=b',
    says: 'unknown option --id',
    hint: '\n  set a field with -f; use: listctl items update 5 -f id=7 -f a=b\n',
  },
  {
    words: 'items update --id 7 -f a=b',
    says: 'unknown option --id',
    hint: 'use: listctl items update 7 -f a=b\n  otherwise set a field with -f; use: listctl items update -f id=7 -f a=b\n',
  },
  {
    words: 'items update 5 --set Title=x',
    says: 'unknown option --set',
    hint: '\n  set a field with -f; use: listctl items update 5 -f Title=x\n',
  },
  { words: 'items update 5 --file a.json', says: 'option --file', hint: 'did you mean --fields <file>?\n  otherwise' },
  { words: 'state import m.yaml --file a.csv', says: 'option --file', hint: 'did you mean --from <file>?\n' },
  { words: 'items delete 5 --listTitle x', says: 'unknown option --listTitle', hint: 'did you mean --list <id>?\n' },
  { words: 'items delete 5 --force', says: 'unknown option --force', hint: 'did you mean --yes?\n' },
  { words: 'apply s.yaml --auto-approve', says: 'unknown option --auto-approve', hint: 'did you mean --yes?\n' },
  { words: 'items get 5 --constructor', says: 'unknown option --constructor', hint: 'see listctl items get --help\n' },
  {
    words: 'items create --file a.csv',
    says: 'unknown option --file',
    hint: 'did you mean --from <file>?\n  otherwise set a field with -f; use: listctl items create -f file=a.csv\n',
  },
  { words: 'runs undo last --from x', says: 'unknown option --from', hint: 'listctl runs undo --help' },
  { words: '--local --concurrency=4 items create', says: '--concurrency requires --from', hint: 'create --from' },
  {
    words: 'items create -f a=b --dry-run=verysecret',
    says: '--dry-run takes no value',
    hint: '--dry-run without a value',
  },
  { words: 'items delete --yes=1 5', says: '--yes takes no value', hint: 'pass --yes without a value' },
  { words: 'auth status --quiet=true', says: '--quiet takes no value', hint: '--quiet without a value' },
  { words: 'apply seed.yaml --prune=true', says: '--prune takes no value', hint: '--prune without a value' },
  { words: 'apply s.yaml --init=yes', says: 'invalid --init "yes"', hint: '' },
  {
    words: 'apply s.yaml --init again -y',
    says: 'listctl apply takes one argument',
    hint: 'use: listctl apply s.yaml --init=again -y\n',
  },
  { words: 'help items create --bogus', says: 'unknown option --bogus', hint: 'listctl items create --help' },
  { words: 'help --bogus', says: 'unknown option --bogus', hint: 'listctl help --help' },
  { words: '--from x items create', says: '--from must come after the command', hint: 'listctl items create --from' },
  { words: 'items -f a=verysecret create', says: '--field must come after', hint: 'items create --field <key=value>' },
  { words: 'items get 17 --timeout soon', says: 'invalid --timeout', hint: '' },
  { words: 'items get 17 --timeout 0', says: 'invalid --timeout', hint: '' },
  { words: 'whoami', says: "unknown command 'whoami'", hint: 'did you mean: listctl auth status\n' },
  { words: 'config set x', says: "unknown command 'config'", hint: 'did you mean: listctl profile set x\n' },
  { words: 'profile switch x', says: "unknown command 'switch'", hint: 'did you mean: listctl profile use x\n' },
  { words: 'items put 5 -f a=b', says: "unknown command 'put'", hint: 'mean: listctl items update 5 -f a=b\n' },
  { words: 'lists', says: "unknown command 'lists'", hint: 'which --site and --list select' },
  { words: 'items list', says: 'cannot list items', hint: 'listctl items get' },
  { words: 'items ls -v', says: 'cannot list items', hint: 'listctl items get' },
  { words: 'columns list', says: 'cannot list columns', hint: '--service graph' },
])('$words is wrong usage, with what to do', async ({ words, says, hint }) => {
  await using service = await scriptedService({ status: 200, body: milk });

  const text = await run(words.split(' '), { env: environmentFor(service) });
  const json = await run(['--json', ...words.split(' ')], { env: environmentFor(service) });

  expect(text).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(/^listctl: /) });
  expect(text.stderr).toContain(says);
  expect(text.stderr).toContain(hint);
  expect(text.stderr).not.toContain('verysecret');
  expect(JSON.parse(json.stderr)).toMatchObject({
    error: { kind: 'usage', exit: 2, message: expect.stringContaining(says) },
  });
  expect(json.stderr.trim().split('\n')).toHaveLength(1);
  expect(service.requests).toEqual([]);
});

test.each([
  { argv: ['items', 'crate', '-o', 'json'], isJson: true },
  { argv: ['items', 'crate', '-ojsonl'], isJson: true },
  { argv: ['items', 'crate', '--output=json'], isJson: true },
  { argv: ['items', 'crate', '--json', '-o', 'pretty'], isJson: false },
  { argv: ['items', 'crate', '-f', '--json'], isJson: false },
  { argv: ['items', 'crate', '--', '--json'], isJson: false },
  { argv: ['items', 'crate'], isJson: true, env: { LISTCTL_OUTPUT: 'json' } },
  { argv: ['items', 'crate'], isJson: false },
])('errors of $argv are JSON if JSON was requested: $isJson', async ({ argv, isJson, env = {} }) => {
  const { stderr } = await run(argv, { env });

  expect(stderr.startsWith('{"error":')).toBe(isJson);
});

test.each([
  { env: { LISTCTL_TIMEOUT: 'abc' }, says: 'invalid LISTCTL_TIMEOUT' },
  { env: { LISTCTL_OUTPUT: 'xml' }, says: 'invalid LISTCTL_OUTPUT' },
  { env: { LISTCTL_IDEMPOTENCY: 'yes' }, says: 'invalid LISTCTL_IDEMPOTENCY' },
  { env: { LISTCTL_BASE_URL: 'lists.example' }, says: 'invalid LISTCTL_BASE_URL' },
  { env: { LISTCTL_BASE_URL: 'ftp://lists.example' }, says: 'invalid LISTCTL_BASE_URL' },
  { env: { LISTCTL_BASE_URL: 'https://me:verysecret@lists.example' }, says: 'a user name or password' },
  { env: { LISTCTL_BASE_URL: 'https://lists.example?key=verysecret' }, says: 'a query or a fragment' },
  { env: { LISTCTL_BASE_URL: 'https://lists.example?' }, says: 'a query or a fragment' },
  { env: { LISTCTL_BASE_URL: 'https://lists.example#verysecret' }, says: 'a query or a fragment' },
  { env: { LISTCTL_BASE_URL: 'http://lists.example/v1.0' }, says: 'refusing to send the token over plain http' },
  { env: { LISTCTL_BASE_URL: 'http://127.0.0.1.lists.example' }, says: 'refusing to send the token over plain http' },
  { env: { LISTCTL_BASE_URL: '' }, says: 'no service address' },
  { env: { LISTCTL_SITE: '' }, says: 'no site given' },
  { env: { LISTCTL_LIST: '' }, says: 'no list given' },
  { env: { LISTCTL_TOKEN: 'very secret' }, says: 'the token from LISTCTL_TOKEN' },
  { env: { LISTCTL_TOKEN: 'very\r\nsecret: x' }, says: 'the token from LISTCTL_TOKEN' },
  { env: { LISTCTL_TOKEN: 'verysecré' }, says: 'the token from LISTCTL_TOKEN' },
])('a setting that is malformed is named, never repeated where it may be secret: $says', async ({ env, says }) => {
  await using service = await scriptedService({ status: 200, body: milk });

  const { exitCode, stdout, stderr } = await run(['items', 'get', '17'], {
    env: { ...environmentFor(service), ...env },
  });

  expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 2, stdout: '', stderr: expect.stringContaining(says) });
  expect(stderr).not.toMatch(/very|secr/);
  expect(service.requests).toEqual([]);
});

const address = { LISTCTL_BASE_URL: 'https://lists.example' };

test.each([
  {
    env: {},
    says: 'no service address, token, site or list given',
    hint: 'run listctl init, or pass --base-url <url> --',
  },
  {
    env: { LISTCTL_SITE: 's', LISTCTL_TOKEN: 'abcdefgh' },
    says: 'no service address or list given',
    hint: 'run listctl init',
  },
  {
    env: address,
    says: 'no site or list given',
    hint: 'pass --site <id> --list <id> or set LISTCTL_SITE and LISTCTL_LIST',
  },
  { env: { ...address, LISTCTL_LIST: 'l' }, says: 'no site given', hint: 'pass --site <id> or set LISTCTL_SITE' },
])('all that is missing is said at once: $says', async ({ env, says, hint }) => {
  const { exitCode, stderr } = await run(['items', 'create', '-f', 'a=b'], { env });

  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`listctl: ${says}\n  ${hint}`)]);
});

test.each([
  ['xml', ''],
  ['wide', 'pass --wide'],
  ['text', 'did you mean pretty?'],
  ['jsn', 'did you mean json?'],
])('the format %s is wrong usage', async (format, hint) => {
  const { exitCode, stdout, stderr } = await run(['items', 'get', '17', '-o', format]);

  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
  expect(stderr).toContain(`invalid --output "${format}"`);
  expect(stderr).toContain(hint);
});

test('without a token nothing is sent: exit code 3', async () => {
  await using service = await scriptedService({ status: 200, body: milk });

  const { exitCode, stderr } = await run(['items', 'get', '17'], {
    env: { ...environmentFor(service), LISTCTL_TOKEN: '' },
  });

  expect([exitCode, stderr]).toEqual([3, expect.stringContaining('LISTCTL_TOKEN')]);
  expect(service.requests).toEqual([]);
});

test('one newline at the end of a token is removed', async () => {
  await using service = await scriptedService({ status: 200, body: milk });

  await run(['items', 'get', '17'], { env: { ...environmentFor(service), LISTCTL_TOKEN: 'abcdefgh\n' } });

  expect(service.requests[0]?.headers.authorization).toBe('Bearer abcdefgh');
});
