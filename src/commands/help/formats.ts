import type { outputFormats } from '../../output/view.ts';

/** What each `--output` is, in a line. */
export const formatMeanings: Readonly<Record<(typeof outputFormats)[number], string>> = {
  pretty: 'for people: a table, or a name and a value a line; it may change',
  json: 'one value; an array where several were asked for',
  jsonl: 'one JSON value a line, as it comes',
  yaml: 'the same as json, as YAML 1.2',
  csv: 'a header line, then a line for each; quoted where needed (RFC 4180)',
  tsv: 'the same with tabs',
  id: 'the ids alone, one a line: what the next command takes',
  none: 'nothing: the exit code and the summary tell',
};
