/** `listctl apply`: reads the manifest, compares, shows the plan, asks, and executes it. */
import { readFileSync } from 'node:fs';
import { keyWindowMs } from '../api/outcome.ts';
import { parsePaceFlags, type RunLimits } from '../bulk/flags.ts';
import { type ClockReading, keyAgeMs } from '../bulk/keys.ts';
import { openOutputs, type RunOutputs, refuseSummary, reportFiles } from '../bulk/outputs.ts';
import { reportBadRows } from '../bulk/progress.ts';
import { readClocks, refuseSameFile, runOrigin } from '../bulk/record.ts';
import { findRunFailure } from '../bulk/send.ts';
import { parseFormFlags, showMapping } from '../cli/encode-fields.ts';
import { checkMaxDelete, readMaxDelete } from '../cli/guards.ts';
import { describeList } from '../cli/run-settings.ts';
import type { Session } from '../cli/session.ts';
import { Failure } from '../core/errors.ts';
import { absolutePath } from '../core/files.ts';
import { countOf, countText, quoted } from '../core/text.ts';
import { descriptorNamed, type OutputFile, openOutput } from '../core/write-file.ts';
import { stepsText } from '../output/plan.ts';
import { notAPlan } from '../output/printer.ts';
import { nameOf } from '../rows/input.ts';
import { executePlan, resolveHint } from './execute.ts';
import type { ManifestSchema } from './manifest-schema.ts';
import {
  type ManifestFlags,
  type OpenManifest,
  openManifest,
  readUnlockedState,
  stateFilePaths,
  statePathOf,
  withLockedState,
} from './open.ts';
import { createPlan, limitTo, type Plan, type PlanInput } from './plan.ts';
import { checkPlanIsCurrent, looksLikePlan, type PlanFile, printPlan, readPlan } from './plan-file.ts';
import { refreshItems } from './refresh.ts';
import { isSeen, isShownOnTerminal, showPlan } from './show-plan.ts';
import { checkTarget, type KnownItem, newState, type State, shorten, withItems } from './state.ts';

export interface ApplyFlags extends ManifestFlags {
  /** True for `--init`. */
  readonly init?: string | true;
  readonly dryRun?: boolean;
  readonly prune?: boolean;
  readonly yes?: boolean;
  /** False with --no-refresh. */
  readonly refresh?: boolean;
  readonly detailedExitcode?: boolean;
  readonly out?: string;
  readonly target?: readonly string[];
}

interface ApplyOptions {
  /** The manifest or the saved plan, as typed. */
  readonly name: string;
  readonly opened: OpenManifest;
  readonly flags: ApplyFlags;
  readonly isOnlyShown: boolean;
  readonly pace: RunLimits;
  readonly maxDelete: number | undefined;
  readonly outputs: RunOutputs;
  /** The saved plan that is executed or shown. */
  readonly saved: PlanFile | undefined;
  /** Those of the saved plan, else of the flags. */
  readonly scope: Pick<PlanFile, 'prune' | 'refresh' | 'targets'>;
  readonly out: OutputFile | undefined;
}

/**
 * Makes a list match a manifest, or executes a saved plan.
 *
 * @throws {Failure} usage, also if the plan is not confirmed, or without a state file and --init; conflict, if a saved
 *   plan is stale; locked; local-file; as `executePlan`
 * @throws {Stopped}
 */
