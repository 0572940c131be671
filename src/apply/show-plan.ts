/** Shows the plan of `apply`, and hints about it. */
import { batched } from '../bulk/outputs.ts';
import { describeList } from '../cli/run-settings.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import type { Output } from '../core/host.ts';
import { type JsonValue, parseJson } from '../core/json.ts';
import { countOf, listNames, shellWord } from '../core/text.ts';
import { jsonText, jsonView } from '../output/layout.ts';
import { planLines, planMarkdown } from '../output/plan.ts';
import type { OpenManifest } from './open.ts';
import { findRenamedKeys } from './plan.ts';
import { type PlanFile, printPlan } from './plan-file.ts';
import { type State, shorten } from './state.ts';

/** Hints about renamed keys, of which a plan may have any number. */
const renamedMax = 3;

interface PlanOptions {
  readonly opened: OpenManifest;
  readonly flags: { readonly init?: string | true; readonly yes?: boolean };
  readonly isOnlyShown: boolean;
  /** Whether there is no state yet. */
  readonly isNew: boolean;
  /** The saved plan that is executed or shown. */
  readonly saved: PlanFile | undefined;
}

/** Shows a plan that is not executed in the requested format; another one to a person who is asked about it. */
export async function showPlan(
  plan: PlanFile,
  state: State,
  { opened, flags, isOnlyShown, saved, isNew }: PlanOptions,
  session: Session,
): Promise<void> {
  const { host, output } = session;
  const notes = await notesOf(plan, isNew, { opened, flags }, session);
  const place = `${describeList(opened.list)} at ${session.settings.address()}`;
  // A saved plan was shown when it was made.
  if (!isOnlyShown && saved !== undefined) return;
  const isAsked = plan.steps.length > 0 && !flags.yes && isSeen(session);
  if (output.format(!isOnlyShown) === 'pretty' && !output.hasQuery) {
    await drawPlan({ plan, state }, { place, notes }, host.stdout, session);
  } else if (isOnlyShown) {
    await printPlanFile(plan, state, { place, notes }, session);
  } else if (isAsked) {
    await drawPlan({ plan, state }, { place, notes }, host.stderr, session);
  }
  if (isOnlyShown || !flags.yes) await sayRenamed(plan, state, opened, session);
}

/** The sentences above a plan, which go to stderr if stdout is for a program. */
async function notesOf(
  plan: PlanFile,
  isNew: boolean,
  { opened, flags }: Pick<PlanOptions, 'opened' | 'flags'>,
  session: Session,
): Promise<readonly string[]> {
  const { messages } = session;
  const found = plan.imported === undefined ? 'every item of the manifest is new' : importedText(plan.imported);
  const notes = isNew ? [`No state file at ${opened.statePath}: ${found}.`] : [];
  if (isNew && !flags.init && !isShownOnTerminal(session)) for (const note of notes) await messages.say(note);
  if (plan.targets !== undefined) {
    const keys = plan.targets.map((key) => jsonText(shorten(key)));
    notes.push(`Only these keys are planned: ${listNames(keys, 10)}`);
  }
  return notes;
}

async function sayRenamed(plan: PlanFile, state: State, { words }: OpenManifest, { messages }: Session): Promise<void> {
  const renamed = findRenamedKeys(plan, state);
  for (const { from, to } of renamed.slice(0, renamedMax)) {
    const args = from.startsWith('-') || to.startsWith('-') ? `${words} --` : words;
    const [old, next] = [from, to].map((key) => jsonText(shorten(key)));
    const moving = `listctl state move ${args} ${shellWord(from)} ${shellWord(to)}`;
    await messages.say(`if ${old} was renamed to ${next}, keep its item with: ${moving}`);
  }
}

function importedText({ length }: readonly string[]): string {
  const [have, are] = length === 1 ? ['has a key', 'is'] : ['have keys', 'are'];
  return `${countOf(length, 'item')} of the list ${have} of the manifest, and ${are} imported`;
}

/** Whether a person can be asked, and sees the plan: on stdout, or on stderr. */
export function isSeen(session: Session): boolean {
  return session.prompts.mayPrompt() && (isShownOnTerminal(session) || session.host.stderr.isTTY);
}

/** Whether a person reads the plan; else notes about it go to stderr. */
export function isShownOnTerminal(session: Session): boolean {
  return session.output.format(false) === 'pretty' && session.host.stdout.isTTY;
}

/** What stands above the steps. */
interface PlanHead {
  readonly place: string;
  readonly notes: readonly string[];
}

async function drawPlan(
  { plan, state }: { readonly plan: PlanFile; readonly state: State },
  head: PlanHead,
  output: Output,
  session: Session,
): Promise<void> {
  const screen = output === session.host.stdout ? await session.output.screen() : await session.messages.errorScreen();
  await writeAll(withNewlines(planLines(plan, state.items, head, screen)), output);
}

function* withNewlines(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}

async function printPlanFile(plan: PlanFile, state: State, head: PlanHead, session: Session): Promise<void> {
  const { output, host } = session;
  const format = output.format(false);
  if (format === 'none') return;
  if (format === 'markdown' && !output.hasQuery) {
    await host.stdout.write(planMarkdown(plan, state.items, head));
    return;
  }
  // On a terminal it is indented, as all JSON is.
  if (format === 'json' && !output.hasQuery && !host.stdout.isTTY) {
    await writeAll(printPlan(plan), host.stdout);
    return;
  }
  let value: JsonValue;
  try {
    value = parseJson([...printPlan(plan)].join(''));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Failure('usage', `the plan is too large for this output: ${error.message}`, {
      hint: 'pass -o json, which has no limit',
      cause: error,
    });
  }
  await output.printing(jsonView, false, async (print) => print(value));
}

async function writeAll(texts: Iterable<string>, output: Output): Promise<void> {
  for (const piece of batched(texts)) await output.write(piece);
}
