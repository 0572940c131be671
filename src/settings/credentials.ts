/** Stored tokens, as `credentials.json` keeps them: apart from the profiles, so that those can be shown. */
import { damaged, isStoredObject, nameShown, type StoredObject } from './stored-file.ts';

/** A token that `auth login` stored, and the only place that it may be sent to. */
export interface Credential {
  /** Scheme, host and port: `https://lists.example`. */
  readonly origin: string;
  readonly token: string;
}

/** Tokens by the name of their profile. */
export type Credentials = ReadonlyMap<string, Credential>;

/**
 * Reads the tokens out of `credentials.json`.
 *
 * @throws {Failure} local-file, when a member is not what it should be; no message repeats what may be a token
 */
export function credentialsFrom(content: StoredObject, file: string): Credentials {
  const { tokens = {} } = content;
  if (!isStoredObject(tokens)) throw damaged(file, 'tokens is no object');
  return new Map(
    Object.entries(tokens).map(([name, entry]) => {
      const { origin, token } = isStoredObject(entry) ? entry : {};
      if (typeof origin === 'string' && typeof token === 'string') return [name, { origin, token }];
      throw damaged(file, `tokens.${nameShown(name)} has no origin and token`);
    }),
  );
}