export async function applyManifest(name: string, flags: ApplyFlags, session: Session): Promise<void> {
  const pace = parsePaceFlags(flags);
  const maxDelete = readMaxDelete(flags);
  const isOnlyShown = isOnlyPlanned(flags);
  checkFlags(flags, isOnlyShown, session);
  const saved = readSavedPlan(name, session);
  const scope = readScope(flags, saved);
  const file = saved?.manifest.file ?? name;
  const { rejects, out, summaryJson } = flags;
  const records = { 'the state': stateFilePaths(statePathOf(file, flags, session.host)) };
  const inputs = { 'the manifest': file === '-' ? undefined : file, 'the plan': saved && name };
  const paths = { '--rejects': rejects, '--out': out, '--summary-json': summaryJson, ...reportFiles(pace.reports) };
  refuseSameFile({ inputs, records, outputs: paths }, session.host);
  const of = { action: 'apply', service: runOrigin(session), list: undefined, shard: null, file, isOnlyShown };
  const outputs = await openOutputs(pace, of, session);
  if (out !== undefined && descriptorNamed(out, session.host) === 1) session.output.claimStdout('--out', false);
  const outFile = out === undefined ? undefined : await openOutput(out, '--out', session.host);
  try {
    const manifestFlags = saved === undefined ? flags : { ...flags, key: saved.key };
    const opened = await openManifest(file, manifestFlags, session, (failure) => outputs.report.add(failure));
    if (opened.manifest.isBlank) throw blankManifest(opened);
    outputs.summary.resolved(opened.list.ids);
    const options = { name, opened, flags, isOnlyShown, pace, maxDelete, saved, scope, outputs, out: outFile };
    // A plan that is only shown needs no lock, so that it works on a read-only disk.
    if (flags.dryRun && out === undefined) {
      await applyTo(await readUnlockedState(opened.statePath, session), options, session);
    } else {
      await withLockedState(opened.statePath, pace, session, (state) => applyTo(state, options, session));
    }
  } finally {
    await outputs.close();
    await outFile?.close();
  }
}

function isOnlyPlanned({ dryRun, out }: ApplyFlags): boolean {
  return dryRun === true || out !== undefined;
}

function checkFlags(flags: ApplyFlags, isOnlyShown: boolean, { output }: Session): void {
  if (typeof flags.init === 'string' && flags.init !== 'again') {
    throw new Failure('usage', `invalid --init ${quoted(flags.init)}: expected --init or --init=again`);
  }
  if (output.format(false) === 'markdown' && !isOnlyShown) throw notAPlan();
  if (flags.detailedExitcode && !isOnlyShown) {
    throw new Failure('usage', '--detailed-exitcode requires --dry-run or --out');
  }
  if (!isOnlyShown) return;
  // Items that are to be created have no ids.
  if (output.format(false) === 'id' && !output.hasQuery) {
    throw new Failure('usage', `--output id cannot be used with ${flags.dryRun ? '--dry-run' : '--out'}`, {
      hint: "pass -o json, or -q 'steps[].id' for the items that are to be changed or deleted",
    });
  }
  refuseSummary(flags.summaryJson);
}

/** A saved plan is executed as it is: a flag that would change it cannot be honored. */
function readScope({ prune = false, target, refresh = true }: ApplyFlags, saved?: PlanFile): ApplyOptions['scope'] {
  if (saved === undefined) return { prune, refresh, targets: target };
  const flag = (prune && '--prune') || (target && '--target') || (!refresh && '--no-refresh');
  if (!flag) return saved;
  throw new Failure('usage', `${flag} cannot be used with a saved plan`, {
    hint: 'pass it when the plan is made',
  });
}

/** An empty file is not an empty list: the command that wrote it may have failed, and --prune would delete all items. */
function blankManifest({ name, manifest }: OpenManifest): Failure {
  const what = manifest.sizeBytes === 0 ? 'it is empty' : 'it contains no items and is not an empty list';
  return new Failure('usage', `cannot apply ${nameOf(name)}: ${what}`, {
    hint: 'check the command that writes it\nto apply an empty list, write [] as JSON or items: [] as YAML',
  });
}

/** Reads a saved plan; undefined for a manifest. */
function readSavedPlan(name: string, { host }: Session): PlanFile | undefined {
  if (!/\.json$/i.test(name)) return undefined;
  const path = absolutePath(name, host);
  try {
    const text = readFileSync(path, 'utf8');
    return looksLikePlan(text.slice(0, 200)) ? readPlan(text, name) : undefined;
  } catch (error) {
    if (error instanceof Failure) throw error;
    // Reading it as a manifest reports the error.
    return undefined;
  }
}

