/** Sets up a list of SharePoint by its address in the browser. Loaded only where one is given. */
import { createClient } from '../api/client.ts';
import { defaultRetries } from '../api/outcome.ts';
import { tokenCommandRunner } from '../cli/connect.ts';
import { globalFlags } from '../cli/flags.ts';
import { askSecret, confirm } from '../cli/prompts.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import type { ListRef } from '../core/item.ts';
import { factsOf, setups } from '../services/index.ts';
import type { ServiceSetup } from '../services/service.ts';
import type { ProfileValues } from '../settings/read-settings.ts';
import {
  type Address,
  addressSetting,
  addressText,
  findValue,
  originOf,
  refuseOpenHttp,
  type ServiceKind,
} from '../settings/setting.ts';
import { isFor, type Sources } from '../settings/sources.ts';
import { findToken, problemWithToken, type Token } from '../settings/token.ts';

/**
 * Finds the ids of a list by its address in the browser, with two requests. It asks for a token only without one.
 *
 * @returns what to save: the token only if it was asked for
 * @throws {Failure} usage, for another address, or without a token off a terminal; as `Client.send`
 */
export async function findList(text: string, session: Session) {
  const { kind, setup, host } = await setupFor(text);
  const address = await serviceAddress(host, setup, session);
  const { allowHttp } = session.settings;
  refuseOpenHttp(address, allowHttp);
  const known = await findToken(address, sourcesFor(address, session), tokenCommandRunner(session.host, false));
  const token = known ?? (await askToken(address, session));
  const { site, list } = await locateList(text, { kind, address, token }, session);
  const names = { service: kind, baseUrl: addressText(address), site, list };
  const values: ProfileValues = allowHttp ? { ...names, allowHttp } : names;
  return { address, values, token: known === undefined ? token.value : undefined };
}

/** The kind of service that a URL belongs to: the first, if none has its host, says what a URL has to be. */
async function setupFor(text: string) {
  const all = await setups();
  const host = URL.canParse(text) ? new URL(text).host : '';
  const found = all.find(({ setup }) => setup.baseUrlFor(host) !== undefined) ?? all[0];
  if (found === undefined) throw new Error('no service is set up by the URL of a list');
  return { ...found, ...found.setup.parseListUrl(text) };
}

/**
 * The address of the service for the host of a list. The token of one cloud goes to another only if the user agrees:
 * the address of the list may come from someone else.
 */
async function serviceAddress(host: string, setup: ServiceSetup, session: Session): Promise<Address> {
  const { sources } = session.settings;
  const typed = sources.flags['--base-url'];
  const url = typed ?? setup.baseUrlFor(host);
  const address = findValue(addressSetting, { flags: { '--base-url': url }, env: {} });
  if (address === undefined || url === undefined) {
    throw new Failure('usage', `${host} is not a host of SharePoint Online`, {
      hint: 'pass --base-url with the URL of Microsoft Graph',
    });
  }
  const configured = findValue(addressSetting, sources);
  const isKnown = configured !== undefined && originOf(configured) === originOf(address);
  if (typed !== undefined || url === setup.commonBaseUrl || isKnown) return address;
  const question = `${host} is in a national cloud. Send the token to ${url}?`;
  if (session.prompts.mayPrompt() && (await confirm(question, session))) return address;
  throw new Failure('usage', `refusing to send the token to ${url}, a national cloud`, {
    hint: `if this is your cloud, pass --base-url ${url}`,
  });
}

/** The sources of the token: a profile of another service has none for this address. */
function sourcesFor(address: Address, { settings: { sources } }: Session): Sources {
  const here: Sources = { ...sources, flags: { ...sources.flags, '--base-url': addressText(address) } };
  const profile = sources.profile();
  return profile === undefined || isFor(profile, here) ? here : { ...here, profile: () => undefined };
}

async function askToken(address: Address, session: Session): Promise<Token> {
  if (!session.prompts.mayPrompt()) {
    throw new Failure('credentials', 'no token', {
      hint: 'set LISTCTL_TOKEN or LISTCTL_TOKEN_COMMAND (docs/graph.md has commands)',
    });
  }
  const value = await askSecret(`Token for ${addressText(address)}`, problemWithToken, session);
  return { value, source: 'the prompt' };
}

async function locateList(
  url: string,
  { kind, address, token }: { readonly kind: ServiceKind; readonly address: Address; readonly token: Token },
  session: Session,
): Promise<ListRef> {
  const { host, service, settings } = session;
  const transport = await service.connect(address, token, { service: kind });
  const client = createClient(transport, {
    ...{ honorsKeys: false, ...defaultRetries },
    ...{ timeoutMs: findValue(globalFlags.timeout, settings.sources) ?? 30_000, signal: host.signal },
    ...{ clock: host.clock, random: () => host.random() },
  });
  try {
    const { resolve } = await factsOf(kind).load();
    if (resolve === undefined) throw new Error('a service that is set up by the URL of a list resolves lists');
    return await resolve({ url }, async () => client);
  } finally {
    await transport.close();
  }
}
