/** A file of its own, so that plain http does not load TLS: it takes 5 ms. */
import { Agent, request } from 'node:https';

/** What the transport needs of `node:https`. */
export const httpsClient = { Agent, request };
