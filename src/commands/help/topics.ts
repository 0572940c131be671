/** The topics of help, `listctl help NAME`, and the meanings of exit codes. */
import { describeFlag, flagGroups, type GlobalFlag, globalFlags } from '../../cli/flags.ts';
import { exitCodes, stopSignals } from '../../core/errors.ts';
import { formatMeanings, outputFormats } from '../../output/view.ts';

/** Variables without a flag of the same meaning. */
const otherVariables: readonly (readonly [names: string, text: string])[] = [
  ['LISTCTL_TOKEN', 'access token'],
  ['LISTCTL_TOKEN_FILE', 'file that holds the token; read again when the token is rejected'],
  ['LISTCTL_TOKEN_COMMAND', 'command that prints the token; run again when the token is rejected'],
  ['LISTCTL_CONFIG_DIR', 'directory of profiles and stored tokens'],
  ['LISTCTL_STATE_DIR', 'directory of the journals of bulk runs'],
  ['LISTCTL_DATA_DIR', 'directory of the items of the built-in service'],
  ['LISTCTL_PAGER, PAGER', 'pager for help (default less); empty for none'],
  ['HTTPS_PROXY, HTTP_PROXY, ALL_PROXY', 'http or https proxy; not used for this machine'],
  ['NO_PROXY', 'hosts that are reached without the proxy'],
];

/** As they are on Linux without any variable. */
const fileRows: readonly (readonly [path: string, content: string])[] = [
  ['~/.config/listctl/config.json', 'profiles'],
  ['~/.config/listctl/credentials.json', 'stored tokens'],
  ['~/.local/state/listctl/runs', 'journals of bulk runs'],
  ['~/.local/state/listctl/marks', 'marks of items list --since last'],
  ['~/.local/share/listctl/local', 'items of the built-in service'],
  ['.listctl.json', 'site, list and output of a directory tree'],
  ['MANIFEST.state.json', 'state of apply'],
];

/** Descriptions of variables that differ from that of the flag. */
const variableTexts: Readonly<Record<string, string>> = {
  '--profile': 'profile to use; --profile overrides all variables',
  '--no-input': 'never prompt; empty, 0 and false count as unset',
  '--color': 'no color; color also off a terminal',
};

const allFlags: readonly GlobalFlag[] = Object.values(globalFlags);

/** The variables with the same effect as a flag. */
export function variablesOf(flag: string): readonly string[] {
  const found = allFlags.find((each) => each.flag === flag);
  return found === undefined ? [] : variableNames(found);
}

function variableNames({ variable, otherVariables: others = [] }: GlobalFlag): readonly string[] {
  return variable === undefined ? others : [variable, ...others];
}

/** For each exit code its meaning, and what a script should do. */
const exitCodeTexts: Readonly<Record<keyof typeof exitCodes, readonly [meaning: string, advice: string]>> = {
  done: ['success', 'continue'],
  refused: ['refused by the service, an unusable response, or --query failed', 'read the message'],
  usage: ['invalid usage or input, or not confirmed; nothing was sent', 'fix the command line or the input'],
  credentials: ['no token, 401, 403', 'log in'],
  'not-found': ['404, 410', 'continue, or create the item'],
  conflict: ['409, 412, 423, 428', 'read the item again, then decide'],
  unavailable: ['throttled or unavailable; nothing was changed', 'run again later'],
  unreachable: ['unreachable, or no complete response to a read; nothing was changed', 'check the network'],
  'in-doubt': ['in doubt: a write may or may not have taken effect', 'check the item before running again'],
  incomplete: ['some items or rows failed', 'check the errors or the rejects file'],
  'local-file': [
    'a local file or stream is unreadable, full or damaged (missing: 2)',
    'fix the file or free some space',
  ],
  locked: ['locked by another process', 'wait'],
  changes: ['apply --dry-run --detailed-exitcode: there are changes', 'run apply'],
  bug: ['bug in listctl', 'report it'],
};

