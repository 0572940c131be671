/** Guards against unintended writes: protected profiles (docs/decisions.md, secrets-5) and `--max-delete`. */
import type { Command } from 'commander';
import type { Client } from '../api/client.ts';
import { isRead } from '../api/transport.ts';
import { Failure } from '../core/errors.ts';
import { countOf, countText } from '../core/text.ts';
import { findValue } from '../settings/setting.ts';
import { type ChosenProfile, isFor, type Sources } from '../settings/sources.ts';
import { globalFlags } from './flags.ts';
import type { PromptContext } from './prompts.ts';

/** Allows writes to a target, or throws. */
export type WriteGuard = (target: string) => Promise<void>;

/** Creates the guard of a command: it asks before the first write only. */
export function createWriteGuard(sources: Sources, mayPrompt: () => boolean, context: PromptContext): WriteGuard {
  let confirmed: Promise<void> | undefined;
  return async (target) => {
    const profile = protectedProfile(sources);
    if (profile === undefined) return;
    confirmed ??= confirmWrite(profile.name, target, findValue(globalFlags.confirm, sources), mayPrompt, context);
    await confirmed;
  };
}

function protectedProfile(sources: Sources): ChosenProfile | undefined {
  const profile = sources.profile();
  if (profile?.values['protected'] !== true) return undefined;
  return profile.isNamed || isFor(profile, sources) ? profile : undefined;
}

/** Wraps a client so that every write passes the guard first. */
export function guardWrites(client: Client, guard: WriteGuard): Client {
  return {
    ...client,
    send: async (operation) => {
      if (!isRead(operation.request.method)) {
        const { place, target } = operation.purpose();
        await guard(`${place ?? target} at ${client.address}`);
      }
      return client.send(operation);
    },
  };
}

/** @throws {Failure} usage, if the write is not confirmed */
async function confirmWrite(
  profile: string,
  target: string,
  typed: string | undefined,
  mayPrompt: () => boolean,
  context: PromptContext,
): Promise<void> {
  if (typed === profile) return;
  const hint = `pass --confirm ${profile} to write to it; nothing was sent`;
  if (typed !== undefined) {
    throw new Failure('usage', `--confirm ${typed} does not match profile ${profile}`, { hint });
  }
  const question = `Write to ${target} through the protected profile ${profile}?`;
  if (!mayPrompt()) {
    throw new Failure('usage', `cannot write to ${target}: profile ${profile} is protected`, { hint });
  }
  if (await (await import('./prompts.ts')).confirm(question, context)) return;
  throw new Failure('usage', 'not confirmed', { hint });
}

export function addMaxDeleteOption(command: Command): void {
  command.option('--max-delete <n>', 'delete nothing if more than n items would be deleted');
}

/** Parses `--max-delete`; undefined if it was not passed. */
export function readMaxDelete({ maxDelete: text }: { readonly maxDelete?: string }): number | undefined {
  if (text === undefined || /^\d{1,9}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new Failure('usage', `invalid --max-delete "${text}": expected a whole number from 0 to 999999999`);
}

/** Refuses to delete more items than `--max-delete` allows. */
export function checkMaxDelete(count: number, max: number | undefined): void {
  if (max === undefined || count <= max) return;
  throw new Failure('usage', `cannot delete ${countOf(count, 'item')}: --max-delete allows ${countText(max)}`, {
    hint: `check what is to be deleted, then pass --max-delete ${count}; nothing was sent`,
  });
}