async function applyTo(known: State | undefined, options: ApplyOptions, session: Session): Promise<void> {
  const { name, opened, flags, isOnlyShown, pace, saved, outputs } = options;
  const begun = known ?? createState(options, session);
  if (known !== undefined) checkKnown(known, options);
  const read = await readItems(begun, options, session);
  const nowMs = session.host.clock.now();
  // Without a state, nothing but the list can say which items there are.
  const state = known === undefined && read.imported !== undefined ? withItems(begun, read.imported, nowMs) : begun;
  const { plan, present } = await planChanges(state, read, options, session);
  if (saved !== undefined) checkPlanIsCurrent(saved, state, plan);
  await reportSettled(plan, state, session);
  checkFirstRun(known, plan, options, session);
  if (opened.schema !== undefined) await checkColumns(plan, opened.schema, options, session);
  await showPlan(plan, state, { ...options, isNew: known === undefined }, session);
  const deletes = guardedDeletes(plan, state, options.maxDelete);
  if (isOnlyShown) {
    if (deletes !== undefined) {
      const advice = `pass --max-delete ${deletes.count} to apply it, or confirm on a terminal`;
      await session.messages.say(`the plan deletes ${deletes.text}: ${advice}`);
    }
    await savePlan(plan, options, session);
    if (flags.detailedExitcode) endDetailed(plan, opened, session);
    return;
  }
  // A saved plan is not shown again.
  if (saved !== undefined) {
    const isEmpty = plan.steps.length === 0;
    const what = isEmpty
      ? `nothing to do: ${name} has no changes`
      : `applying ${name}: ${stepsOf(plan, opened, session)}`;
    await session.messages.say(what);
  }
  if (plan.steps.length > 0) await confirmPlan(plan, deletes, options, session);
  await executePlan({ opened, state, plan, present, pace, outputs }, session);
}

/** @throws {Failure} in-doubt, if a key is: applying the plan would end so too */
function endDetailed({ inDoubt, steps, conflicts }: Plan, opened: OpenManifest, { command }: Session): void {
  const totals = { inDoubt: inDoubt.length, failed: 0, invalid: 0, left: 0 };
  const failure = findRunFailure(totals, undefined, {
    done: 'applied',
    next: [resolveHint(opened)],
    doubtful: inDoubt,
  });
  if (failure !== undefined) throw failure;
  if (steps.length + conflicts.length > 0) command.endWithChanges();
}

async function savePlan(
  plan: PlanFile,
  { out, opened, flags: { out: typed = '' } }: ApplyOptions,
  session: Session,
): Promise<void> {
  if (out === undefined) return;
  await out.write(printPlan(plan));
  if (descriptorNamed(typed, session.host) !== undefined) return;
  const next = plan.steps.length === 0 ? '' : `; to apply it, run: listctl apply ${opened.wordsFor(typed)}`;
  await session.messages.say(`saved the plan to ${typed}${next}`);
}

/** A new state, if --init is given, or if the plan that shows it is confirmed at a prompt. */
function createState({ opened, flags, saved }: ApplyOptions, session: Session): State {
  const { statePath, target, manifest } = opened;
  // A plan that was saved before the first run starts the lineage of the state.
  if (saved?.state.serial === 0) return { ...newState(target, manifest.key), lineage: saved.state.lineage };
  const isConfirmed = isSeen(session) && (isShownOnTerminal(session) || !session.messages.isQuiet);
  if (flags.init || (saved === undefined && isConfirmed)) return newState(target, manifest.key);
  const otherwise =
    opened.schema === undefined
      ? 'without it every item of the manifest would be created, including those that already exist'
      : `without a state file, existing items whose ${manifest.key} is in the manifest are imported`;
  throw new Failure('usage', `no state file at ${statePath}`, {
    hint: `restore it, or pass --init if this is the first run\n${otherwise}`,
  });
}

/**
 * Refuses --init in a CI job: the job would create the items at each run, since a fresh checkout has no state. Without a
 * query, nothing says which of them exist.
 */
