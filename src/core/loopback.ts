/**
 * Whether the host of a URL is a loopback name: 127.0.0.0/8, [::1], localhost and its subdomains (RFC 6761, section 6.3).
 * Its address is known once a connection is made: `isLoopbackAddress`.
 */
export function isLoopback({ hostname }: URL): boolean {
  // URL normalizes other spellings of IPv4, such as 0x7f.1.
  return /^(127(\.\d+){3}|\[::1\]|([^.]+\.)*localhost\.?)$/.test(hostname);
}

/** Whether the IP address of a socket is a loopback address. */
export function isLoopbackAddress(address: string): boolean {
  return /^(::ffff:)?127(\.\d+){3}$|^::1$/i.test(address);
}

/** Whether a server that listens there is reached from this machine alone; in lower case. */
export function isLoopbackHost(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|::1|localhost)$/.test(host);
}
