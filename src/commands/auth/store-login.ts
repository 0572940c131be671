/** Keeping a token for a profile. `import()` what writes it late: it brings conf. */
import { Failure } from '../../errors.ts';
import { type Address, originOf, refuseOpenHttp } from '../../settings/address.ts';
import type { ProfileValues } from '../../settings/profile.ts';
import { putProfile } from '../profile/edit-profile.ts';
import type { Session } from '../session.ts';

/** A profile with its service, and the token for that. */
export interface Login {
  readonly profile: string;
  readonly address: Address;
  /** What the profile is to set; `baseUrl` where it does not yet. */
  readonly values: ProfileValues;
  /** Undefined for the embedded service, which takes none. */
  readonly token: string | undefined;
}

/** What was kept. */
export interface KeptLogin {
  readonly profile: string;
  readonly origin: string;
  /** The file that the token is in; undefined where there is none. */
  readonly file: string | undefined;
  /** Whether the profile is the one that is used where none is named. */
  readonly isCurrent: boolean;
}

/**
 * Keeps a login, both files in one change, and says where the token is now.
 *
 * @throws {Failure} usage, when the address would show the token to the network; as `changeSettings`
 */
export async function storeLogin({ profile, address, values, token }: Login, session: Session): Promise<KeptLogin> {
  refuseOpenHttp(address, values['allowHttp'] === true);
  const origin = originOf(address);
  const { changeSettings } = await import('../../settings/change-settings.ts');
  const { result: current, files } = await changeSettings(session.host, (draft) => {
    putProfile(draft, profile, { values, removed: [] });
    if (token !== undefined) draft.tokens.set(profile, { origin, token });
    return draft.current;
  });
  if (token !== undefined) {
    await session.say(`the token is stored in clear in ${files.credentials}, which only you can read`);
  }
  if (current !== profile) {
    await session.say(
      `profile ${profile} is not the one in use: pass -p ${profile}, or: listctl profile use ${profile}`,
    );
  }
  return { profile, origin, file: token === undefined ? undefined : files.credentials, isCurrent: current === profile };
}

/** The failure for an address that takes no token. */
export function needsNoToken(): Failure {
  return new Failure('usage', 'the embedded service needs no token', {
    hint: 'pass --base-url with the address of the service that the token is for',
  });
}
