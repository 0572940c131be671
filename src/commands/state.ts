import type { Command } from 'commander';
import {
  type ManifestFlags,
  type OpenManifest,
  openManifest,
  readUnlockedState,
  withLockedState,
} from '../apply/open.ts';
import { type CurrentItem, hasKey } from '../apply/plan.ts';
import { refreshItems } from '../apply/refresh.ts';
import { checkTarget, forgetItem, importItem, newState, resolveItem, type State } from '../apply/state.ts';
import { writeState } from '../apply/state-file.ts';
import { parsePaceFlags } from '../bulk/flags.ts';
import { addCommands, addHelpNotes, type CommandSpec, type SetUp } from '../cli/command.ts';
import { type Session, withSession } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { checkId, type Fields, holdsFields, type Item, type ListRef, ownField, strongTag } from '../core/item.ts';
import { type JsonObject, type JsonValue, objectFrom } from '../core/json.ts';
import { itemView } from '../output/item.ts';
import type { View } from '../output/view.ts';
import { yamlDocument } from '../output/yaml.ts';
import { addManifestOptions } from './apply.ts';

/** Declares the manifest whose state is read. */
export function addManifestArgument(command: Command): void {
  command.argument('<manifest>', 'manifest file');
  addManifestOptions(command);
}

/** Declares what commands take that change a state. */
export function addStateOptions(command: Command): void {
  addManifestArgument(command);
  command
    .option('--lock-timeout <seconds>', 'seconds to wait for a lock (default 0)')
    .option('--break-lock', 'break a stale lock left by another host');
}

/** `listctl state export MANIFEST` */
export const exportCommand: CommandSpec = {
  name: 'export',
  summary: 'export the managed items as a manifest',
  setUp: (command, context) => {
    addManifestArgument(command);
    command.action((manifest: string, flags: ManifestFlags) =>
      withSession(context, command, async (session) => exportManifest(manifest, flags, session)),
    );
    addHelpNotes(command, {
      examples: ['listctl state export manifest.yaml > now.yaml', 'listctl state export manifest.yaml -o id'],
      globalFlags: ['site', 'list', 'output'],
      exits: [3, 6, 7],
    });
  },
};

/** `listctl state forget MANIFEST KEY` */
export const forgetCommand: CommandSpec = {
  name: 'forget',
  summary: 'stop managing an item without deleting it',
  setUp: (command, context) => {
    addStateOptions(command);
    command
      .argument('<key>', 'key of a managed item')
      .action((manifest: string, key: string, flags: ManifestFlags) =>
        withSession(context, command, async (session) => forget(manifest, key, flags, session)),
      );
    addHelpNotes(command, {
      examples: ['listctl state forget manifest.yaml "Buy milk"'],
      globalFlags: ['site', 'list', 'output'],
      exits: [11],
    });
  },
};

/** `listctl state import MANIFEST KEY=ID` */
export const importCommand: CommandSpec = {
  name: 'import',
  summary: 'import an existing item',
  setUp: (command, context) => {
    addStateOptions(command);
    command
      .argument('<key=id>', 'key in the manifest, and the id of the existing item')
      .action((manifest: string, text: string, flags: ManifestFlags) =>
        withSession(context, command, async (session) => importExisting(manifest, text, flags, session)),
      );
    addHelpNotes(command, {
      examples: ['listctl state import manifest.yaml "Buy milk=17"'],
      globalFlags: ['site', 'list', 'output'],
      exits: [3, 4, 11],
    });
  },
};

/** A key, and the id that is given for it. */
export interface KeyAndId {
  readonly key: string;
  readonly id: string;
}

/**
 * Reads `KEY=ID`. A key may hold `=`, so the last one divides; an id that holds one is rare enough to be refused.
 *
 * @throws {Failure} usage
 */
export function parseKeyAndId(text: string): KeyAndId {
  const at = text.lastIndexOf('=');
  if (at > 0 && at < text.length - 1) return { key: text.slice(0, at), id: text.slice(at + 1) };
  throw new Failure('usage', `invalid argument "${text}": expected KEY=ID`, {
    hint: 'pass a key and an id, such as "Buy milk=17"; nothing was changed',
  });
}

