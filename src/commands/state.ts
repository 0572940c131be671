import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import {
  importItems,
  importList,
  notInManifest,
  parseKeyedId,
  readKeyedIds,
  readManaged,
} from '../apply/import-items.ts';
import {
  type ManifestFlags,
  type OpenManifest,
  openManifest,
  readUnlockedState,
  statePathOf,
  withLockedState,
} from '../apply/open.ts';
import { type CurrentItem, hasKey, includesFields } from '../apply/plan.ts';
import { doubtObject } from '../apply/plan-file.ts';
import {
  checkTarget,
  forgetItem,
  moveItem,
  newState,
  resolveItem,
  type State,
  type StateItem,
  unknownKey,
} from '../apply/state.ts';
import { backupPath, writeState } from '../apply/state-file.ts';
import { addLockOptions, parsePaceFlags } from '../bulk/flags.ts';
import { payloadHash } from '../bulk/keys.ts';
import { addCommands, addHelpNotes, type CommandSpec, type SetUp } from '../cli/command.ts';
import { inSession, type Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { checkId, type Item, ownField, strongTag } from '../core/item.ts';
import { type JsonObject, objectFrom, withoutUndefined } from '../core/json.ts';
import { countOf } from '../core/text.ts';
import { yamlDocument } from '../core/yaml.ts';
import { itemView } from '../output/item.ts';
import type { Row, View } from '../output/view.ts';
import { nameOf } from '../rows/input.ts';
import { addManifestOptions } from './apply.ts';

/** `listctl state`: the state that `apply` keeps. */
export const setUpState: SetUp = (command, context) => {
  addCommands(command, context, [
    ...[listCommand, showCommand, importCommand, moveCommand],
    ...[forgetCommand, resolveCommand, exportCommand],
  ]);
};

/** Declares the manifest of a command that changes its state. */
function addEditArgument(command: Command): void {
  command.argument('<manifest>', 'manifest file');
  addManifestOptions(command);
  addLockOptions(command);
}

/** @param edit returns the new state, or the same one for no change */
async function editState(
  name: string,
  flags: ManifestFlags,
  session: Session,
  edit: (state: State, manifest: OpenManifest) => Promise<State> | State,
  mayCreate = false,
): Promise<void> {
  const path = statePathOf(name, flags, session.host);
  if (!mayCreate && !existsSync(path) && !existsSync(backupPath(path))) throw noState({ statePath: path });
  const opened = await openManifest(name, flags, session);
  const { statePath, target, manifest } = opened;
  await withLockedState(statePath, parsePaceFlags(flags), session, async (known) => {
    if (known !== undefined) checkTarget(known, statePath, target, manifest.key);
    else if (!mayCreate) throw noState(opened);
    const edited = await edit(known ?? newState(target, manifest.key), opened);
    if (edited !== known) writeState(statePath, edited);
  });
}

function noState({ statePath }: Pick<OpenManifest, 'statePath'>): Failure {
  return new Failure('usage', `no state file at ${statePath}`, {
    hint: 'run listctl apply MANIFEST --init to create one, or listctl state import to import existing items; nothing was changed',
  });
}

/** A managed item, or one whose create is in doubt. */
type ManagedItem = readonly [key: string, item: StateItem];

/** The view of `state list`; the fingerprint is that of the fields. */
const managedItemView: View<ManagedItem> = {
  pretty: async (items, screen) => {
    const { drawRows } = await import('../output/table.ts');
    return drawRows(items.map(toRow), screen, undefined, true);
  },
  printsNone: true,
  json: (item) => withoutUndefined(managedMembers(item)),
  id: ([, { id }]) => id,
  columns: ['key', 'id', 'status', 'fingerprint'],
  row: toRow,
};

function managedMembers([key, { id, fields, inDoubt }]: ManagedItem) {
  const status = inDoubt === undefined ? 'managed' : 'in-doubt';
  return { key, id, status, fingerprint: payloadHash(undefined, fields) };
}

function toRow(item: ManagedItem): Row {
  return new Map(Object.entries({ ...managedMembers(item), id: item[1].id ?? null }));
}

/** The view of `state show`. */
const managedDetailView: View<ManagedItem> = {
  ...managedItemView,
  pretty: async (items, screen) => {
    const { drawRows } = await import('../output/table.ts');
    return items.map((item) => drawRows([new Map(Object.entries(detailOf(item)))], screen, undefined)).join('\n\n');
  },
  json: detailOf,
};

function detailOf(managed: ManagedItem): JsonObject {
  const [, item] = managed;
  const etag = item.inDoubt === undefined ? item.etag : undefined;
  const doubt = item.inDoubt && doubtObject(item.inDoubt);
  return withoutUndefined({ ...managedMembers(managed), etag, inDoubt: doubt, fields: item.fields });
}

function addStateArgument(command: Command): void {
  command.argument('<manifest>', 'manifest file').option('--state <file>', 'state file (default MANIFEST.state.json)');
}

/** Reads the state of a manifest alone: its file may be missing, and no service is needed. */
async function readStateOf(manifest: string, flags: Pick<ManifestFlags, 'state'>, session: Session): Promise<State> {
  const statePath = statePathOf(manifest, flags, session.host);
  const state = await readUnlockedState(statePath, session);
  if (state === undefined) throw noState({ statePath });
  return state;
}

const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls'],
  summary: 'list the managed items',
  setUp: (command, context) => {
    addStateArgument(command);
    command.action(
      inSession(context, async (session, manifest: string, flags: ManifestFlags) => {
        const { items } = await readStateOf(manifest, flags, session);
        await session.output.printing(managedItemView, true, async (print) => {
          for (const item of items) await print(item);
        });
      }),
    );
    addHelpNotes(command, {
      examples: ['listctl state list manifest.yaml', 'listctl state list manifest.yaml -o csv > ids.csv'],
    });
  },
};

