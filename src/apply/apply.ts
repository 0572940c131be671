/** Making a list match a manifest: read, compare, show, ask, do. To be loaded late. */
import { readFileSync } from 'node:fs';
import { keyWindowMs } from '../api/outcome.ts';
import { parsePaceFlags, type RunLimits } from '../bulk/flags.ts';
import { keyAgeMs, type PresentMoment } from '../bulk/keys.ts';
import { noSummary, openRejectsOutput, openSummary, refuseSummary, type Summary } from '../bulk/outputs.ts';
import { presentMoment, refuseSameFile } from '../bulk/record.ts';
import { readMaxDelete } from '../cli/guards.ts';
import { askText, confirm } from '../cli/prompts.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath } from '../core/files.ts';
import type { Output } from '../core/host.ts';
import { parseJson } from '../core/json.ts';
import { descriptorNamed, type OutputFile, openOutput } from '../core/write-file.ts';
import { jsonView } from '../output/layout.ts';
import { applyQuestion, planLines } from '../output/plan.ts';
import { nameOf } from '../rows/input.ts';
import { type Deletes, deletesText, executePlan, needsTypedConfirmation, unconfirmedDeletes } from './execute.ts';
import {
  type ManifestFlags,
  type OpenManifest,
  openManifest,
  readUnlockedState,
  stateFilePaths,
  withLockedState,
} from './open.ts';
import { createPlan, type Plan } from './plan.ts';
import { checkPlanIsCurrent, looksLikePlan, type PlanFile, printPlan, readPlan, toPlanFile } from './plan-file.ts';
import { refreshItems } from './refresh.ts';
import { type CreateInDoubt, checkTarget, newState, type State } from './state.ts';

/** Text is written in pieces of about so many characters. */
const pieceLength = 65_536;

/**
 * Prints a plan on stdout: a diff for a person, its own JSON for a program.
 *
 * @param notes what is to be said above it, a sentence each
 * @throws {Failure} usage, when it is too large for the format that was asked for, or has no such form
 */
export async function showPlan(
  plan: PlanFile,
  state: State,
  notes: readonly string[],
  session: Session,
): Promise<void> {
  const format = session.output.format(false);
  if (format === 'none') return;
  if (format === 'pretty' && !session.output.hasQuery) await drawPlan(plan, state, notes, session.host.stdout, session);
  else if (format === 'json' && !session.output.hasQuery) await writeAll(printPlan(plan), session.host.stdout);
  else await session.output.printing(jsonView, false, async (print) => print(planValue(plan)));
}

/** Draws a plan for a person, on stdout or where questions are asked. */
export async function drawPlan(
  plan: PlanFile,
  state: State,
  notes: readonly string[],
  output: Output,
  session: Session,
): Promise<void> {
  const { site, list } = plan.target;
  const screen = output === session.host.stdout ? await session.output.screen() : await session.messages.errorScreen();
  const place = `list "${list}" of site "${site}" at ${session.settings.address()}`;
  await writeAll(linesOf(planLines(plan, state.items, { place, notes }, screen)), output);
}

/** What a query is asked of, and what other formats print. */
function planValue(plan: PlanFile) {
  try {
    return parseJson([...printPlan(plan)].join(''));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Failure('usage', `the plan is too large for this output: ${error.message}`, {
      hint: 'pass -o json, which has no limit',
      cause: error,
    });
  }
}

function* linesOf(lines: Iterable<string>): Generator<string> {
  for (const line of lines) yield `${line}\n`;
}

async function writeAll(pieces: Iterable<string>, output: Output): Promise<void> {
  let text = '';
  for (const piece of pieces) {
    text += piece;
    if (text.length < pieceLength) continue;
    await output.write(text);
    text = '';
  }
  if (text !== '') await output.write(text);
}

/** The flags of `apply`, as they were typed. */
export interface ApplyFlags extends ManifestFlags {
  readonly init?: boolean;
  readonly dryRun?: boolean;
  readonly prune?: boolean;
  readonly yes?: boolean;
  /** False where `--no-refresh` was typed. */
  readonly refresh?: boolean;
  readonly detailedExitcode?: boolean;
  readonly out?: string;
}