function checkFirstRun(
  known: State | undefined,
  { counts }: Plan,
  { opened, flags, saved }: ApplyOptions,
  { prompts }: Session,
): void {
  const isPreview = flags.dryRun === true && flags.out === undefined;
  const isReviewed = flags.init === 'again' || saved !== undefined;
  if (known !== undefined || opened.schema !== undefined || counts.create === 0) return;
  if (!prompts.isCi || isPreview || isReviewed) return;
  const items = countOf(counts.create, 'item');
  throw new Failure('usage', `cannot create a state file with CI set: ${items} would be created, again if they exist`, {
    hint: `restore ${opened.statePath}, which has the items that exist\nif none exist, pass --init=again once: a job with it creates them at each run that finds no state`,
  });
}

function checkKnown(state: State, { opened, flags }: ApplyOptions): void {
  checkTarget(state, opened.statePath, opened.target, opened.manifest.key);
  if (!flags.init) return;
  throw new Failure('usage', `cannot create a state file: ${opened.statePath} already exists`, {
    hint: 'leave out --init: it is for the first run only',
  });
}

type ItemsRead = Pick<PlanInput, 'current' | 'others' | 'isSame'> & {
  readonly duplicates?: Plan['duplicates'];
  /** Those of `others` that a new state begins with. */
  readonly imported?: ReadonlyMap<string, KnownItem>;
};

function limitedTo({ opened: { manifest }, scope: { targets } }: ApplyOptions, state: State) {
  return targets === undefined ? { manifest, state } : limitTo(targets, manifest, state);
}

/** Reads the managed items; with Microsoft Graph also those that the state should manage. */
async function readItems(begun: State, options: ApplyOptions, session: Session): Promise<ItemsRead> {
  const { pace, scope } = options;
  const { manifest, state } = limitedTo(options, begun);
  const { schema } = options.opened;
  const isSame = schema?.isSame;
  if (!scope.refresh) {
    if (schema === undefined || begun.serial > 0) return { current: new Map(), isSame };
    const message = '--no-refresh requires a state: without one, items that exist would be created again';
    throw new Failure('usage', message, { hint: 'leave out --no-refresh the first time' });
  }
  if (schema === undefined) return { current: await refreshItems(state, pace, session) };
  const { duplicatesText, readList, uniqueItems } = await import('./read-list.ts');
  const read = await readList(manifest, state, { schema, pace, findsOthers: true }, session);
  const { current, others, duplicates, unmanaged } = read;
  if (begun.serial > 0) {
    if (duplicates.length > 0) await session.messages.say(`warning: ${duplicatesText(duplicates)}`);
    return { current, others, duplicates, isSame };
  }
  const imported = uniqueItems(others, begun.key);
  if (scope.prune && unmanaged > 0) {
    const items = `${countOf(unmanaged, 'item')} of the list that ${unmanaged === 1 ? 'is' : 'are'} not in the manifest`;
    await session.messages.say(`--prune keeps ${items}: ${unmanaged === 1 ? 'it is' : 'they are'} not in the state`);
  }
  const there = [...imported].map(([key, item]) => [key, { ...item, kind: 'there' }] as const);
  return { current: new Map(there), imported, isSame };
}

/** @throws {Failure} usage, if an item to create lacks a required column */
async function checkColumns(
  plan: Plan,
  schema: ManifestSchema,
  { opened, flags, isOnlyShown, outputs: { report } }: ApplyOptions,
  session: Session,
): Promise<void> {
  if (schema.form !== undefined && isOnlyShown) await showMapping(schema.form, parseFormFlags(flags), session);
  const { incompleteCreates } = await import('./manifest-schema.ts');
  const failures = incompleteCreates(plan, opened.manifest, schema);
  const [first] = failures;
  if (first === undefined) return;
  for (const failure of failures) report.add(failure);
  const name = nameOf(opened.name);
  await reportBadRows(name, failures, failures.length, session);
  const message = `${name}: ${countOf(failures.length, 'item')} cannot be created: ${first.message}`;
  throw new Failure('usage', message, { outcome: 'not-sent' });
}