/** In the order of their numbers. */
export const exitCodeRows = Object.entries(exitCodeTexts).map(([kind, [meaning, advice]]) => ({
  code: exitCodes[kind as keyof typeof exitCodes],
  kind,
  meaning,
  advice,
}));

const signalRows = Object.entries(stopSignals).map(([signal, code]) => ({
  code,
  meaning: `ended by ${signal}`,
}));

/** The meaning of each exit code in general. */
export const exitCodeMeanings: ReadonlyMap<number, string> = new Map(
  [...exitCodeRows, ...signalRows].map(({ code, meaning }) => [code, meaning]),
);

const fieldsText = `Setting fields

  -f key=value    string, exactly as given: no character is special; with
                  Microsoft Graph it becomes what its column is
  -f key:=json    JSON value: number, boolean, null, array or object
  -f key@=FILE    string from a file ("-" = stdin)
  -f key:@=FILE   JSON value from a file
  --fields FILE   JSON object of fields, or an item; -f overrides
  --unset key     clear the field by setting it to null (update only)

-f is short for --field. Only the characters before the first = are parsed, so
a script can safely pass untrusted text with key=value: it never opens a file.

  $ listctl items create -f Title="Buy milk" -f Count:=2 -f Done:=false
  $ listctl items create -f Code=007              # the string 007
  $ listctl items create -f Count:=7              # the number 7
  $ listctl items create -f 'Tags:=["a","b"]'     # quoted for the shell
  $ listctl items create -f Body@=note.txt -f Meta:@=meta.json
  $ listctl items get 17 | listctl items create --fields - -f Title=Copy
  $ listctl items update 17 -f Title=Bye --unset Note

Setting the same key twice is an error. Dots in keys have no special meaning.
Numbers keep the digits that were typed: 1.10 stays 1.10.
--dry-run prints the request without sending it.
`;

const bulkText = `Bulk operations

  $ listctl items create --from tasks.csv
  $ listctl items update --from changes.jsonl
  $ listctl items update --from ids.txt -f Status=Done
  $ listctl items delete --from ids.txt --yes
  $ listctl items get --from ids.txt -o csv > now.csv

Input: CSV, TSV, JSONL, a JSON array, YAML or plain ids, by file extension; .gz
files are decompressed; "-" is stdin. Each column is a field. CSV cells are
strings, or with Microsoft Graph what their columns are, unless you choose
another type:

  --type Count=number   or a header Count:number; '*=auto' for all columns
  --decimal ,           numbers have a decimal comma
  --rename Col=Field    import a column under another field name
  --only A,B            import only these columns
  --empty null          an empty cell without quotes clears the field
  -f Status=New         set a field of every row; overrides the column

Validation: the whole file is read first. If a row is invalid, its line and
column are reported and nothing is sent; --skip-invalid sends the other rows.
--dry-run stops after validation.

Rate: listctl adapts to the rate that the service accepts. --concurrency and
--rate set upper limits; --max-errors and --fail-fast stop early.

Failures: --rejects FILE receives each failed row with its error, ready to be
fixed and sent again. Exit code 9 means that some rows failed.

Resuming: each row is recorded before it is sent and after the response. After
Ctrl-C, a crash or a power failure, run the same command with --resume:

  $ listctl items create --from tasks.csv --resume    # the remaining rows
  $ listctl items create --from tasks.csv --restart   # every row again

A row that was sent but got no response is in doubt: it may or may not have
taken effect. --resume does not send such a create again; check and resolve it:

  $ listctl runs show last --in-doubt
  $ listctl runs resolve last --row 17 --applied 4711
  $ listctl runs resolve last --row 18 --not-applied

If the journal may be lost and the service honors Idempotency-Key, derive the
keys from the rows: --idempotency-key-from row, content or a column name.

"runs show last -o id" lists the items that a run created; "runs undo last"
deletes them.

All flags: listctl items create --help
`;

