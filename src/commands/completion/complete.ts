/** `listctl __complete current=WORD WORD…`: what may stand in the place of the last word, for the shells' scripts. */
import { printable } from '../../output/printable.ts';
import type { NewProgram, SetUp } from '../command.ts';
import { candidatesAt } from './candidates.ts';
import { placeOf } from './place.ts';

/**
 * A line for each candidate: the whole word, a tab, what it means. The line `:files` says that the name of a file is
 * wanted, `:files=` that it is behind the first `=` of the word.
 *
 * It reads settings and the names of runs, and sends nothing. Where it can't know it says nothing: an error in the
 * middle of a command line helps nobody.
 */
export function setUpComplete(newProgram: NewProgram): SetUp {
  return (command, { host, words }) => {
    command
      .argument('[words...]')
      .helpOption(false)
      .allowUnknownOption()
      .action(async () => {
        const [, current = '', ...typed] = words;
        const word = current.replace(/^current=/, '');
        const place = await placeOf(typed, newProgram(['--help']));
        const { candidates, files } = await candidatesAt(place, word, newProgram, host);
        const lines = candidates
          .filter(({ value }) => value.startsWith(word) && isPlain.test(value))
          .map(({ value, description = '' }) => `${value}\t${printable(description)}\n`);
        const isFileWanted = files !== undefined && lines.length === 0;
        await host.stdout.write(isFileWanted ? `${files}\n` : lines.join(''));
      });
  };
}

/** What no shell takes for anything but a word: the name of a profile is what somebody wrote into a file. */
const isPlain = /^[\p{L}\p{N}\p{M}._@:=/-]+$/u;
