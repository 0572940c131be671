import { objectFrom } from '../../json.ts';
import { printable } from '../../output/printable.ts';
import type { View } from '../../output/view.ts';
import { addressText } from '../../settings/address.ts';
import { endOf } from '../../settings/token.ts';
import { addHelpNotes, type CommandSpec } from '../command.ts';
import { type Session, withSession } from '../session.ts';
import { currentToken, tokenExitCodes } from './current-token.ts';

/** `listctl auth status` */
export const statusCommand: CommandSpec = {
  name: 'status',
  summary: 'where the token comes from',
  setUp: (command, context) => {
    command.action(() => withSession(context, command, showStatus));
    addHelpNotes(command, {
      examples: ['listctl auth status', 'listctl auth status -p prod -o json'],
      exitCodes: { 0: 'there is one, or none is needed', ...tokenExitCodes },
    });
  },
};

/** What can be told of a token without telling it. */
type Status = Readonly<Record<'profile' | 'address' | 'source' | 'ending', string | undefined>>;

const statusView: View<Status> = {
  pretty: (statuses) => statuses.flatMap((status) => members(status).map(lineOf)).join('\n'),
  json: (status) => objectFrom(members(status)),
  id: ({ source }) => source,
};

function showStatus(session: Session): Promise<void> {
  return session.printing(statusView, false, async (print) => {
    const found = await currentToken(session);
    const profile = session.sources.profile()?.name;
    if (found === undefined) {
      return print({
        profile,
        address: session.address(),
        source: 'the embedded service needs no token',
        ending: undefined,
      });
    }
    const { token, address } = found;
    return print({ profile, address: address && addressText(address), source: token.source, ending: endOf(token) });
  });
}

function members(status: Status): [string, string][] {
  return Object.entries(status).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

function lineOf([name, value]: [string, string]): string {
  return `${name.padEnd('profile'.length)}  ${printable(name === 'ending' ? `…${value}` : value)}`;
}
