/** The pages that teach: what is true of many commands, told once. */
import { settings } from '../../cli/flags.ts';
import { exitCodes, stopSignals } from '../../core/errors.ts';
import { formatMeanings, outputFormats } from '../../output/view.ts';
import type { Definition } from '../../settings/setting.ts';

/** A variable, or several that go together. */
export interface VariableRow {
  readonly names: readonly string[];
  /** The flag that says the same. */
  readonly flag?: string;
  readonly meaning: string;
}

/** What the flags of a setting have as a variable that is not listctl's own, or is read before the settings are. */
const otherVariables: readonly VariableRow[] = [
  { names: ['LISTCTL_PROFILE'], flag: '--profile', meaning: 'the profile that is used where none is named' },
  { names: ['LISTCTL_TOKEN'], meaning: 'the access token' },
  { names: ['LISTCTL_TOKEN_FILE'], meaning: 'a file that holds it, read again once the service refuses it' },
  { names: ['LISTCTL_TOKEN_COMMAND'], meaning: 'a command that prints it, run again once the service refuses it' },
  { names: ['LISTCTL_CONFIG_DIR'], meaning: 'the directory of profiles and stored tokens' },
  { names: ['LISTCTL_STATE_DIR'], meaning: 'the directory of the records of runs' },
  { names: ['LISTCTL_DATA_DIR'], meaning: 'the directory of the items of local:' },
  {
    names: ['CI'],
    flag: '--no-input',
    meaning: 'never ask nor guess: --yes is needed; empty, 0 and false count as unset',
  },
  { names: ['NO_COLOR', 'FORCE_COLOR'], flag: '--color', meaning: 'no color; color also off a terminal' },
  { names: ['NODE_EXTRA_CA_CERTS'], flag: '--ca-file', meaning: 'more authorities to trust over TLS' },
  {
    names: ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'],
    meaning: 'the proxy (http or https); this machine is never asked for through it',
  },
  { names: ['NO_PROXY'], meaning: 'what does not go through the proxy' },
];

const settingMeanings: Readonly<Record<string, string>> = {
  '--base-url': 'the address of the service, version segment included',
  '--site': 'the site',
  '--list': 'the list',
  '--output': 'the format of results',
  '--timeout': 'seconds for one attempt (120)',
  '--retries': 'how often a request is tried again (4)',
  '--max-wait': 'the longest wait that the service may ask for, in seconds (180; 900 over many rows)',
  '--idempotency': 'what the service does with Idempotency-Key (unknown)',
};

/** Every variable, those of the settings first. */
function variableRows(): readonly VariableRow[] {
  const definitions: readonly Definition<unknown>[] = Object.values(settings);
  const ofSettings = definitions.flatMap(({ flag, variable }) =>
    variable === undefined ? [] : [{ names: [variable], flag, meaning: settingMeanings[flag] ?? `as ${flag}` }],
  );
  return [...ofSettings, ...otherVariables];
}

/** The variables that say the same as a flag. */
export function variablesOf(flag: string): readonly string[] {
  return variableRows().flatMap((row) => (row.flag === flag ? row.names : []));
}

/** A way to end. */
export interface ExitCodeRow {
  readonly kind: keyof typeof exitCodes;
  readonly meaning: string;
  /** What a script would do next. */
  readonly advice: string;
}

const meanings: Readonly<Record<ExitCodeRow['kind'], readonly [meaning: string, advice: string]>> = {
  done: ['done', 'go on'],
  refused: ['the service refused, or gave an answer that cannot be used', 'read the message'],
  usage: ['wrong usage or input, or not confirmed: nothing was sent', 'fix the call'],
  credentials: ['no token, 401, 403', 'log in'],
  'not-found': ['404, 410', 'go on, or create'],
  conflict: ['409, 412, 423, 428', 'read again, then decide'],
  unavailable: ['throttled or unavailable: nothing was changed', 'run again later'],
  unreachable: ['not reached, or no complete answer to a read: nothing was changed', 'check the network'],
  'in-doubt': ['a write may or may not have happened', 'look before running again'],
  incomplete: ["of several items, or of a run's rows, some were not done", 'look at the errors, or the rejects'],
  'local-file': ['a local file or stream is unreadable, full or damaged', 'mend it'],
  locked: ['another process is at work on the same', 'wait'],
  changes: ['apply --dry-run --detailed-exitcode: there are changes', 'apply'],
  bug: ['a bug in listctl', 'report it'],
};

/** In the order of their numbers. */
export const exitCodeRows: readonly ExitCodeRow[] = Object.entries(meanings).map(([kind, [meaning, advice]]) => ({
  kind: kind as ExitCodeRow['kind'],
  meaning,
  advice,
}));