const showCommand: CommandSpec = {
  name: 'show',
  summary: 'show a managed item',
  setUp: (command, context) => {
    addStateArgument(command);
    command.argument('<key>', 'key of a managed item').action(
      inSession(context, async (session, manifest: string, key: string, flags: ManifestFlags) => {
        const state = await readStateOf(manifest, flags, session);
        const item = state.items.get(key);
        if (item === undefined) throw unknownKey(key, state);
        await session.output.printing(managedDetailView, false, async (print) => print([key, item]));
      }),
    );
    addHelpNotes(command, { examples: ['listctl state show manifest.yaml "Buy milk"'] });
  },
};

const importCommand: CommandSpec = {
  name: 'import',
  summary: 'import existing items',
  setUp: (command, context) => {
    command
      .option('--from <file>', 'CSV or JSON file with the columns key and id')
      .option('--all', 'all items of the list with its keys (Microsoft Graph)')
      .option('--force', 'with --from: also import items with another value in the key field');
    addEditArgument(command);
    command
      .argument('[key=id...]', 'keys in the manifest, each with the id of its item')
      .action(inSession(context, importExisting));
    addHelpNotes(command, {
      examples: [
        'listctl state import manifest.yaml "Buy milk=17"',
        'listctl state import manifest.yaml --all --key Title',
      ],
      globalFlags: ['site', 'list'],
      exits: [3, 4, 5, 6, 7, 11],
    });
  },
};

async function importExisting(
  session: Session,
  manifest: string,
  texts: readonly string[],
  options: ManifestFlags & { readonly from?: string; readonly all?: boolean; readonly force?: boolean },
): Promise<void> {
  const { from, all = false, force = false, ...flags } = options;
  const given = [all && '--all', from !== undefined && '--from', texts.length > 0 && 'KEY=ID'].filter((each) => each);
  if (given.length !== 1) {
    const message =
      given.length === 0 ? 'KEY=ID, --from or --all is required' : `${given[0]} cannot be used with ${given[1]}`;
    throw new Failure('usage', message, { hint: 'nothing was changed' });
  }
  const pace = parsePaceFlags(flags);
  const { messages } = session;
  const typed = texts.map(parseKeyedId);
  const edit = async (state: State, opened: OpenManifest) => {
    if (all) {
      const { state: imported, count, unmanaged } = await importList(state, { opened, pace }, session);
      const rest = unmanaged === 0 ? '' : `; ${countOf(unmanaged, 'other')} of the list not in the manifest`;
      await messages.say(`imported ${countOf(count, 'item')}${rest}`);
      return imported;
    }
    const items = from === undefined ? typed : await readKeyedIds(from, session);
    const options = { opened, pace, name: from === undefined ? 'the command line' : nameOf(from), force };
    const imported = await importItems(state, items, options, session);
    if (from !== undefined) await messages.say(`imported ${countOf(items.length, 'item')}`);
    else for (const { key, id } of items) await messages.say(`imported item ${id} as "${key}"`);
    return imported;
  };
  await editState(manifest, flags, session, edit, true);
}

const moveCommand: CommandSpec = {
  name: 'move',
  aliases: ['mv'],
  summary: 'give a managed item another key',
  setUp: (command, context) => {
    addEditArgument(command);
    command
      .argument('<old>', 'key of a managed item')
      .argument('<new>', 'its new key, as in the manifest')
      .action(
        inSession(context, (session, name: string, from: string, to: string, flags: ManifestFlags) =>
          editState(name, flags, session, async (state, { manifest }) => {
            const moved = moveItem(state, from, to, session.host.clock.now());
            if (!manifest.items.some(({ key }) => key === to)) throw notInManifest(to, manifest.key);
            await session.messages.say(`"${to}" is item ${state.items.get(from)?.id}, which was "${from}"`);
            return moved;
          }),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl state move manifest.yaml "Buy milk" "Buy oat milk"'],
      globalFlags: ['site', 'list'],
      exits: [11],
    });
  },
};

