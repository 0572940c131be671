/** Which requests go through a proxy, as curl and most others read the environment. */
import { Failure } from '../core/errors.ts';
import { isLoopback } from '../core/loopback.ts';

/** The variables, as they are set. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for an address: `HTTPS_PROXY` or `HTTP_PROXY` by its scheme, else `ALL_PROXY`, in either case of letters,
 * unless `NO_PROXY` names it. What stays on this machine never goes through one.
 *
 * @throws {Failure} usage, naming the variable, when it holds no address of a proxy, or that of a SOCKS proxy; its value
 *   may hold a password, and is not repeated
 */
export function findProxy(base: URL, env: Environment): URL | undefined {
  const variable = isLoopback(base) ? undefined : proxyVariable(base, env);
  const text = variable && env[variable];
  if (!text || isExempt(base, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return undefined;
  const proxy = urlOf(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (proxy !== undefined && /^https?:$/.test(proxy.protocol)) return proxy;
  if (proxy !== undefined && /^socks/.test(proxy.protocol)) {
    throw new Failure('usage', `${variable}: SOCKS proxies are not supported`, {
      hint: 'set HTTPS_PROXY or HTTP_PROXY to an http proxy, or add the host of the service to NO_PROXY',
    });
  }
  throw new Failure('usage', `invalid ${variable}: expected a proxy URL such as http://proxy.example:8080`);
}

/** The variable that names a proxy for addresses of this scheme; undefined where none is set. */
export function proxyVariable({ protocol }: URL, env: Environment): string | undefined {
  const name = protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  // In capitals HTTP_PROXY may be a header of a CGI request (CVE-2016-5385); a program that has a REQUEST_METHOD is one.
  const isCgi = name === 'http_proxy' && env['REQUEST_METHOD'] !== undefined;
  const names = [name, ...(isCgi ? [] : [name.toUpperCase()]), 'all_proxy', 'ALL_PROXY'];
  return names.find((each) => env[each]);
}

/**
 * Whether a list of exceptions names the address: `*`; a host or a suffix of it, with or without a dot before it or
 * `*.`; an IP address, IPv6 with or without brackets; each with `:port` for that port alone, and commas or spaces
 * between them.
 */
export function isExempt(base: URL, list: string): boolean {
  const host = base.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const port = base.port || (base.protocol === 'https:' ? '443' : '80');
  return list.split(/[\s,]+/).some((entry) => {
    if (entry === '*') return true;
    const exception = readException(entry.toLowerCase());
    if (exception.name === '' || (exception.port !== undefined && exception.port !== port)) return false;
    return host === exception.name || host.endsWith(`.${exception.name}`);
  });
}

function readException(entry: string): { readonly name: string; readonly port: string | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(\d+))?$/.exec(entry);
  if (bracketed) return { name: canonical(bracketed[1] ?? ''), port: bracketed[2] };
  // With two colons it is an IPv6 address without a port.
  if (entry.indexOf(':') !== entry.lastIndexOf(':')) return { name: canonical(entry), port: undefined };
  const [name = '', port] = entry.split(':');
  return { name: name.replace(/^\*?\./, '').replace(/\.$/, ''), port };
}

/** An IPv6 address as a URL writes it: `0:0:0:0:0:0:0:1` is `::1`. */
function canonical(address: string): string {
  return urlOf(`http://[${address}]`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
}

function urlOf(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    // Node's error holds the whole URL, password included.
    return undefined;
  }
}