/**
 * Changes a state.
 *
 * @param makes whether a state is made where there is none
 * @param edit gives the state as it is to be
 * @throws {Failure} usage, when there is no state; locked; local-file; and what the edit throws
 */
export async function editState(
  word: string,
  flags: ManifestFlags,
  { makes }: { readonly makes: boolean },
  session: Session,
  edit: (state: State, named: OpenManifest) => Promise<State> | State,
): Promise<void> {
  const named = await openManifest(word, flags, session);
  await withLockedState(named.statePath, parsePaceFlags(flags), session, async (known) => {
    const state = known ?? (makes ? newState(named.target, named.manifest.key) : undefined);
    if (state === undefined) throw noState(named);
    if (known !== undefined) checkTarget(known, named.statePath, named.target, named.manifest.key);
    const edited = await edit(state, named);
    if (edited !== known) writeState(named.statePath, edited);
  });
}

/** The failure for a manifest without a state. */
export function noState({ statePath }: OpenManifest): Failure {
  return new Failure('usage', `no state file at ${statePath}`, {
    hint: 'run listctl apply MANIFEST --init to create one, or listctl state import to import existing items; nothing was changed',
  });
}

/** Reads an item of the list; its tag is one that If-Match takes, or none. */
export async function readItem({ site, list }: ListRef, id: string, session: Session): Promise<Item> {
  const api = await session.service.api();
  const item = await api.get({ site, list, id: checkId(id, 'item') });
  return { ...item, etag: strongTag(item.etag) };
}

/** The flags as they were typed. */
export interface ResolveFlags extends ManifestFlags {
  readonly force?: boolean;
}

/**
 * Says what became of a create in doubt.
 *
 * @param text `KEY=ID`, or `KEY=none`
 * @throws {Failure} usage, when it is not in doubt; conflict, when the item does not match; as `editState`
 */
export function resolve(manifest: string, text: string, flags: ResolveFlags, session: Session): Promise<void> {
  const word = parseKeyAndId(text);
  const isForced = flags.force === true;
  return editState(manifest, flags, { makes: false }, session, (state, named) =>
    resolved(state, named, word, isForced, session),
  );
}

async function resolved(
  state: State,
  { target }: OpenManifest,
  { key, id }: KeyAndId,
  isForced: boolean,
  session: Session,
): Promise<State> {
  const known = state.items.get(key);
  const nowMs = session.host.clock.now();
  if (known?.inDoubt === undefined || id === 'none') {
    const settled = resolveItem(state, key, null, nowMs);
    await session.messages.say(`"${key}" was not created: the next apply creates it`);
    return settled;
  }
  const item = await readItem(target, id, session);
  if (!isForced && !holdsFields(item.fields, known.fields)) {
    throw new Failure('conflict', `item ${item.id} does not match what was sent for "${key}"`, {
      hint: 'pass --force if it is the right item; nothing was changed',
    });
  }
  const settled = resolveItem(state, key, item, nowMs);
  await session.messages.say(`"${key}" is item ${item.id}`);
  return settled;
}

/** `listctl state resolve MANIFEST KEY=ID`, `KEY=none` */
export const resolveCommand: CommandSpec = {
  name: 'resolve',
  summary: 'resolve an item in doubt',
  setUp: (command, context) => {
    addStateOptions(command);
    command
      .argument('<key=id>', 'key, and the id of the created item; KEY=none if none was created')
      .option('--force', 'do not compare the item with the manifest')
      .action((manifest: string, text: string, flags: ResolveFlags) =>
        withSession(context, command, async (session) => resolve(manifest, text, flags, session)),
      );
    addHelpNotes(command, {
      examples: [
        'listctl state resolve manifest.yaml "Buy milk=17"',
        'listctl state resolve manifest.yaml "Buy milk=none"',
      ],
      globalFlags: ['site', 'list', 'output'],
      exits: [3, 4, 11],
    });
  },
};

/** `listctl state`: what `apply` knows of a list. */
export const setUpState: SetUp = (command, context) => {
  addCommands(command, context, [importCommand, forgetCommand, resolveCommand, exportCommand]);
};

