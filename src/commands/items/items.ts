import { addCommands, type CommandSpec, type SetUp } from '../../cli/command.ts';
import { Failure } from '../../core/errors.ts';
import { createCommand } from './create.ts';
import { deleteCommand } from './delete.ts';
import { editCommand } from './edit.ts';
import { getCommand } from './get.ts';
import { updateCommand } from './update.ts';

/** `items list`, which the service does not support: the error says what to do instead. */
const listCommand: CommandSpec = {
  name: 'list',
  aliases: ['ls', 'query', 'find'],
  summary: 'list items (not supported by the service)',
  isHidden: true,
  setUp: (command) => {
    command
      .argument('[anything...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(() => {
        throw new Failure('usage', 'cannot list items: the service only returns items by id', {
          hint: 'save the ids that create prints (-o id), then run: listctl items get ID…',
        });
      });
  },
};

/** `listctl items`, in the order of help. */
export const setUpItems: SetUp = (items, context) =>
  addCommands(items, context, [createCommand, getCommand, updateCommand, deleteCommand, editCommand, listCommand]);
