/** The rows of YAML files. Loaded late, since the parser of YAML takes long to load. */
import { Failure } from '../core/errors.ts';
import { isList, isObject, type JsonValue } from '../core/json.ts';
import { readYamlDocuments, YamlSyntaxError } from '../core/yaml.ts';
import type { RawRow } from './types.ts';

/**
 * Parses the rows: the elements of each document that is a list, and each other document as one row.
 *
 * @param name of the input, for messages
 * @returns undefined if no document has a value, not even an empty list
 * @throws {Failure} usage, with line and column
 */
export function parseYamlRows(text: string, name: string): readonly RawRow[] | undefined {
  const { documents, placeOf } = withYamlPlaces(name, () => readYamlDocuments(text));
  const lineOf = (of: JsonValue, member?: number) => placeOf(of, member)?.line ?? 1;
  const values = documents.filter((value) => value !== null);
  const [first] = values;
  if (values.length === 1 && isManifest(first)) throw manifestFailure(name);
  if (first === undefined) return undefined;
  return values.flatMap((value) =>
    isList(value)
      ? value.map((item, at): RawRow => ({ line: lineOf(value, at), source: { kind: 'json', value: item } }))
      : [{ line: lineOf(value), source: { kind: 'json', value } }],
  );
}

/** Turns a fault of YAML into a failure with the name of the file and its place. */
export function withYamlPlaces<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    const { line, column } = error.place;
    throw new Failure('usage', `${name}, line ${line}, column ${column}: invalid YAML: ${error.reason}`, {
      cause: error,
    });
  }
}

/** An item with these names alone is less likely than the wrong command. */
function isManifest(value: JsonValue | undefined): boolean {
  if (!isObject(value) || !Array.isArray(value['items'])) return false;
  return Object.keys(value).every((name) => ['name', 'site', 'list', 'key', 'items'].includes(name));
}

function manifestFailure(name: string): Failure {
  return new Failure('usage', `${name} is a manifest, not a list of rows`, {
    hint: 'run "listctl apply" with it, or pass the list under "items" alone',
  });
}