const applyText = `Making a list match a manifest

A manifest describes the items of a list; apply creates and updates items until
the list matches. Running it again changes nothing.

  $ cat tasks.yaml
  site: home
  list: tasks
  key: Title
  items:
    - { Title: Buy milk, Count: 2 }
    - { Title: Call Zoë, Note: null }
  $ listctl apply tasks.yaml --init       # first run
  $ listctl apply tasks.yaml              # later runs
  $ listctl plan tasks.yaml               # show the plan only

The key is the field that uniquely identifies an item. Only the fields in the
manifest are managed; null clears a field.

The plan is shown as a diff to be confirmed; without a terminal pass --yes.
  +  create an item that does not exist
  ~  update a field that differs: old → new
  -  with --prune, delete an item that was removed from the manifest

State: the ids of created items are stored in tasks.yaml.state.json, since the
service cannot list items. Keep that file with the manifest. If it is lost,
apply would create every item again, so a first run requires --init, and --init
is refused if the state file exists. In CI, where each fresh checkout has lost
it, it must be --init=again. With Microsoft Graph, --init imports the items that
exist.

Drift: apply reads each managed item first. Items that were changed outside
apply are reset, missing ones are created again. --no-refresh plans from the
state file alone.

In CI:

  $ listctl apply tasks.yaml --dry-run --detailed-exitcode   # 12: changes
  $ listctl apply tasks.yaml --out plan.json --dry-run
  $ listctl apply plan.json --dry-run                        # show the plan
  $ listctl apply plan.json                                  # execute it

listctl state lists, imports, moves and forgets items, resolves items in doubt,
and exports the managed items as a manifest, or their ids with -o id.

All flags: listctl apply --help
`;

/** The pages that `listctl help NAME` shows, at most 80 columns wide, in the order of `listctl --help`. */
export const topics: readonly { name: string; summary: string; page: () => string }[] = [
  { name: 'flags', summary: 'global flags', page: flagsPage },
  { name: 'fields', summary: 'setting fields with -f and --fields', page: () => fieldsText },
  { name: 'output', summary: 'output formats, queries and streams', page: outputPage },
  { name: 'exit-codes', summary: 'exit codes', page: exitCodesPage },
  { name: 'environment', summary: 'environment variables and precedence', page: environmentPage },
  { name: 'bulk', summary: 'bulk operations and resuming them', page: () => bulkText },
  { name: 'apply', summary: 'making a list match a manifest', page: () => applyText },
];

function flagsPage(): string {
  const width = Math.max(...allFlags.map(({ flags }) => flags.length)) + 4;
  const groups = Object.entries(flagGroups).map(([group, flags]) => {
    const rows = Object.values(flags).map((each) => [
      (each.flags.startsWith('--') ? `    ${each.flags}` : each.flags).padEnd(width),
      describeFlag(each),
    ]);
    return `${group}:\n${formatTable(rows)}`;
  });
  return `Global flags

Every command accepts these flags, before or after its name.

${groups.join('\n')}
Many have an environment variable: listctl help environment
A time is 250ms, 30s, 5m, 1h30m or 1d; a bare number is seconds.
`;
}

function outputPage(): string {
  return `Output

Results are written to stdout; errors, notices, progress, prompts and run
summaries to stderr.

-o, --output FORMAT, LISTCTL_OUTPUT, or the setting of a profile (not for auth,
doctor, init and profile):
${formatTable(outputFormats.map((format) => [format, formatMeanings[format]]))}
--json is short for -o json, and table is pretty. curl, which implies
--dry-run, prints the request as a curl command; markdown prints a plan for the
comment of a pull request.

The default on a terminal is pretty. In a pipe, items and api print json for
one item and jsonl for several; other commands print pretty. Scripts should
pass a format.

Queries: -q EXPRESSION applies a JMESPath expression to the output; with jsonl,
to each line. A single string, number or boolean is printed bare. Numbers keep
their digits.

  $ listctl items get 17 -q fields.Title
  $ listctl items get 17 18 19 -q 'sort_by([], &fields.Price)[-1]' -o yaml
  $ listctl runs list -o json -q "[?status=='incomplete'].run"

Columns: --columns id,Title sets the columns of csv, tsv and tables; --wide does
not cut tables to the width of the terminal. --csv-safe escapes cells that
spreadsheets would run as formulas.

Errors: one line on stderr, up to two lines with hints, and "nothing was sent"
if a command that writes sent no write. With json or jsonl, one JSON line:
  {"error":{"kind":"not-found","exit":4,…}}.

On a terminal, control characters and bidirectional overrides in values are
shown as escapes; csv and tsv in files and pipes are exact.
`;
}

