import { Failure } from '../../errors.ts';
import type { Fields } from '../../item.ts';
import { type JsonValue, objectFrom } from '../../json.ts';
import { importItem } from '../../seed/state-edits.ts';
import type { SeedFlags } from '../apply/seed-file.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { withSession } from '../session.ts';
import { addStateOptions, editState, keyWord, readItem } from './edit-state.ts';

/** `listctl state import SEED KEY=ID` */
export const importCommand: CommandSpec = {
  name: 'import',
  summary: 'take over an item that is already there',
  setUp: (command, context) => {
    addStateOptions(command);
    command
      .argument('<key=id>', 'an item of the seed, and the id that it has in the list')
      .action((seed: string, text: string, flags: SeedFlags) =>
        withSession(context, command, (session) =>
          editState(seed, flags, { makes: true }, session, async (state, { seed: { items, key: name }, target }) => {
            const { key, id } = keyWord(text);
            const named = items.find((item) => item.key === key);
            if (named === undefined) throw notInSeed(key, name);
            const item = await readItem(target, id, session);
            await session.say(`"${key}" is item ${item.id} from now on`);
            return importItem(state, key, item, ofThose(item.fields, named.fields));
          }),
        ),
      );
    addHelpNotes(command, {
      examples: ['listctl state import seed.yaml "Buy milk=17"'],
      exitCodes: {
        0: 'taken over',
        2: 'wrong usage, or the key is known already',
        3: 'credentials',
        4: 'there is no such item',
        11: 'another process is at work on this state',
      },
    });
  },
};

function notInSeed(key: string, name: string): Failure {
  return new Failure('usage', `the seed has no item whose ${name} is "${key}"`, {
    hint: 'write it into the seed first; nothing was changed',
  });
}

/** What an item has of the fields that the seed names. */
function ofThose(fields: Fields, named: Fields): Fields {
  const members: (readonly [string, JsonValue])[] = [];
  for (const name of Object.keys(named)) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (value !== undefined) members.push([name, value]);
  }
  return objectFrom(members);
}
