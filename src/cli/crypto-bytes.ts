/** A file of its own, so that `node:crypto` is loaded only where it is needed. */
import { randomBytes } from 'node:crypto';

/** So many random bytes. */
export const cryptoBytes = (count: number): Buffer => randomBytes(count);
