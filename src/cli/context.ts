import type { Ending } from '../core/errors.ts';
import type { Host } from '../core/host.ts';

/** What every command is given. */
export interface Context {
  readonly host: Host;
  /** The command line, without the program's name. */
  readonly words: readonly string[];
  readonly version: string;
  /** The transport of commands that do not ask for one: the light one, unless a test says otherwise. */
  readonly transport?: 'one' | 'many';
  /** How the command ends, if it does not fail: as `done`, unless it says otherwise. */
  readonly ending: { is: Ending };
  /** How errors are printed: as JSON where JSON was asked for; undefined until the command line has been read. */
  readonly errors: { asJson: boolean | undefined; color: 'auto' | 'always' | 'never' };
}
