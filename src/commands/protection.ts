/** Protected profiles: what is written through one must be meant (cli.md, "auth, profile, api, serve, doctor"). */

import { isRead, type Transport } from '../api/transport.ts';
import { Failure } from '../errors.ts';
import type { Host } from '../host.ts';
import { type ChosenProfile, isFor, type Sources } from '../settings/sources.ts';
import { confirm } from './prompts.ts';

/** What a question about a write needs to know. */
export interface WriteTarget {
  /** Where it goes, in words: an address, with the site and the list where they are named. */
  readonly target: string;
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
 * Lets a write through a protected profile pass: with `--confirm` and its name, or when a person says yes.
 *
 * @throws {Failure} usage, when nobody does
 */
export async function confirmWrite(
  { name }: ChosenProfile,
  { target, mayPrompt, confirmed }: WriteTarget,
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

/** Asks before the first request that is no read; requests wait for the one answer. */
export function guarded(transport: Transport, ask: () => Promise<void>): Transport {
  let answered: Promise<void> | undefined;
  return {
    ...transport,
    send: async (request, limits) => {
      if (!isRead(request.method)) {
        answered ??= ask();
        await answered;
      }
      return transport.send(request, limits);
    },
  };
}
