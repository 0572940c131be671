import { Failure } from '../../errors.ts';
import type { CommandSpec } from '../command.ts';

/** `items list` is what people try first; the service cannot do it, so the error says what there is. */
export const listLesson: CommandSpec = {
  name: 'list',
  aliases: ['ls', 'query', 'find'],
  summary: 'why there is no list',
  isHidden: true,
  setUp: (command) => {
    command
      .argument('[anything...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(() => {
        throw new Failure('usage', 'the service cannot list or query items: it reads one item by its id', {
          hint: 'keep the ids that create prints (-o id), and read them with: listctl items get ID…',
        });
      });
  },
};
