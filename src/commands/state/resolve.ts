import { Failure } from '../../errors.ts';
import { holdsFields } from '../../seed/same-value.ts';
import type { State } from '../../seed/state.ts';
import { resolveItem } from '../../seed/state-edits.ts';
import type { NamedSeed, SeedFlags } from '../apply/seed-file.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { type Session, withSession } from '../session.ts';
import { addStateOptions, editState, type KeyWord, keyWord, readItem } from './edit-state.ts';

interface ResolveFlags extends SeedFlags {
  readonly force?: boolean;
}

/** `listctl state resolve SEED KEY=ID`, `KEY=none` */
export const resolveCommand: CommandSpec = {
  name: 'resolve',
  summary: 'settle an item that is in doubt',
  setUp: (command, context) => {
    addStateOptions(command);
    command
      .argument('<key=id>', 'the item that its create made, or KEY=none where it made none')
      .option('--force', 'take the item whatever it holds')
      .action((seed: string, text: string, flags: ResolveFlags) =>
        withSession(context, command, (session) =>
          editState(seed, flags, { makes: false }, session, (state, named) =>
            resolved(state, named, keyWord(text), flags.force === true, session),
          ),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl state resolve seed.yaml "Buy milk=17"', 'listctl state resolve seed.yaml "Buy milk=none"'],
      exitCodes: {
        0: 'settled',
        2: 'wrong usage, or the key is not in doubt',
        3: 'credentials',
        4: 'there is no such item',
        5: 'that item holds something else',
        11: 'another process is at work on this state',
      },
    });
  },
};

async function resolved(
  state: State,
  { target }: NamedSeed,
  { key, id }: KeyWord,
  isForced: boolean,
  session: Session,
): Promise<State> {
  const known = state.items.get(key);
  if (known?.inDoubt === undefined || id === 'none') {
    const settled = resolveItem(state, key, null);
    await session.say(`"${key}" was not created: the next apply creates it`);
    return settled;
  }
  const item = await readItem(target, id, session);
  if (!isForced && !holdsFields(item.fields, known.fields)) {
    throw new Failure('conflict', `item ${item.id} does not hold what was sent for "${key}"`, {
      hint: 'nothing was changed; where you know that it is the one: --force',
    });
  }
  const settled = resolveItem(state, key, item);
  await session.say(`"${key}" is item ${item.id}`);
  return settled;
}
