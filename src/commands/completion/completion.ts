import { Failure } from '../../errors.ts';
import { addHelpNotes, type SetUp } from '../command.ts';
import { bashScript } from './bash-script.ts';
import { fishScript } from './fish-script.ts';
import { powershellScript } from './powershell-script.ts';
import { zshScript } from './zsh-script.ts';

const scripts: ReadonlyMap<string, string> = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
  ['powershell', powershellScript],
]);

/** `listctl completion SHELL` */
export const setUpCompletion: SetUp = (command, { host }) => {
  const names = [...scripts.keys()].join(', ');
  command.argument('<shell>', names).action(async (shell: string) => {
    const script = scripts.get(shell);
    if (script === undefined) {
      throw new Failure('usage', `there is no completion for "${shell.slice(0, 100)}"`, { hint: `there is: ${names}` });
    }
    await host.stdout.write(script);
  });
  addHelpNotes(command, {
    examples: [
      'source <(listctl completion bash)',
      'source <(listctl completion zsh)',
      'listctl completion fish | source',
      'listctl completion powershell | Out-String | Invoke-Expression',
    ],
    exitCodes: { 0: 'printed', 2: 'there is no such shell' },
  });
};