const forgetCommand: CommandSpec = {
  name: 'forget',
  aliases: ['rm'],
  summary: 'stop managing an item without deleting it',
  setUp: (command, context) => {
    addEditArgument(command);
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
      globalFlags: ['site', 'list'],
      exits: [11],
    });
  },
};

const resolveCommand: CommandSpec = {
  name: 'resolve',
  summary: 'resolve an item in doubt',
  setUp: (command, context) => {
    addEditArgument(command);
    command
      .argument('<key=id>', 'key, and the id of the created item; KEY=none if none was created')
      .option('--force', 'do not compare the item with the manifest')
      .action(inSession(context, resolve));
    addHelpNotes(command, {
      examples: [
        'listctl state resolve manifest.yaml "Buy milk=17"',
        'listctl state resolve manifest.yaml "Buy milk=none"',
      ],
      globalFlags: ['site', 'list'],
      exits: [3, 4, 11],
    });
  },
};

function resolve(
  session: Session,
  name: string,
  text: string,
  flags: ManifestFlags & { readonly force?: boolean },
): Promise<void> {
  const { key, id } = parseKeyedId(text);
  return editState(name, flags, session, async (state, { target, schema }) => {
    const known = state.items.get(key);
    const nowMs = session.host.clock.now();
    if (known?.inDoubt === undefined || id === 'none') {
      const resolved = resolveItem(state, key, null, nowMs);
      await session.messages.say(`"${key}" was not created: the next apply creates it`);
      return resolved;
    }
    const { site, list } = target;
    const client = await session.service.client();
    const items = await session.service.items();
    const item = await client.send(items.get({ site, list, id: checkId(id, 'item') }));
    const found = schema === undefined ? item.fields : schema.written(item.fields, Object.keys(known.fields));
    if (!flags.force && !includesFields(found, known.fields, schema?.isSame)) {
      throw new Failure('conflict', `item ${item.id} does not match what was sent for "${key}"`, {
        hint: 'pass --force if it is the right item; nothing was changed',
      });
    }
    const resolved = resolveItem(state, key, { id: item.id, etag: strongTag(item.etag) }, nowMs);
    await session.messages.say(`"${key}" is item ${item.id}`);
    return resolved;
  });
}

const exportCommand: CommandSpec = {
  name: 'export',
  summary: 'export the managed items as a manifest',
  setUp: (command, context) => {
    command
      .argument('[manifest]', 'manifest file')
      .option('--all', 'export all items of the list instead (Microsoft Graph only)');
    addManifestOptions(command);
    command.action(inSession(context, exportItems));
    addHelpNotes(command, {
      examples: [
        'listctl state export manifest.yaml > now.yaml',
        'listctl state export --all --key Title > manifest.yaml',
      ],
      globalFlags: ['site', 'list', 'output'],
      exits: [3, 6, 7],
    });
  },
};

async function exportItems(
  session: Session,
  manifest: string | undefined,
  { all, ...flags }: ManifestFlags & { readonly all?: boolean },
): Promise<void> {
  if ((manifest === undefined) === (all === undefined)) {
    const message = all ? '--all cannot be used with a manifest' : "missing required argument 'manifest'";
    throw new Failure('usage', message, { hint: 'pass a manifest, or --all for all items of the list' });
  }
  if (manifest !== undefined) return exportManifest(manifest, flags, session);
  const { exportList } = await import('./export-list.ts');
  return exportList(flags, session);
}

/** Prints a manifest of the items as the service has them; in formats for programs the items with their ids. */
async function exportManifest(name: string, flags: ManifestFlags, session: Session): Promise<void> {
  const opened = await openManifest(name, flags, session);
  const { statePath, target, manifest } = opened;
  const pace = parsePaceFlags(flags);
  const state = await readUnlockedState(statePath, session);
  if (state === undefined) throw noState(opened);
  checkTarget(state, statePath, target, manifest.key);
  const items = managedItems(state, await readManaged(state, opened, pace, session));
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
  const { name: given } = manifest;
  const document = {
    ...(given !== undefined && { name: given }),
    site,
    list,
    key: state.key,
    items: items.map(({ fields }) => fields),
  };
  await session.host.stdout.write(yamlDocument(document));
}

/** The managed fields of the items that are still there, with the current values. */
function managedItems(state: State, current: ReadonlyMap<string, CurrentItem>): readonly Item[] {
  return [...state.items].flatMap(([key, known]) => {
    const { id } = known;
    const now = current.get(key);
    if (id === undefined || now?.kind !== 'there' || !hasKey(now.fields, known, { key, name: state.key })) return [];
    const names = Object.keys(known.fields);
    const fields = objectFrom(names.map((name) => [name, ownField(now.fields, name) ?? null]));
    return [{ id, fields, members: { id, fields } }];
  });
}
