/**
 * Node's own client, loaded when the first request is sent: 5 ms that a page of help does not pay. By `require`, so that
 * the transport itself is in the file that starts: each further file costs 0.3 ms.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** `node:http`. */
export const nodeHttp = (): typeof import('node:http') => require('node:http');

/** `node:zlib`, for a response that came compressed though nobody asked for that. */
export const nodeZlib = (): typeof import('node:zlib') => require('node:zlib');

/** `node:net`. */
export const nodeNet = (): typeof import('node:net') => require('node:net');
