/** What `apply` does with a list in the loop: a manifest makes its items; then another one changes, prunes and adds some. */
import type { ServiceKind } from '../../src/settings/setting.ts';
import type { ListContents, TextFields } from './list-contents.ts';
import type { InputRow, Job } from './modes.ts';

/**
 * The job of a first manifest, in a list with an unmanaged item that looks like one of the manifest's. With Microsoft Graph
 * `apply` would import that, so that it has no key.
 */
export async function makeFirstManifest(
  mode: Job['mode'],
  count: number,
  list: ListContents,
  kind: ServiceKind,
): Promise<Job> {
  const foreign: TextFields = { ...(kind === 'graph' ? {} : { Row: '1' }), Note: 'of somebody' };
  const [id = ''] = await list.add([foreign]);
  const rows = numbered(1, count).map((number) => rowOf(undefined, fieldsOf(number, 'first')));
  return { ...applyJob(mode, rows), bystanders: new Map([[id, foreign]]), idMax: 1 };
}

/**
 * The job of the manifest after it: of three items one is pruned, and every other one of those that stay is changed; some
 * are new.
 *
 * @param first the job before
 * @param ids what that made, by the row's number
 */
export function makeSecondManifest(first: Job, ids: ReadonlyMap<number, string>): Job {
  const old = first.rows.map(({ becomes }, at) => {
    const id = ids.get(at + 1);
    if (at % 3 === 0) return { id, fields: {}, becomes: undefined };
    return rowOf(id, at % 2 === 0 && becomes !== undefined ? becomes : fieldsOf(at + 1, 'second'));
  });
  const added = numbered(old.length + 1, old.length + 10).map((number) => rowOf(undefined, fieldsOf(number, 'new')));
  return { ...applyJob(first.mode, [...old, ...added]), bystanders: first.bystanders, idMax: first.idMax };
}

function applyJob(mode: Job['mode'], rows: readonly InputRow[]): Pick<Job, 'mode' | 'words' | 'files' | 'rows'> {
  const items = rows.flatMap(({ becomes }) => (becomes === undefined ? [] : [becomes]));
  const keyed = mode === 'apply-keyed' ? ['--idempotency', 'honored'] : [];
  const words = ['apply', 'manifest.json', '--prune', '--yes', ...keyed];
  return { mode, words, rows, files: { 'manifest.json': JSON.stringify({ key: 'Row', items }) } };
}

function rowOf(id: string | undefined, fields: TextFields): InputRow {
  return { id, fields, becomes: fields };
}

/** The key among them is the row's number. */
function fieldsOf(number: number, note: string): TextFields {
  return { Row: String(number), Note: note, Kept: 'x' };
}

function numbered(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}
