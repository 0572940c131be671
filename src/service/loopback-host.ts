/** Whether only this machine reaches a server that listens there: 127.0.0.0/8, ::1 and localhost, in lower case. */
export function isLoopbackHost(host: string): boolean {
  return /^(127(\.\d{1,3}){3}|::1|localhost)$/.test(host);
}
