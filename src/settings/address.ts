import { Failure } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { type Definition, InvalidValue } from './setting.ts';

/** Where the service is: an address on a network, or the embedded one and its folder (undefined: the default one). */
export type Address =
  | { readonly kind: 'http'; readonly url: URL }
  | { readonly kind: 'local'; readonly folder: string | undefined };

/**
 * Reads a base address: everything before `/sites/`, the version segment included (rulings, "Paths and ids").
 *
 * @throws {InvalidValue} that never repeats the text: an address may hold a password
 */
export function parseAddress(text: string): Address {
  if (text.startsWith('local:')) return { kind: 'local', folder: text.slice('local:'.length) || undefined };
  const url = urlOf(text);
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidValue('expected an address such as https://host/v1.0, or local:');
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidValue('the address must hold no user name or password; the token goes in LISTCTL_TOKEN');
  }
  // `https://host?` has an empty query, which URL does not show.
  if (/[?#]/.test(text)) throw new InvalidValue('the address must hold no query and no fragment');
  return { kind: 'http', url };
}

/** The address in force: `--base-url` and whatever stands for it. */
export const addressSetting: Definition<Address> = {
  flag: '--base-url',
  variable: 'LISTCTL_BASE_URL',
  parse: parseAddress,
};

/** What a stored token is bound to: scheme, host and port; for the embedded service, which takes none, `local:`. */
export function originOf(address: Address): string {
  return address.kind === 'http' ? address.url.origin : 'local:';
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    // Node's error holds the whole text, password included: it goes no further.
    return undefined;
  }
}

/**
 * Refuses an address that would send the token through a network in clear.
 *
 * @throws {Failure} usage
 */
export function refuseOpenHttp(address: Address, allowHttp: boolean): void {
  const isOpen = address.kind === 'http' && address.url.protocol === 'http:' && !isLoopback(address.url);
  if (!isOpen || allowHttp) return;
  throw new Failure('usage', 'the address is http, which would show the token to the network', {
    hint: 'use https, or pass --allow-http',
  });
}

/** An address in words: without a slash at its end. */
export function addressText(address: Address): string {
  if (address.kind === 'http') return address.url.origin + address.url.pathname.replace(/\/$/, '');
  return `local:${address.folder ?? ''}`;
}