/** How a plan is made and carried out. */
interface ApplyOptions {
  readonly named: OpenManifest;
  readonly pace: RunLimits;
  /** How many items may be deleted; undefined where nobody said. */
  readonly maxDelete: number | undefined;
  readonly prune: boolean;
  readonly refresh: boolean;
  readonly flags: ApplyFlags;
  readonly summary: Summary;
  /** The plan that must come out; undefined where any may. */
  readonly saved: PlanFile | undefined;
  readonly outputs: Outputs;
}

interface Outputs {
  readonly rejects: OutputFile | undefined;
  readonly out: OutputFile | undefined;
}

/** A plan, and what it was made from. */
interface Planned {
  readonly state: State;
  readonly plan: Plan;
  readonly file: PlanFile;
  /** Tells the present, where keys in doubt were judged by it. */
  readonly present: (() => PresentMoment) | undefined;
}

/**
 * Makes a list hold what a manifest says, or carries out a saved plan.
 *
 * @throws {Failure} usage, when the manifest cannot be used, nobody confirmed the plan, or no state is there and nobody said
 *   that there is to be none; conflict, when a saved plan has been overtaken; locked; local-file; what the steps ended in
 * @throws {Stopped} when it was told to stop
 */
export async function applyManifest(name: string, flags: ApplyFlags, session: Session): Promise<void> {
  const pace = parsePaceFlags(flags);
  const maxDelete = readMaxDelete(flags);
  if (flags.detailedExitcode && !flags.dryRun && flags.out === undefined) {
    throw new Failure('usage', '--detailed-exitcode requires --dry-run or --out', {
      hint: 'nothing was sent',
    });
  }
  refuseIds(flags, session);
  if (flags.dryRun || flags.out !== undefined) refuseSummary(flags.summaryJson);
  const saved = savedPlan(name, session);
  const named = await openManifest(
    saved?.manifest.file ?? name,
    saved === undefined ? flags : { ...flags, key: saved.key },
    session,
  );
  if (named.manifest.isBlank) throw blankManifest(named);
  const { rejects, out, summaryJson } = flags;
  const records = { 'the state': stateFilePaths(named.statePath) };
  const inputs = { 'the manifest': named.name === '-' ? undefined : named.name, 'the plan': saved && name };
  const paths = { '--rejects': rejects, '--out': out, '--summary-json': summaryJson };
  refuseSameFile({ inputs, records, outputs: paths }, session.host);
  const { origin: service, site, list } = named.target;
  const of = { action: 'apply', service, site, list, shard: null };
  const summary = flags.dryRun || out !== undefined ? noSummary : await openSummary(summaryJson, of, session);
  const prune = saved?.prune ?? flags.prune === true;
  const refresh = saved?.refresh ?? flags.refresh !== false;
  const outputs = await openOutputs(flags, session);
  try {
    const applying = { named, pace, maxDelete, prune, refresh, flags, summary, saved, outputs };
    await applyLocked(applying, session);
  } finally {
    await outputs.rejects?.close();
    await outputs.out?.close();
  }
}

/** What is only shown needs no lock, so that it works where nothing may be written. A plan that is saved is of one version. */
async function applyLocked(applying: ApplyOptions, session: Session): Promise<void> {
  const { named, pace, flags } = applying;
  const isShown = flags.dryRun && flags.out === undefined;
  if (isShown) await applyTo(await readUnlockedState(named.statePath, session), applying, session);
  else await withLockedState(named.statePath, pace, session, (state) => applyTo(state, applying, session));
}

/** Before the first request: afterwards it is too late to name another file. */
async function openOutputs({ rejects, out, dryRun }: ApplyFlags, session: Session): Promise<Outputs> {
  const isCarriedOut = !dryRun && out === undefined;
  if (out !== undefined && descriptorNamed(out, session.host) === 1) session.output.claimStdout('--out', false);
  return {
    rejects: isCarriedOut ? await openRejectsOutput(rejects, false, session) : undefined,
    out: out === undefined ? undefined : await openOutput(out, '--out', session.host),
  };
}

/** @throws {Failure} usage, where a plan is asked for as ids: what is yet to be created has none */
function refuseIds({ dryRun, out }: ApplyFlags, session: Session): void {
  if (session.output.format(false) !== 'id' || session.output.hasQuery || (!dryRun && out === undefined)) return;
  throw new Failure('usage', `--output id cannot be used with ${dryRun ? '--dry-run' : '--out'}`, {
    hint: "pass -o json, or -q 'steps[].id' for the items that are to be changed or deleted; nothing was sent",
  });
}

