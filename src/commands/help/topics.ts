/** The pages that teach: what is true of many commands, told once. */
import { exitCodes, stopSignals } from '../../errors.ts';
import { outputFormats } from '../../output/view.ts';
import { variableRows } from './environment.ts';
import { exitCodeRows } from './exit-codes.ts';
import { formatMeanings } from './formats.ts';
import { applyText, fieldsText, manyText } from './lessons.ts';

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
