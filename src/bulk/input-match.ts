/** Compares an input with the rows that a run sent. */
import { createHash, type Hash } from 'node:crypto';
import type { Session } from '../cli/session.ts';
import { absolutePath, resolveLinks } from '../core/files.ts';
import { untilStopped } from '../core/host.ts';
import type { Fields, ListRef } from '../core/item.ts';
import { type JsonObject, printJson } from '../core/json.ts';
import type { Check } from '../rows/check.ts';
import { nameOf } from '../rows/input.ts';
import type { RowsFile } from '../rows/read.ts';
import { type BadRow, fromReading, type Row } from '../rows/types.ts';
import type { KeyColumn } from '../services/service.ts';
import { findRunsDirectory } from '../settings/directories.ts';
import { type BulkOptions, formatKeySource, formatShard } from './flags.ts';
import type { InputFacts, JournalHeader } from './journal-format.ts';
import type { Replay } from './journal-read.ts';
import { payloadHash } from './keys.ts';
import { identityOf, runOrigin } from './record.ts';
import { findUndo, hasBegun, isUndone } from './runs.ts';

/** The action and the place of a run; with the content of its input, its identity. */
export type RunTarget = Pick<JournalHeader, 'action' | 'origin' | 'profile' | 'site' | 'list' | 'shard'>;

/** The input of a run, to compare with that of others. */
export interface RunInput extends Pick<InputFacts, 'rows' | 'sha256' | 'sample'> {
  readonly target: RunTarget;
  readonly name: string;
  readonly path: string | undefined;
  /** A hash of the options that map columns to fields. */
  readonly mapping: string;
  /** The source of derived keys, as recorded in the journal. */
  readonly keysFrom: string | undefined;
  readonly keyField: KeyColumn | undefined;
  /** Whether a run was undone: of an update or a delete, in part. */
  readonly isUndone: (before: Replay) => Promise<boolean>;
  readonly match: (before: Replay) => Promise<InputMatch>;
}

/** A file that was checked, with what its run depends on. */
interface CheckedInput {
  readonly file: RowsFile;
  readonly check: Check & Pick<RunInput, 'sample'>;
  /** The fields of every row, as typed. */
  readonly common: Fields;
  readonly options: Pick<BulkOptions, 'shard' | 'keysFrom' | 'journal'>;
  readonly list: ListRef;
  readonly keyField: KeyColumn | undefined;
}

/** How an input compares with the rows that a run sent. */
export type InputMatch =
  /** They are in it, unchanged; others may be fixed, and added at the end. */
  | { readonly kind: 'same' }
  /** Most of them are; `row` is the first that is not, undefined if it is missing or unknown. */
  | { readonly kind: 'changed'; readonly row: Row | BadRow | undefined }
  | { readonly kind: 'other' };

/** The rows of a sample: few, however many there are, and with those of any input that begins with the same rows. */
function isSampled(row: number): boolean {
  return row <= 16 || (row & (row - 1)) === 0;
}

/** Wraps a file so that reading it over every shard takes a sample of its rows. */
export function sampled(file: RowsFile): { readonly file: RowsFile; rows(): readonly string[] } {
  let sample: string[] = [];
  const take = (row: Row | BadRow) => {
    if (isSampled(row.number)) sample.push(row.problem === undefined ? payloadHash(row.id, row.fields) : '');
  };
  const blocks: RowsFile['blocks'] = async function* (pass = {}) {
    sample = [];
    for await (const block of file.blocks(pass)) {
      if (pass.everyShard) block.forEach(take);
      yield block;
    }
  };
  return { rows: () => sample, file: { ...file, blocks } };
}

/** Whether most rows of the shorter sample are in the other one. */
export function sharesSample(one: InputFacts['sample'] = [], other: InputFacts['sample'] = []): boolean {
  const length = Math.min(one.length, other.length);
  return length > 0 && countShared(one, other) * 2 >= length;
}

/** Counts the rows of a sample that are in the other one. */
export function countShared(one: InputFacts['sample'] = [], other: InputFacts['sample'] = []): number {
  return one.filter((hash, at) => hash !== '' && hash === other[at]).length;
}

/** So many rows are compared at least before an input is taken for another one. */
const comparedMin = 1000;

