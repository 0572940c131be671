#!/bin/sh
# Answers what docs/graph.md cannot say without a tenant. Run it on a scratch list whose profile `listctl init` has saved:
#   LISTCTL_PROFILE=scratch sh graph-report.sh > report.txt
# It creates items titled "listctl report …", deletes them at the end, and changes nothing else. The report has statuses,
# codes, types and times, but no names, ids or tokens. It is best with a column of each type, a text column that is
# indexed, and one that is unique.
set -u
work=$(mktemp -d) || exit 1
mark="listctl report $$"
items='sites/{site}/lists/{list}/items'
# Marks of --since last of its own.
export LISTCTL_STATE_DIR="$work/state"

say() { printf '%-60s %s\n' "$1" "$2"; }

# Sends a request once. $answer: `ok`, or status and code; $work/out: the response, or what -q selects.
send() {
  if listctl api "$@" --retries 0 -o json > "$work/out" 2> "$work/err"; then
    answer=ok
  else
    answer=$(sed -n 's/.*"status":\([0-9]*\).*/\1/p' "$work/err" | tail -n 1)
    code=$(sed -n 's/.*"serviceCode":"\([A-Za-z]*\)".*/\1/p' "$work/err" | tail -n 1)
    answer="${answer:-no response}${code:+ $code}"
  fi
}

# Creates an item with more fields; $id is its id.
create() {
  send POST "$items" -d "{\"fields\":{\"Title\":\"$mark\"$1}}" -q id
  id=$(tr -d '"\n' < "$work/out")
}

read_value() { listctl api "$items/$1?\$expand=fields" -q "$2" -o json 2> "$work/err" | tr -d '"\n'; }

own_ids() { listctl items list --select Title -o tsv 2> "$work/err" | awk -F '\t' -v mark="$mark" '$2 == mark { print $1 }'; }

# The name of the first column of a type, with a condition on its line.
column() { awk -F '\t' -v type="$1" "\$1 == type && \$2 != \"Title\" && \$5 == \"true\" ${2:-} { print \$2; exit }" "$work/columns"; }