/** What a command leaves that failed to write its output: taken for an empty list, a prune would delete every item. */
function blankManifest({ name, manifest }: OpenManifest): Failure {
  const what = manifest.sizeBytes === 0 ? 'it is empty' : 'it contains no items and is not an empty list';
  return new Failure('usage', `cannot apply ${nameOf(name)}: ${what}`, {
    hint: 'check the command that writes it; nothing was sent\nto apply an empty list, write [] as JSON or items: [] as YAML',
  });
}

/** The plan that stands in a file; undefined where it is a manifest. */
function savedPlan(name: string, { host }: Session): PlanFile | undefined {
  if (!/\.json$/i.test(name)) return undefined;
  const path = absolutePath(name, host);
  try {
    const text = readFileSync(path, 'utf8');
    return looksLikePlan(text.slice(0, 200)) ? readPlan(text, name) : undefined;
  } catch (error) {
    if (error instanceof Failure) throw error;
    // What cannot be read is said by who reads it as a manifest.
    return undefined;
  }
}

async function applyTo(known: State | undefined, applying: ApplyOptions, session: Session): Promise<void> {
  const { flags, saved } = applying;
  const state = known ?? createState(applying, session);
  if (known !== undefined) checkKnown(known, applying);
  const planned = await planChanges(state, applying, session);
  if (saved !== undefined) checkPlanIsCurrent(saved, state, planned.file);
  const isNew = known === undefined;
  await show(planned, isNew, applying, session);
  const deletes = { count: planned.plan.counts.delete, managed: countManaged(state) };
  const isGuarded = needsTypedConfirmation(deletes, applying.maxDelete);
  if (flags.dryRun || flags.out !== undefined) {
    if (isGuarded) await session.messages.say(guardNotice(deletes));
    await keepPlan(planned, applying, session);
    return;
  }
  if (planned.plan.steps.length > 0) {
    await confirmPlan(planned, isGuarded ? deletes : undefined, applying, session);
  }
  await carryOutPlan(planned, applying, session);
}

/** Shows a plan that is not carried out as what was asked for; else to a person, who may be asked about it. */
async function show({ file, state }: Planned, isNew: boolean, applying: ApplyOptions, session: Session): Promise<void> {
  const { named, flags, saved } = applying;
  const { host } = session;
  if (isNew && !flags.init && !showsOnTerminal(session)) await session.messages.say(formatNoState(named));
  const notes = isNew ? [formatNoState(named)] : [];
  const isOnlyShown = flags.dryRun || flags.out !== undefined;
  if (isOnlyShown) await showPlan(file, state, notes, session);
  else if (saved !== undefined) return;
  else if (session.output.format(true) === 'pretty' && !session.output.hasQuery)
    await drawPlan(file, state, notes, host.stdout, session);
  else if (file.steps.length > 0 && !flags.yes && session.prompts.mayPrompt()) {
    await drawPlan(file, state, notes, host.stderr, session);
  }
}

/** @param deletes those that must be confirmed by themselves, --yes or not */
async function confirmPlan(
  planned: Planned,
  deletes: Deletes | undefined,
  { named, flags, saved }: ApplyOptions,
  session: Session,
): Promise<void> {
  if (deletes !== undefined) await confirmDeletes(planned, deletes, session);
  else if (saved === undefined && !flags.yes) await confirmChanges(planned, session);
  const { site, list } = named.target;
  await session.service.confirmWrites(`list "${list}" of site "${site}"`);
}

/** What is left of a plan that is not carried out. */
async function keepPlan({ file, plan }: Planned, { outputs, flags }: ApplyOptions, session: Session): Promise<void> {
  await outputs.out?.write(printPlan(file));
  if (flags.detailedExitcode && plan.steps.length + plan.conflicts.length > 0) session.command.endWithChanges();
}

async function carryOutPlan(
  { state, plan, present }: Planned,
  applying: ApplyOptions,
  session: Session,
): Promise<void> {
  const { named, pace, outputs, summary } = applying;
  await executePlan({ named, state, plan, present, pace, rejects: outputs.rejects, summary }, session);
}