/** Says which items in doubt were found in the list. */
async function reportSettled({ learned }: Plan, { items }: State, { messages }: Session): Promise<void> {
  for (const [key, item] of learned) {
    const id = items.get(key)?.inDoubt === undefined ? undefined : item?.id;
    if (id !== undefined) await messages.say(`"${shorten(key)}" was created: the list has it as item ${id}`);
  }
}

/** @returns the plan, and the present time if keys in doubt were compared with it */
async function planChanges(
  state: State,
  { imported, duplicates, ...read }: ItemsRead,
  options: ApplyOptions,
  session: Session,
): Promise<{ readonly plan: Plan & PlanFile; readonly present: (() => ClockReading) | undefined }> {
  const { opened, scope } = options;
  const { manifest, target, name: file } = opened;
  const limited = limitedTo(options, state);
  const { prune, refresh, targets } = scope;
  const hasKeys = [...limited.state.items.values()].some(({ inDoubt }) => typeof inDoubt?.idempotencyKey === 'string');
  const isComparable = hasKeys && session.settings.idempotency === 'honored';
  const present = isComparable ? await readClocks(target, session) : undefined;
  const plan = createPlan({
    ...{ ...limited, ...read, prune },
    canResend: (doubt) => {
      if (opened.schema?.list.keyColumn(manifest.key)?.guarantee === 'unique') return true;
      if (doubt.idempotencyKey === null || present === undefined) return false;
      const ageMs = keyAgeMs(doubt, present());
      return ageMs !== undefined && ageMs < keyWindowMs;
    },
  });
  const { lineage, serial } = state;
  const source = { target, state: { lineage, serial }, key: manifest.key, manifest: { file, sha256: manifest.sha256 } };
  const more = {
    ...(targets && { targets }),
    ...(imported?.size && { imported: [...imported.keys()] }),
    ...(duplicates?.length && { duplicates }),
  };
  return { plan: { ...plan, ...source, prune, refresh, ...more }, present };
}

interface Deletes {
  readonly count: number;
  /** `12 of 20 managed items` */
  readonly text: string;
}

/**
 * The deletes of a plan if they must be confirmed by typing their number, also with --yes: more than 10, and more than
 * half of the managed items, without --max-delete.
 */
function guardedDeletes(
  { counts: { delete: count } }: Plan,
  { items }: State,
  max: number | undefined,
): Deletes | undefined {
  checkMaxDelete(count, max);
  let managed = 0;
  for (const { id } of items.values()) if (id !== undefined) managed += 1;
  if (max !== undefined || count <= 10 || count * 2 <= managed) return undefined;
  return { count, text: `${countText(count)} of ${countOf(managed, 'managed item')}` };
}

/** @param deletes if they need to be confirmed by their number */
async function confirmPlan(
  plan: PlanFile,
  deletes: Deletes | undefined,
  { saved, flags, opened }: ApplyOptions,
  session: Session,
): Promise<void> {
  const { prompts, service } = session;
  if (deletes !== undefined || (saved === undefined && !flags.yes)) {
    const steps = stepsOf(plan, opened, session);
    const question = `${steps.charAt(0).toUpperCase()}${steps.slice(1)}?`;
    const typed = deletes && { words: [String(deletes.count), plan.target.list], purpose: `delete ${deletes.text}` };
    if (!(isSeen(session) && (await prompts.confirm(question, typed)))) throw notConfirmed(deletes, session);
  }
  await service.confirmWrites(describeList(opened.list));
}

function notConfirmed(deletes: Deletes | undefined, { prompts }: Session): Failure {
  if (deletes === undefined) {
    return new Failure('usage', 'not confirmed: nothing was changed', { hint: prompts.skipHint() });
  }
  return new Failure('usage', `cannot delete ${deletes.text}: --max-delete is required`, {
    hint: `check that the manifest is complete, then pass --max-delete ${deletes.count}`,
  });
}

function stepsOf({ counts }: PlanFile, { list }: OpenManifest, { settings }: Session): string {
  return stepsText(counts, `${describeList(list)} on ${settings.target()}`);
}