/** `listctl help fields` */
const fieldsText = `How the fields of an item are typed

  -f key=value    the text, exactly as given: nothing in it is special
  -f key:=json    a JSON value: number, boolean, null, array, object
  -f key@=FILE    the text of a file, - for stdin
  -f key:@=FILE   JSON from a file
  --fields FILE   a JSON object of fields, or an item; -f adds to it and wins
  --unset key     null: clears the field (update only)

-f is short for --field. What stands before the first = decides, so a script can
pass a stranger's text with key=value: it opens no file and keeps its type.

  $ listctl items create -f Title="Buy milk" -f Count:=2 -f Done:=false
  $ listctl items create -f Code=007              # the text 007, zeros and all
  $ listctl items create -f Count:=7              # the number 7
  $ listctl items create -f 'Tags:=["a","b"]'     # quoted for the shell
  $ listctl items create -f Body@=note.txt -f Meta:@=meta.json
  $ listctl items get 17 | listctl items create --fields - -f Title=Copy
  $ listctl items update 17 -f Title=Bye --unset Note

A key that is named twice is an error. A dot in a key is like any other letter.
Digits of numbers are kept as typed: 1.10 stays 1.10.
To see what would be sent, and send nothing: --dry-run.
`;

/** `listctl help many` */
const manyText = `Many items from a file

  $ listctl items create --from tasks.csv
  $ listctl items update --from changes.jsonl
  $ listctl items update --from ids.txt -f Status=Done
  $ listctl items delete --from ids.txt --yes
  $ listctl items get --from ids.txt -o csv > now.csv

The file: CSV, TSV, JSONL, a JSON array or plain ids, by its name; .gz too; - is
stdin. Each column is a field. Text stays text, unless you say otherwise:

  --type Count=number   or a header Count:number; '*=auto' for all columns
  --rename Col=Field    a column under another name
  --only A,B            just these columns
  --empty null          an empty cell clears the field, else it says nothing
  -f Status=New         a field of every row; it wins over the column

Before: the file is read to its end first. A bad row is named with its line and
column, and nothing is sent; --skip-invalid sends the good ones. --dry-run stops
there.

Meanwhile: it finds the pace that the service keeps up with. --concurrency N and
--rate N/s are upper limits; --max-errors N and --fail-fast give up sooner.

After: a row that was refused is in --rejects FILE with the reason, ready to be
mended and sent again. Exit 9 says that some were not done.

Going on: every row is recorded before it is sent and after it is answered.
After Ctrl-C, a crash or a power cut the same command goes on where it was:

  $ listctl items create --from tasks.csv --resume    # what is still to do
  $ listctl items create --from tasks.csv --restart   # all of it, from row 1

A row that was sent and never answered is in doubt: nobody knows whether it was
done. Such a create is held, named, and settled by you:

  $ listctl runs show last --in-doubt
  $ listctl runs resolve last --row 17 --applied 4711
  $ listctl runs resolve last --row 18 --not-applied

Where the record may be lost, and the service honors Idempotency-Key, derive the
keys from the rows: --idempotency-key-from row, content, or a column's name.

What a run made is listed with runs show last -o id, and taken back with
runs undo last.

The flags: listctl items create --help
`;

/** `listctl help apply` */
const applyText = `Making a list match a file

A seed says what a list is to hold; apply makes it so, and may be run again and
again. The second time nothing is changed.

  $ cat seed.yaml
  site: home
  list: tasks
  key: Title
  items:
    - { Title: Buy milk, Count: 2 }
    - { Title: Call Zoë, Note: null }
  $ listctl apply seed.yaml --init       # the first time
  $ listctl apply seed.yaml              # from then on
  $ listctl apply seed.yaml --dry-run    # the plan alone

The key is the field that tells the items apart. listctl manages what the seed
names: a field that it does not name is not looked at, null clears one.

The plan is shown as a diff and asked about; where it cannot ask it needs --yes.
  +  an item that is not there is created
  ~  a field that differs is set: old → new
  -  with --prune, an item that the seed no longer names is deleted

The state: the service cannot be asked what it holds, so the ids of what was
created are kept in seed.yaml.state.json. Keep it with the seed. A cache that
was lost must not make a second copy: where there is no state, a pipeline needs
--init, and where there is one --init is refused.

Drift: before it plans it reads each known item. One that somebody changed is
set back, one that is gone is created again. --no-refresh trusts the state.

In a pipeline:

  $ listctl apply seed.yaml --dry-run --detailed-exitcode   # 12: changes
  $ listctl apply seed.yaml --out plan.json --dry-run
  $ listctl apply plan.json --dry-run                       # shows it
  $ listctl apply plan.json                                 # exactly that plan

What listctl state does: import an item that is there already, forget one,
resolve one in doubt, export the items: as a manifest, or with -o id their ids.

The flags: listctl apply --help
`;

/** A page that `listctl help NAME` shows. */
export interface Topic {
  readonly name: string;
  /** One line, in lower case, without a period. */
  readonly summary: string;
  /** At most 80 columns wide, with its last newline. */
  readonly page: () => string;
}

