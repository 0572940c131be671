/** What stays on this machine. */

/**
 * Whether the host of an address is this machine by its name: 127.0.0.0/8, [::1], localhost and the names under it
 * (RFC 6761, section 6.3). Where such a name leads is known once a connection is made: `isLoopbackAddress`.
 */
export function isLoopback({ hostname }: URL): boolean {
  // URL has already turned other spellings of IPv4 (0x7f.1) into this one.
  return /^(127(\.\d+){3}|\[::1\]|([^.]+\.)*localhost\.?)$/.test(hostname);
}

/** Whether an IP address, as a socket has it, is one of this machine alone. */
export function isLoopbackAddress(address: string): boolean {
  return /^(::ffff:)?127(\.\d+){3}$|^::1$/i.test(address);
}

/** Whether only this machine reaches a server that listens there: 127.0.0.0/8, ::1 and localhost, in lower case. */
export function isLoopbackHost(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|::1|localhost)$/.test(host);
}