clean() {
  own_ids > "$work/own.txt"
  left=$(wc -l < "$work/own.txt" | tr -d ' ')
  if [ "$left" -gt 0 ]; then
    listctl items delete --from "$work/own.txt" --yes --ignore-missing -o none --quiet 2> "$work/err"
  fi
  say 'items that were created and are deleted' "$left, of which now remain $(own_ids | wc -l | tr -d ' ')"
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

say "listctl $(listctl --version)" "$(date -u +%Y-%m-%d)"
send 'sites/{site}?$select=id'
say 'read the site' "$answer"
listctl columns list --columns type,name,unique,indexed,writable -o tsv > "$work/columns" 2> "$work/err"
say 'read the columns' "exit $?: $(cut -f 1 "$work/columns" | sed 1d | sort | uniq -c | awk '{ printf "%s %s, ", $1, $2 }')"

create ''
say 'create an item' "$answer"
[ "$answer" = ok ] || exit 1
first=$id
old=$(listctl api "$items/$first" -q eTag -o json 2> "$work/err" | sed 's/\\"/"/g; s/^"//; s/"$//')
listctl api "$items/$first" -i -o json 2> "$work/err" | tr -d '\r' | sed '/^$/q' > "$work/head"
say 'a read has the headers' "$(grep -ioE '^(etag|ratelimit[a-z-]*|x-ms-ags[a-z-]*):' "$work/head" | tr -d '\n')"
send PATCH "$items/$first/fields" -d "{\"Title\":\"$mark\"}" -q '"@odata.etag"'
patched=$(cat "$work/out")
say 'PATCH fields' "$answer"
send "$items/$first" -q eTag
say 'the tag of that response is the eTag of the item' "$([ "$patched" = "$(cat "$work/out")" ] && echo yes || echo no)"
say 'eTag equals @odata.etag' "$(read_value "$first" 'eTag == "@odata.etag"')"
send PATCH "$items/$first/fields" -d "{\"Title\":\"$mark\"}" -H "If-Match: $old"
say 'PATCH fields with an old tag in If-Match' "$answer"
send PATCH "$items/$first" -d "{\"fields\":{\"Title\":\"$mark\"}}"
say 'PATCH of the item with {"fields"}' "$answer"
send "$items/none"
say 'GET of an id that is no number' "$answer"

# Values of the wrong type: a refusal, a fault, or stored?
wrong() {
  name=$(column "$1")
  [ -n "$name" ] || return
  create ",$(printf '%s' "$2" | sed "s/COLUMN/$name/g")"
  say "$1: $3" "$answer"
}
before=$(own_ids | wc -l)
wrong text '"COLUMN":1' 'a number'
wrong number '"COLUMN":"x"' 'a text'
wrong number '"COLUMN":"1"' 'a number as text'
wrong currency '"COLUMN":"x"' 'a text'
wrong boolean '"COLUMN":"x"' 'a text'
wrong dateTime '"COLUMN":"x"' 'a text'
wrong choice '"COLUMN":"no such choice"' 'another choice'
wrong 'choice[]' '"COLUMN":["x"]' 'without @odata.type'
wrong lookup '"COLUMN":"1"' 'by its own name'
wrong lookup '"COLUMNLookupId":"1"' 'the id as text'
wrong personOrGroup '"COLUMNLookupId":"x"' 'a text for an id'
say 'of these were stored' "$(($(own_ids | wc -l) - before))"
link=$(awk -F '\t' '$1 == "hyperlinkOrPicture" { print $2; exit }' "$work/columns")
if [ -n "$link" ]; then
  body="{\"fields\":{\"Title\":\"$mark\",\"$link\":{\"Url\":\"https://example.com\",\"Description\":\"x\"}}}"
  send POST "$items" -d "$body" -H 'Prefer: apiversion=2.1'
  say 'a hyperlink with Prefer: apiversion=2.1' "$answer"
fi

date_column=$(column dateTime)
if [ -n "$date_column" ]; then
  create ",\"$date_column\":\"2026-01-31\""
  say 'a bare date 2026-01-31 is read as' "$(read_value "$id" "fields.$date_column")"
fi

indexed=$(column text '&& $4 == "true"')
if [ -n "$indexed" ]; then
  started=$(date +%s)
  create ",\"$indexed\":\"$mark filter\""
  until listctl items list --where "$indexed=$mark filter" -o id 2> "$work/err" | grep -q .; do
    [ $(($(date +%s) - started)) -lt 60 ] || break
  done
  say 'seconds until a filter finds a create' "$(($(date +%s) - started))"
fi

unique=$(column text '&& $3 == "true"')
if [ -n "$unique" ]; then
  twice=0
  for pair in 1 2 3 4 5 6 7 8 9 10; do
    body="{\"fields\":{\"Title\":\"$mark\",\"$unique\":\"$mark $pair\"}}"
    for each in 1 2; do
      listctl api POST "$items" -d "$body" --retries 0 -q id -o json > "$work/pair$each" 2>&1 &
    done
    wait
    [ "$(cat "$work/pair1" "$work/pair2" | grep -c '^"')" = 1 ] || twice=$((twice + 1))
  done
  say 'of 10 pairs of creates with one unique key, not exactly one stays' "$twice"
fi

listctl items list --since last -o none --quiet 2> "$work/err"
say 'delta' "exit $?"
started=$(date +%s)
create ''
until listctl items list --since last -o id --quiet 2> "$work/err" | grep -qx "$id"; do
  [ $(($(date +%s) - started)) -lt 120 ] || break
done
say 'seconds until a delta shows a create' "$(($(date +%s) - started))"
send "$items/delta?\$expand=fields&\$top=1" -q '"@odata.nextLink"'
case $(cat "$work/out") in
  *expand*) say 'the next link of a delta keeps $expand' yes ;;
  *) say 'the next link of a delta keeps $expand' no ;;
esac

listctl items delete "$first" --yes -o none --quiet 2> "$work/err"
say 'delete an item' "exit $?; look: is it in the recycle bin of the site?"