/** @throws {Failure} usage, when --init was typed though there is a state; as `checkTarget` */
function checkKnown(state: State, { named, flags }: ApplyOptions): void {
  checkTarget(state, named.statePath, named.target, named.manifest.key);
  if (!flags.init) return;
  throw new Failure('usage', `cannot create a state file: ${named.statePath} already exists`, {
    hint: 'leave out --init: it is for the first run only; nothing was sent',
  });
}

/** A new state, where somebody has said that there is none, or sees it. */
function createState({ named, flags, saved }: ApplyOptions, session: Session): State {
  const { statePath, target, manifest } = named;
  // A plan that was saved before there was a state is the first version of one.
  if (saved?.state.serial === 0) return { ...newState(target, manifest.key), lineage: saved.state.lineage };
  const isSeen = session.prompts.mayPrompt() && (showsOnTerminal(session) || !session.messages.isQuiet);
  if (flags.init || (saved === undefined && isSeen)) return newState(target, manifest.key);
  throw new Failure('usage', `no state file at ${statePath}`, {
    hint: 'restore it, or pass --init if this is the first run; nothing was sent\nwithout it every item of the manifest would be created, including those that already exist',
  });
}

/** Whether what stands above the plan is read by a person; else it is to be said on stderr. */
function showsOnTerminal(session: Session): boolean {
  return session.output.format(false) === 'pretty' && session.host.stdout.isTTY;
}

function formatNoState({ statePath }: OpenManifest): string {
  return `No state file at ${statePath}: every item of the manifest is new.`;
}

async function planChanges(state: State, applying: ApplyOptions, session: Session): Promise<Planned> {
  const { named, pace, prune, refresh } = applying;
  const { manifest, target, name } = named;
  const current = refresh ? await refreshItems(state, pace, session) : new Map();
  const hasKeys = [...state.items.values()].some(({ inDoubt }) => typeof inDoubt?.idempotencyKey === 'string');
  const isAsked = hasKeys && session.settings.idempotency === 'honored';
  const present = isAsked ? await presentMoment(target, session) : undefined;
  const plan = createPlan({
    ...{ manifest, state, current, prune },
    canResend: (doubt) => doubt.idempotencyKey !== null && present !== undefined && isKeyKnown(doubt, present()),
  });
  const { lineage, serial } = state;
  const from = {
    target,
    state: { lineage, serial },
    key: manifest.key,
    manifest: { file: name, sha256: manifest.sha256 },
  };
  return { state, plan, present, file: toPlanFile(plan, { ...from, prune, refresh }) };
}

/** Whether a service that honors keys still knows this one. */
function isKeyKnown(doubt: CreateInDoubt, present: PresentMoment): boolean {
  const ageMs = keyAgeMs(doubt, present);
  return ageMs !== undefined && ageMs < keyWindowMs;
}

/** How many items a state knows by their ids. */
function countManaged({ items }: State): number {
  let count = 0;
  for (const { id } of items.values()) if (id !== undefined) count += 1;
  return count;
}

function guardNotice(deletes: Deletes): string {
  return `the plan deletes ${deletesText(deletes)}: pass --max-delete ${deletes.count} to apply it, or confirm on a terminal`;
}

/** Asks for what --yes is not enough for. */
async function confirmDeletes({ file }: Planned, deletes: Deletes, session: Session): Promise<void> {
  const { list } = file.target;
  const asked = `${questionBefore(file)} Type ${deletes.count} or "${list}" to delete ${deletesText(deletes)}:`;
  const typed = session.prompts.mayPrompt() ? await askText(asked, {}, session) : '';
  if (typed === String(deletes.count) || typed === list) return;
  throw unconfirmedDeletes(deletes);
}

function questionBefore(file: PlanFile): string {
  const { site, list, origin } = file.target;
  return applyQuestion(file.counts, `list ${list} (site ${site}, ${origin})`);
}

async function confirmChanges({ file }: Planned, session: Session): Promise<void> {
  const question = questionBefore(file);
  if (session.prompts.mayPrompt() && (await confirm(question, session))) return;
  throw new Failure('usage', 'not confirmed: nothing was changed', {
    hint: 'pass --yes to skip the confirmation prompt',
  });
}
