/** Protected profiles: what is written through one must be meant (cli.md, "auth, profile, api, serve, doctor"). */
import type { Command } from 'commander';
import type { Client, Operation } from '../api/client.ts';
import { isRead } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import { countOf, countText } from '../core/text.ts';
import { type ChosenProfile, isFor, type Sources } from '../settings/sources.ts';
import type { Asker } from './prompts.ts';

/** Who may let a write pass. */
export interface Confirming {
  readonly mayPrompt: () => boolean;
  /** The profile that `--confirm` names. */
  readonly confirmed: string | undefined;
}

/** Lets writes to a target pass, or throws; where nothing is protected, at once. */
export type Protection = (target: string) => Promise<void>;

/** The protection of this run: asks before the first write, and the others wait for the one answer. */
export function lazyProtection(sources: Sources, confirming: Confirming, asker: Asker): Protection {
  let answered: Promise<void> | undefined;
  return async (target) => {
    const profile = protectingProfile(sources);
    if (profile === undefined) return;
    answered ??= confirmWrite(profile, target, confirming, asker);
    await answered;
  };
}

/** The protected profile that requests of this run go through, if there is one. */
function protectingProfile(sources: Sources): ChosenProfile | undefined {
  const profile = sources.profile();
  if (profile?.values['protected'] !== true) return undefined;
  return profile.isNamed || isFor(profile, sources) ? profile : undefined;
}

/** A wire on which every request that is no read passes the protection first. */
export function guarded(client: Client, protection: Protection): Client {
  const pass = async <T>({ request, purpose }: Operation<T>) => {
    if (isRead(request.method)) return;
    const { place, target } = purpose();
    await protection(`${place ?? target} at ${client.address}`);
  };
  return {
    ...client,
    send: async (question) => {
      await pass(question);
      return client.send(question);
    },
  };
}

/** @throws {Failure} usage, when nobody confirms the write */
async function confirmWrite(
  { name }: ChosenProfile,
  target: string,
  { mayPrompt, confirmed }: Confirming,
  asker: Asker,
): Promise<void> {
  if (confirmed === name) return;
  const hint = `pass --confirm ${name} to write to it; nothing was sent`;
  if (confirmed !== undefined) {
    throw new Failure('usage', `--confirm ${confirmed} does not match profile ${name}`, { hint });
  }
  const question = `Write to ${target} through the protected profile ${name}?`;
  const isAsked = mayPrompt();
  if (isAsked && (await (await import('./prompts.ts')).confirm(question, asker))) return;
  const reason = isAsked ? 'not confirmed' : `cannot write to ${target}: profile ${name} is protected`;
  throw new Failure('usage', reason, { hint });
}

/** The flag as it was typed. */
export interface MaxDeleteFlag {
  readonly maxDelete?: string;
}

/** Declares `--max-delete`. */
export function addMaxDeleteOption(command: Command): void {
  command.option('--max-delete <n>', 'delete nothing if more than n items would be deleted');
}

/**
 * Parses `--max-delete`.
 *
 * @returns undefined where it was not passed
 * @throws {Failure} usage
 */
export function readMaxDelete({ maxDelete: text }: MaxDeleteFlag): number | undefined {
  if (text === undefined || /^\d{1,9}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new Failure('usage', `invalid --max-delete "${text}": expected a whole number from 0 to 999999999`);
}

/**
 * Refuses to delete more items than `--max-delete` allows.
 *
 * @throws {Failure} usage
 */
export function checkMaxDelete(count: number, max: number | undefined): void {
  if (max === undefined || count <= max) return;
  throw new Failure('usage', `cannot delete ${countOf(count, 'item')}: --max-delete allows ${countText(max)}`, {
    hint: `check what is to be deleted, then pass --max-delete ${count}; nothing was sent`,
  });
}