/** Compares the rows of a file with those that a run sent. */
async function matchRows(
  before: Replay,
  file: RowsFile,
  input: Pick<RunInput, 'rows' | 'sample'>,
): Promise<InputMatch> {
  const { header, counts } = before;
  const rows = new SentRows(before);
  for await (const block of file.blocks()) {
    for (const row of block) rows.take(row);
    if (rows.isDecided) break;
  }
  const { same, changed, first } = rows;
  if (!rows.areCompactedSame()) {
    return sharesSample(header.input.sample, input.sample) ? { kind: 'changed', row: undefined } : { kind: 'other' };
  }
  const sent = counts.done + counts.inDoubt;
  if (changed > same || (same === 0 && sent > 0)) return { kind: 'other' };
  const hasAll = same === sent && input.rows >= header.input.rows;
  return hasAll ? { kind: 'same' } : { kind: 'changed', row: first };
}

/** Counts the rows that a run did or may have done, by whether they are the same in a file. */
class SentRows {
  same = 0;
  changed = 0;
  first: Row | BadRow | undefined;
  isDecided = false;
  readonly #before: Replay;
  /** Of the rows of which a compacted journal has one hash together. */
  #compacted: Hash | undefined;

  constructor(before: Replay) {
    this.#before = before;
  }

  take(row: Row | BadRow): void {
    const { header, stateOf, hashOf: sentHash } = this.#before;
    this.isDecided ||= row.number > header.input.rows || (this.changed > comparedMin && this.changed > this.same);
    const state = this.isDecided ? 'pending' : stateOf(row.number);
    if (state !== 'done' && state !== 'in-doubt') return;
    const sent = sentHash(row.number);
    const hash = row.problem === undefined ? payloadHash(row.id, row.fields) : '';
    if (sent === undefined && header.isShrunk) {
      this.#compacted = (this.#compacted ?? createHash('sha256')).update(hash);
      this.same += 1;
    } else if (hash === sent) this.same += 1;
    else {
      this.changed += 1;
      this.first ??= row;
    }
  }

  areCompactedSame(): boolean {
    return this.#compacted === undefined || this.#compacted.digest('hex') === this.#before.header.rowsHash;
  }
}

/** Makes the input of a run from a file that was checked. */
export function toRunInput(
  { file, check, common, options, list, keyField }: CheckedInput,
  { host, settings }: Pick<Session, 'host' | 'settings'>,
): RunInput {
  const { input } = file;
  const { rows, sha256, sample } = check;
  const mapping = mappingOf(file, common);
  const matches = new Map<string, InputMatch>();
  return {
    ...{ rows, sha256, sample, mapping },
    target: {
      action: file.options.action,
      origin: runOrigin({ host, settings }),
      ...list,
      shard: formatShard(options),
      profile: settings.profile(),
    },
    name: nameOf(input.name),
    path: input.isSpooled ? undefined : absolutePath(input.name, host),
    keysFrom: options.keysFrom && formatKeySource(options.keysFrom),
    keyField,
    isUndone: async ({ header, counts }) => {
      const journal = options.journal === undefined ? undefined : resolveLinks(absolutePath(options.journal, host));
      const undo = await findUndo(header.run, journal, findRunsDirectory(host) ?? '');
      // Of an update or a delete, an undo restores each row once.
      if (undo === undefined) return false;
      return header.keepsBefore ? hasBegun(undo.counts) : isUndone(counts, undo.counts.done);
    },
    match: async (before) => {
      const { run, input: recorded, mapping: recordedMapping } = before.header;
      if (recorded.sha256 === sha256 && recordedMapping === mapping) return { kind: 'same' };
      // Compared again under the lock, where the journal is usually as it was.
      const known = `${run} ${before.lengthBytes}`;
      const match = matches.get(known) ?? (await untilStopped(matchRows(before, file, check), host.signal));
      matches.set(known, match);
      return match;
    },
  };
}

/** How an input is read, as the journal records it. */
export function readingOf({ options, format, delimiter }: RowsFile): JsonObject {
  const { action: _action, common: _common, form: _form, shard: _shard, blockBytes: _size, ...reading } = options;
  return fromReading({ ...reading, format, delimiter });
}

/** Of what was typed: a column that has changed since is found by the values of its rows. */
function mappingOf({ options, format, delimiter }: RowsFile, common: Fields): string {
  const { rename, only, types, empty, idColumn, rows, encoding, quotes, decimal, names = 'internal', split } = options;
  const reading = [format, delimiter, encoding, quotes !== false, decimal ?? '.'];
  const forms = names === 'internal' && split === undefined ? [] : [names, split];
  const facts = [...reading, [...rename], only, [...types], empty, idColumn, rows, printJson(common), ...forms];
  return identityOf(JSON.stringify(facts));
}
