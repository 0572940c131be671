/** What a token says of itself, if it is a JSON Web Token. */
import { attempt } from './files.ts';
import { isObject, type JsonValue, NumberToken, parseJson } from './json.ts';

/** A claim of a JWT (RFC 7519). Not verified; undefined if the token is not a JWT, or has no such claim. */
export function parseClaim(token: string, name: 'exp' | 'aud'): JsonValue | undefined {
  const [, payload, signature, ...more] = token.split('.');
  if (payload === undefined || signature === undefined || more.length > 0 || token.length > 65_536) return undefined;
  const claims = attempt(() => parseJson(Buffer.from(payload, 'base64url').toString()));
  return isObject(claims) && Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** The `exp` of a JWT (RFC 7519, section 4.1.4) in milliseconds since the Unix epoch. */
export function parseTokenExpiry(token: string): number | undefined {
  const exp = parseClaim(token, 'exp');
  const seconds = exp instanceof NumberToken ? Number(exp.digits) : exp;
  if (typeof seconds !== 'number') return undefined;
  const ms = seconds * 1000;
  // The range of Date.
  return Math.abs(ms) <= 8.64e15 ? ms : undefined;
}
