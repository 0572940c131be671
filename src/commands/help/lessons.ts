/** The pages that are text alone, at most 80 columns wide. */

/** `listctl help fields` */
export const fieldsText = `How the fields of an item are typed

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
export const manyText = `Many items from a file

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
export const applyText = `Making a list match a file

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

The plan is shown as a diff and asked about; where it can't ask it needs --yes.
  +  an item that is not there is created
  ~  a field that differs is set: old → new
  -  with --prune, an item that the seed no longer names is deleted

The state: the service can't be asked what it holds, so the ids of what was
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
