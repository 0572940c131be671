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

/** The questions before writes. A protected profile is confirmed once, by its name. */
export interface WriteGuard {
  /** Allows writes to a target, or throws. */
  check(target: string): Promise<void>;
  /**
   * Asks before a write; false where it may not ask. The answer is yes, one of these words, or the name of a protected
   * profile, which also passes `check`.
   */
  confirm(question: string, typed?: { readonly words: readonly string[]; readonly purpose: string }): Promise<boolean>;
  /** What to pass to be asked nothing: `--yes`, and `--confirm` for a protected profile. */
  skipHint(): string;
}

/** Creates the guard of a command: it asks before the first write only. */
export function createWriteGuard(sources: Sources, mayPrompt: () => boolean, context: PromptContext): WriteGuard {
  let confirmed: Promise<void> | undefined;
  const unnamed = () => {
    const profile = protectedProfile(sources)?.name;
    return profile === findValue(globalFlags.confirm, sources) ? undefined : profile;
  };
  const confirm: WriteGuard['confirm'] = async (question, typed) => {
    if (!mayPrompt()) return false;
    const prompts = await import('./prompts.ts');
    const profile = unnamed();
    const words = profile === undefined ? typed?.words : [profile];
    if (words === undefined) return prompts.confirm(question, context);
    const what =
      profile === undefined
        ? words.map((word) => (/^\d+$/.test(word) ? word : `"${word}"`)).join(' or ')
        : `${profile}, the name of the protected profile,`;
    const answer = await prompts.askText(`${question} Type ${what} to ${typed?.purpose ?? 'confirm'}:`, {}, context);
    if (!words.includes(answer)) return false;
    if (profile !== undefined) confirmed = Promise.resolve();
    return true;
  };
  const check = async (target: string) => {
    const profile = protectedProfile(sources);
    if (profile === undefined) return;
    const typed = findValue(globalFlags.confirm, sources);
    confirmed ??= confirmWrite({ profile: profile.name, target, typed }, mayPrompt, confirm);
    await confirmed;
  };
  const skipHint = () => {
    const profile = unnamed();
    return `pass --yes${profile === undefined ? '' : ` --confirm ${profile}`} to skip the prompt`;
  };
  return { check, confirm, skipHint };
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
        await guard.check(`${place ?? target} at ${client.address}`);
      }
      return client.send(operation);
    },
  };
}

/** @throws {Failure} usage, if the write is not confirmed */
async function confirmWrite(
  { profile, target, typed }: { readonly profile: string; readonly target: string; readonly typed: string | undefined },
  mayPrompt: () => boolean,
  confirm: WriteGuard['confirm'],
): Promise<void> {
  if (typed === profile) return;
  const hint = `pass --confirm ${profile} to write to it`;
  if (typed !== undefined) {
    throw new Failure('usage', `--confirm ${typed} does not match profile ${profile}`, { hint });
  }
  if (!mayPrompt()) {
    throw new Failure('usage', `cannot write to ${target}: profile ${profile} is protected`, { hint });
  }
  if (await confirm(`Write to ${target}?`)) return;
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
    hint: `check what is to be deleted, then pass --max-delete ${count}`,
  });
}