function exitCodesPage(): string {
  const rows = exitCodeRows.map(({ code, kind, meaning, advice }) => [String(code), kind, `${meaning} → ${advice}`]);
  const stops = signalRows.map(({ code, meaning }) => [String(code), '', meaning]);
  return `Exit codes

"error.kind" of a JSON error names the exit code. The help of each command
lists the codes that have a special meaning. After the arrow: what to do.

${formatTable([...rows, ...stops])}
After 8 a write may have taken effect, so check before you send it again. A
write that a signal interrupts ends with 8, too. 130 is Ctrl-C. A bulk run that
was stopped is resumed with --resume.

A second SIGINT or SIGTERM does not wait for responses. nohup does not protect
a run, since Node.js resets ignored signals: use setsid or tmux.

  $ listctl items get 17 -o json > item.json
  $ case $? in 0) ;; 4) echo "not found" ;; *) exit 1 ;; esac
`;
}

function environmentPage(): string {
  const ofFlags = allFlags.flatMap((each) => {
    const names = variableNames(each).join(', ');
    return names === '' ? [] : [[names, each.flag, variableTexts[each.flag] ?? describeFlag(each)]];
  });
  const others = otherVariables.map(([names, text]) => [names, '', text]);
  return `Environment variables

${formatTable([...ofFlags, ...others])}
Files, on Linux unless variables name other directories:

${formatTable(fileRows)}
Precedence, highest first:

  1. the flag; if it is repeated, the one nearest to the command
  2. the profile of --profile
  3. the environment
  4. .listctl.json in this or a parent directory: site, list and output only
  5. the default profile: LISTCTL_PROFILE, else the one of listctl profile use
  6. the default

An empty variable counts as unset; an invalid one is an error. There is no flag
for the token, since other users can read command lines. The token comes from
the profile of --profile, LISTCTL_TOKEN, LISTCTL_TOKEN_FILE,
LISTCTL_TOKEN_COMMAND or the default profile, in this order, and has at least 8
characters.

  $ export LISTCTL_BASE_URL=https://lists.example/v1.0 LISTCTL_SITE=home
  $ LISTCTL_LIST=tasks listctl items get 17
`;
}

const pageWidth = 80;

/** Formats rows in columns, two spaces apart; the last cell wraps. */
export function formatTable(rows: readonly (readonly string[])[], columns = pageWidth): string {
  const widths = (rows[0] ?? []).slice(0, -1).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const indent = widths.reduce((sum, width) => sum + width + 2, 2);
  return rows
    .map((row) => {
      const cells = widths.map((width, at) => (row[at] ?? '').padEnd(width + 2)).join('');
      return `  ${cells}${wrap(row.at(-1) ?? '', indent, columns)}\n`;
    })
    .join('');
}

/** Breaks a text between words; further lines are indented. */
export function wrap(text: string, indent: number, columns: number): string {
  let column = indent;
  const words = text.split(' ').map((word, at) => {
    const isFitting = at === 0 || column + 1 + word.length <= columns;
    column = (isFitting ? column + 1 : indent) + word.length;
    return at === 0 || isFitting ? word : `\n${' '.repeat(indent)}${word}`;
  });
  return words.join(' ').replaceAll(' \n', '\n');
}
