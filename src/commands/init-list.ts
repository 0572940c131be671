/** `listctl init ADDRESS`: sets up a list of Microsoft Graph by its address in the browser. */
import { createClient } from '../api/client.ts';
import { graphOperations } from '../api/graph/items.ts';
import { graphAddress, locate, parseListAddress } from '../api/graph/places.ts';
import { defaultRetries } from '../api/outcome.ts';
import type { Context } from '../cli/command.ts';
import { connect, tokenCommandRunner } from '../cli/connect.ts';
import { globalFlags } from '../cli/flags.ts';
import { askSecret } from '../cli/prompts.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import { type Address, addressText, findValue, parseAddress } from '../settings/setting.ts';
import { findToken, problemWithToken, type Token } from '../settings/token.ts';

/** What is saved: the token only if it was asked for. */
export interface FoundList {
  readonly address: Address;
  readonly values: Readonly<Record<string, string>>;
  readonly token: string | undefined;
}

/**
 * Finds the ids of a list by its address in the browser, with two requests. It asks for a token only if there is none.
 *
 * @throws {Failure} usage, for another address, or without a token off a terminal; as `Client.send`
 */
export async function findList(text: string, session: Session, context: Context): Promise<FoundList> {
  const { host } = parseListAddress(text);
  const address = serviceAddress(host, session);
  const known = await findToken(address, session.settings.sources, tokenCommandRunner(session.host, false));
  const token = known ?? (await askToken(address, session));
  const { site, list } = await locateList(text, address, token, session, context);
  const values = { service: 'graph', baseUrl: addressText(address), site, list };
  return { address, values, token: known === undefined ? token.value : undefined };
}

function serviceAddress(host: string, { settings: { sources } }: Session): Address {
  const typed = sources.flags['--base-url'];
  const found = typed ?? graphAddress(host);
  if (found !== undefined) return parseAddress(found);
  throw new Failure('usage', `${host} is not a host of SharePoint Online`, {
    hint: 'pass --base-url with the URL of Microsoft Graph; nothing was sent',
  });
}

async function askToken(address: Address, session: Session): Promise<Token> {
  if (!session.prompts.mayPrompt()) {
    throw new Failure('credentials', 'no token', {
      hint: 'set LISTCTL_TOKEN or LISTCTL_TOKEN_COMMAND (docs/graph.md has commands); nothing was sent',
    });
  }
  const value = await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
  return { value, source: 'the prompt' };
}

async function locateList(
  list: string,
  address: Address,
  token: Token,
  session: Session,
  context: Context,
): Promise<ListRef> {
  const { host, service, settings } = session;
  const transport = await connect(address, async () => token, context, {
    ...service.connectOptions(),
    service: 'graph',
  });
  const client = createClient(transport, {
    ...{ items: graphOperations, honorsKeys: false, ...defaultRetries },
    ...{ timeoutMs: findValue(globalFlags.timeout, settings.sources) ?? 30_000, signal: host.signal },
    ...{ clock: host.clock, random: () => host.random() },
  });
  try {
    return await locate({ site: '', list }, async () => client);
  } finally {
    await transport.close();
  }
}
