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
import { inSession, type Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { checkId, type Fields, holdsFields, type Item, type ListRef, ownField, strongTag } from '../core/item.ts';
import { type JsonValue, objectFrom } from '../core/json.ts';
import { itemView } from '../output/item.ts';
import { yamlDocument } from '../output/yaml.ts';
import { addManifestOptions } from './apply.ts';

/** `listctl state`: the state that `apply` keeps. */
export const setUpState: SetUp = (command, context) => {
  addCommands(command, context, [importCommand, forgetCommand, resolveCommand, exportCommand]);
};

function addManifestArgument(command: Command): void {
  command.argument('<manifest>', 'manifest file');
  addManifestOptions(command);
}

function addLockOptions(command: Command): void {
  command
    .option('--lock-timeout <time>', 'wait for a lock, e.g. 30s (default 0)')
    .option('--break-lock', 'break a stale lock left by another host');
}

/**
 * Changes the state of a manifest.
 *
 * @param edit returns the new state, or the same one for no change
 * @param mayCreate whether a missing state is an empty one
 */
async function editState(
  name: string,
  flags: ManifestFlags,
  session: Session,
  edit: (state: State, manifest: OpenManifest) => Promise<State> | State,
  mayCreate = false,
): Promise<void> {
  const opened = await openManifest(name, flags, session);
  const { statePath, target, manifest } = opened;
  await withLockedState(statePath, parsePaceFlags(flags), session, async (known) => {
    if (known !== undefined) checkTarget(known, statePath, target, manifest.key);
    else if (!mayCreate) throw noState(opened);
    const edited = await edit(known ?? newState(target, manifest.key), opened);
    if (edited !== known) writeState(statePath, edited);
  });
}

function noState({ statePath }: OpenManifest): Failure {
  return new Failure('usage', `no state file at ${statePath}`, {
    hint: 'run listctl apply MANIFEST --init to create one, or listctl state import to import existing items; nothing was changed',
  });
}

/** Parses `KEY=ID`; the last `=` divides, since keys may contain it. */
function parseKeyAndId(text: string): { readonly key: string; readonly id: string } {
  const at = text.lastIndexOf('=');
  if (at > 0 && at < text.length - 1) return { key: text.slice(0, at), id: text.slice(at + 1) };
  throw new Failure('usage', `invalid argument "${text}": expected KEY=ID`, {
    hint: 'pass a key and an id, such as "Buy milk=17"; nothing was changed',
  });
}

async function readItem({ site, list }: ListRef, id: string, session: Session): Promise<Item> {
  const client = await session.service.client();
  const item = await client.send(client.items.get({ site, list, id: checkId(id, 'item') }));
  return { ...item, etag: strongTag(item.etag) };
}

const importCommand: CommandSpec = {
  name: 'import',
  summary: 'import an existing item',
  setUp: (command, context) => {
    addManifestArgument(command);
    addLockOptions(command);
    command
      .argument('<key=id>', 'key in the manifest, and the id of the existing item')
      .action(
        inSession(context, async (session, manifest: string, text: string, flags: ManifestFlags) =>
          importExisting(manifest, text, flags, session),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl state import manifest.yaml "Buy milk=17"'],
      globalFlags: ['site', 'list', 'output'],
      exits: [3, 4, 11],
    });
  },
};

function importExisting(name: string, text: string, flags: ManifestFlags, session: Session): Promise<void> {
  const { key, id } = parseKeyAndId(text);
  const edit = async (state: State, { manifest, target }: OpenManifest) => {
    const wanted = manifest.items.find((item) => item.key === key);
    if (wanted === undefined) {
      throw new Failure('usage', `the manifest has no item with ${manifest.key} "${key}"`, {
        hint: 'add it to the manifest first; nothing was changed',
      });
    }
    const item = await readItem(target, id, session);
    const imported = importItem(state, key, item, pickFields(item.fields, wanted.fields), session.host.clock.now());
    await session.messages.say(`imported item ${item.id} as "${key}"`);
    return imported;
  };
  return editState(name, flags, session, edit, true);
}

/** The fields of an item that the manifest names, as far as it has them. */
function pickFields(fields: Fields, wanted: Fields): Fields {
  const members = Object.keys(wanted).map((name) => [name, ownField(fields, name)] as const);
  return objectFrom(members.filter((member): member is readonly [string, JsonValue] => member[1] !== undefined));
}

const forgetCommand: CommandSpec = {
  name: 'forget',
  summary: 'stop managing an item without deleting it',
  setUp: (command, context) => {
    addManifestArgument(command);
    addLockOptions(command);
    command.argument('<key>', 'key of a managed item').action(
      inSession(context, (session, manifest: string, key: string, flags: ManifestFlags) =>
        editState(manifest, flags, session, async (state) => {
          const forgotten = forgetItem(state, key, session.host.clock.now());
          await session.messages.say(`stopped managing "${key}" (item ${state.items.get(key)?.id})`);
          return forgotten;
        }),
      ),
    );
    addHelpNotes(command, {
      examples: ['listctl state forget manifest.yaml "Buy milk"'],
      globalFlags: ['site', 'list', 'output'],
      exits: [11],
    });
  },
};

interface ResolveFlags extends ManifestFlags {
  readonly force?: boolean;
}

const resolveCommand: CommandSpec = {
  name: 'resolve',
  summary: 'resolve an item in doubt',
  setUp: (command, context) => {
    addManifestArgument(command);
    addLockOptions(command);
    command
      .argument('<key=id>', 'key, and the id of the created item; KEY=none if none was created')
      .option('--force', 'do not compare the item with the manifest')
      .action(
        inSession(context, async (session, manifest: string, text: string, flags: ResolveFlags) =>
          resolve(manifest, text, flags, session),
        ),
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

function resolve(name: string, text: string, flags: ResolveFlags, session: Session): Promise<void> {
  const { key, id } = parseKeyAndId(text);
  return editState(name, flags, session, async (state, { target }) => {
    const known = state.items.get(key);
    const nowMs = session.host.clock.now();
    if (known?.inDoubt === undefined || id === 'none') {
      const resolved = resolveItem(state, key, null, nowMs);
      await session.messages.say(`"${key}" was not created: the next apply creates it`);
      return resolved;
    }
    const item = await readItem(target, id, session);
    if (!flags.force && !holdsFields(item.fields, known.fields)) {
      throw new Failure('conflict', `item ${item.id} does not match what was sent for "${key}"`, {
        hint: 'pass --force if it is the right item; nothing was changed',
      });
    }
    const resolved = resolveItem(state, key, item, nowMs);
    await session.messages.say(`"${key}" is item ${item.id}`);
    return resolved;
  });
}

const exportCommand: CommandSpec = {
  name: 'export',
  summary: 'export the managed items as a manifest',
  setUp: (command, context) => {
    addManifestArgument(command);
    command.action(
      inSession(context, (session, manifest: string, flags: ManifestFlags) => exportManifest(manifest, flags, session)),
    );
    addHelpNotes(command, {
      examples: ['listctl state export manifest.yaml > now.yaml'],
      globalFlags: ['site', 'list', 'output'],
      exits: [3, 6, 7],
    });
  },
};

/** Prints a manifest of the items as the service has them; in formats for programs the items with their ids. */
async function exportManifest(name: string, flags: ManifestFlags, session: Session): Promise<void> {
  const opened = await openManifest(name, flags, session);
  const { statePath, target, manifest } = opened;
  const pace = parsePaceFlags(flags);
  const state = await readUnlockedState(statePath, session);
  if (state === undefined) throw noState(opened);
  checkTarget(state, statePath, target, manifest.key);
  const items = managedItems(state, await refreshItems(state, pace, session));
  const missing = state.items.size - items.length;
  if (missing > 0) {
    await session.messages.say(`${missing} of ${state.items.size} items are omitted: missing, in doubt or replaced`);
  }
  if (session.output.format(true) !== 'pretty' || session.output.hasQuery) {
    await session.output.printing({ ...itemView, printsNone: true }, true, async (print) => {
      for (const item of items) await print(item);
    });
    return;
  }
  const { site, list } = target;
  const document = { site, list, key: state.key, items: items.map(({ fields }) => fields) };
  await session.host.stdout.write(yamlDocument(document));
}

/** The managed fields of the items that are still there, with the current values. */
function managedItems(state: State, current: ReadonlyMap<string, CurrentItem>): readonly Item[] {
  const items: Item[] = [];
  for (const [key, known] of state.items) {
    const now = current.get(key);
    if (known.id === undefined || now?.kind !== 'there' || !hasKey(now.fields, known, key, state.key)) continue;
    const managed = Object.keys(known.fields).map((name) => [name, ownField(now.fields, name) ?? null] as const);
    const fields = objectFrom(managed);
    items.push({ id: known.id, fields, members: { id: known.id, fields } });
  }
  return items;
}