/**
 * Takes over an item; where there is no state, one is made.
 *
 * @param text `KEY=ID`
 * @throws {Failure} usage, when the manifest has no such key, or it is known already; as `editState` and a read
 */
export async function importExisting(
  manifest: string,
  text: string,
  flags: ManifestFlags,
  session: Session,
): Promise<void> {
  const { key, id } = parseKeyAndId(text);
  await editState(
    manifest,
    flags,
    { makes: true },
    session,
    async (state, { manifest: { items, key: name }, target }) => {
      const named = items.find((item) => item.key === key);
      if (named === undefined) throw notInManifest(key, name);
      const item = await readItem(target, id, session);
      const imported = importItem(state, key, item, ofThose(item.fields, named.fields), session.host.clock.now());
      await session.messages.say(`imported item ${item.id} as "${key}"`);
      return imported;
    },
  );
}

function notInManifest(key: string, name: string): Failure {
  return new Failure('usage', `the manifest has no item with ${name} "${key}"`, {
    hint: 'add it to the manifest first; nothing was changed',
  });
}

/** What an item has of the fields that the manifest names. */
function ofThose(fields: Fields, named: Fields): Fields {
  const members: (readonly [string, JsonValue])[] = [];
  for (const name of Object.keys(named)) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (value !== undefined) members.push([name, value]);
  }
  return objectFrom(members);
}

/**
 * Lets go of an item, without deleting it.
 *
 * @throws {Failure} usage, when the state does not know the key; as `editState`
 */
export function forget(manifest: string, key: string, flags: ManifestFlags, session: Session): Promise<void> {
  return editState(manifest, flags, { makes: false }, session, async (state) => {
    const forgotten = forgetItem(state, key, session.host.clock.now());
    await session.messages.say(`stopped managing "${key}" (item ${state.items.get(key)?.id})`);
    return forgotten;
  });
}

/** Items as `items get` prints them: what reads rows takes them for items, and apply sends no ids. */
const exportView: View<Item> = { ...itemView, printsNone: true };

/**
 * Prints the manifest as it would be if the service were right; in formats for programs the items with their ids. Nothing
 * is written, and no lock is taken.
 *
 * @throws {Failure} usage, when there is no state; local-file, when it is damaged; as the reads
 */
export async function exportManifest(word: string, flags: ManifestFlags, session: Session): Promise<void> {
  const named = await openManifest(word, flags, session);
  const pace = parsePaceFlags(flags);
  const state = await readUnlockedState(named.statePath, session);
  if (state === undefined) throw noState(named);
  checkTarget(state, named.statePath, named.target, named.manifest.key);
  const items = toItems(state, await refreshItems(state, pace, session));
  const missing = state.items.size - items.length;
  if (missing > 0) {
    await session.messages.say(`${missing} of ${state.items.size} items are omitted: missing, in doubt or replaced`);
  }
  if (session.output.format(true) !== 'pretty' || session.output.hasQuery) {
    await session.output.printing(exportView, true, async (print) => {
      for (const item of items) await print(item);
    });
    return;
  }
  const { site, list } = named.target;
  const fields = items.map((item) => item.fields);
  await session.host.stdout.write(`${yamlDocument(toManifest({ site, list, key: state.key }, fields))}`);
}

function toManifest(top: JsonObject, items: readonly Fields[]): JsonObject {
  return objectFrom([...Object.entries(top), ['items', items]]);
}

/** The fields that the manifest names, as the service has them; items that are gone, or others by now, are left out. */
function toItems(state: State, current: ReadonlyMap<string, CurrentItem>): readonly Item[] {
  const items: Item[] = [];
  for (const [key, known] of state.items) {
    const now = current.get(key);
    if (known.id === undefined || now?.kind !== 'there' || !hasKey(now.fields, known, key, state.key)) continue;
    const named = Object.keys(known.fields).map((name) => [name, ownField(now.fields, name) ?? null] as const);
    const fields = objectFrom(named);
    items.push({ id: known.id, fields, members: { id: known.id, fields } });
  }
  return items;
}
