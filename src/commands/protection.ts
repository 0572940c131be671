/** Protected profiles: what is written through one must be meant (cli.md, "auth, profile, api, serve, doctor"). */

import { isRead } from '../api/transport.ts';
import type { Wire } from '../api/wire.ts';
import { Failure } from '../errors.ts';
import type { Host } from '../host.ts';
import { type ChosenProfile, isFor, type Sources } from '../settings/sources.ts';
import { confirm } from './prompts.ts';

/** Who may let a write pass. */
export interface Confirming {
  readonly mayPrompt: boolean;
  /** The profile that `--confirm` names. */
  readonly confirmed: string | undefined;
}

/** The protected profile that requests of this run go through, if there is one. */
export function protectingProfile(sources: Sources): ChosenProfile | undefined {
  const profile = sources.profile();
  if (profile?.values['protected'] !== true) return undefined;
  return profile.isNamed || isFor(profile, sources) ? profile : undefined;
}

/**
 * A wire that asks before the first request that is no read, naming where it goes; the others wait for the one answer.
 * With `--confirm` and the profile's name it does not ask.
 */
export function guarded(wire: Wire, profile: ChosenProfile, confirming: Confirming, host: Host): Wire {
  let answered: Promise<void> | undefined;
  return {
    ...wire,
    ask: async (question) => {
      if (!isRead(question.request.method)) {
        const { place, target } = question.purpose();
        answered ??= confirmWrite(profile, `${place ?? target} at ${wire.address}`, confirming, host);
        await answered;
      }
      return wire.ask(question);
    },
  };
}

/** @throws {Failure} usage, when nobody confirms the write */
export async function confirmWrite(
  { name }: ChosenProfile,
  target: string,
  { mayPrompt, confirmed }: Confirming,
  host: Host,
): Promise<void> {
  if (confirmed === name) return;
  const hint = `pass --confirm ${name} to write to it; nothing was sent`;
  if (confirmed !== undefined) {
    throw new Failure('usage', `--confirm names ${confirmed}, and the profile is ${name}`, { hint });
  }
  const question = `Write to ${target} through the protected profile ${name}?`;
  if (mayPrompt && (await confirm(question, host))) return;
  const reason = mayPrompt ? 'not confirmed' : `profile ${name} is protected, and this would write to ${target}`;
  throw new Failure('usage', reason, { hint });
}