/** In the order of `listctl --help`. */
export const topics: readonly Topic[] = [
  { name: 'fields', summary: 'how the fields of an item are typed', page: () => fieldsText },
  { name: 'output', summary: 'formats, queries, and what goes where', page: outputPage },
  { name: 'exit-codes', summary: 'every way to end, and what a script would do', page: exitCodesPage },
  { name: 'environment', summary: 'the variables that listctl reads, and what wins', page: environmentPage },
  { name: 'many', summary: 'many items from a file, and going on after a stop', page: () => manyText },
  { name: 'apply', summary: 'making a list match a file, again and again', page: () => applyText },
];

function outputPage(): string {
  return `How results are printed

stdout carries results alone, and is empty when nothing succeeded. Everything
else is on stderr: errors, notices, progress, questions, the summary of a run.

-o, --output FORMAT, or LISTCTL_OUTPUT, or a profile's own:
${table(outputFormats.map((format) => [format, formatMeanings[format]]))}
--json is short for -o json. With --dry-run there is one more, curl: the request
as a command of curl.

Without any of them a terminal gets pretty. In a pipe, items and api print json
for one item and jsonl for several; every other command stays pretty. A script
names its format.

Queries: -q EXPRESSION is JMESPath over what would be printed; with jsonl over
each line. What ends in one text, number or boolean is printed bare. Numbers
keep the digits that they came with.

  $ listctl items get 17 -q fields.Title
  $ listctl items get 17 18 19 -q 'sort_by([], &fields.Price)[-1]' -o yaml
  $ listctl runs list -o json -q "[?status=='incomplete'].run"

Columns: --columns id,Title says what csv, tsv and tables show, in that order.
--csv-safe is for spreadsheets: no text runs as a formula.

Errors: one line on stderr, and at most two of what to do. Where json or jsonl
was asked for, one JSON line: {"error":{"kind":"not-found","exit":4,…}}.

Control characters and bidirectional overrides from elsewhere are shown as
visible escapes on a terminal; in a file or a pipe csv and tsv are exact.
`;
}

function exitCodesPage(): string {
  const rows = exitCodeRows.map(({ kind, meaning, advice }) => [
    String(exitCodes[kind]),
    kind,
    `${meaning} → ${advice}`,
  ]);
  const stops = Object.entries(stopSignals).map(([signal, code]) => [String(code), '', `ended by ${signal}`]);
  return `Every way to end

A script branches on the exit code; "error.kind" of a JSON error says the same
in a word. The page of each command tells what its own codes mean. Behind the
arrow: what a script would do.

${table([...rows, ...stops])}
After 8 a write may have happened, so look before you send it again; a single
write that a signal leaves in doubt ends with 8, too. 130 is Ctrl-C. A run over
many rows that was stopped goes on with --resume.

A second SIGINT or SIGTERM does not wait for responses. nohup does not protect a
run, since Node resets what it ignores: start it with setsid, or in tmux.

  $ listctl items get 17 -o json > item.json
  $ case $? in 0) ;; 4) echo "not there yet" ;; *) exit 1 ;; esac
`;
}

function environmentPage(): string {
  const rows = variableRows().map(({ names, flag = '', meaning }) => [names.join(', '), flag, meaning]);
  return `The variables that listctl reads

${table(rows)}
What wins, first to last:

  1. the flag; the one nearest the verb, where it is typed twice
  2. the profile that --profile names
  3. the environment
  4. the project's .listctl.json, the nearest one upwards: site, list, output
  5. the profile in use: LISTCTL_PROFILE, else listctl profile use
  6. what holds where nobody says anything, in brackets above

A variable that is empty counts as unset; one that is malformed is an error that
names it. A token is never a flag: every user of the machine can read those. It
comes from the profile that --profile names, LISTCTL_TOKEN, LISTCTL_TOKEN_FILE,
LISTCTL_TOKEN_COMMAND or the profile in use, in this order, and has at least 8
characters.

  $ export LISTCTL_BASE_URL=https://lists.example/v1.0 LISTCTL_SITE=home
  $ LISTCTL_LIST=tasks listctl items get 17
`;
}

const pageWidth = 80;

/** Cells in columns, two spaces apart; the last one may go on in further lines. With a last newline. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).slice(0, -1).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const indent = widths.reduce((sum, width) => sum + width + 2, 2);
  return rows
    .map((row) => {
      const cells = widths.map((width, at) => (row[at] ?? '').padEnd(width + 2)).join('');
      return `  ${cells}${wrap(row.at(-1) ?? '', indent)}\n`;
    })
    .join('');
}

/** Breaks a text between words, so that it fits the page beside what stands before it. */
function wrap(text: string, indent: number): string {
  let column = indent;
  const words = text.split(' ').map((word, at) => {
    const isFitting = at === 0 || column + 1 + word.length <= pageWidth;
    column = (isFitting ? column + 1 : indent) + word.length;
    return at === 0 || isFitting ? word : `\n${' '.repeat(indent)}${word}`;
  });
  return words.join(' ').replaceAll(' \n', '\n');
}
