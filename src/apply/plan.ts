/** Manifest × state × what the service has now → what is to be done. Nothing is read and nothing sent here. */
import { payloadHash } from '../bulk/keys.ts';
import { type Fields, holdsFields, isSameField, isSameValue, ownField } from '../core/item.ts';
import { type JsonValue, objectFrom } from '../core/json.ts';
import { keyText, type Manifest, type ManifestItem } from './manifest.ts';
import type { CreateInDoubt, CreateStep, DeleteStep, KnownItem, State, StateItem, Step, UpdateStep } from './state.ts';

/** What the service has of a known item. Of one that nobody asked for (`unknown`), the state is trusted. */
export type CurrentItem =
  | { readonly kind: 'there'; readonly fields: Fields; readonly etag?: string | undefined }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown' };

/** What a plan is made from. */
export interface PlanInput {
  readonly manifest: Pick<Manifest, 'items'>;
  /** Without a run: one that was killed is folded in before (`fold`). */
  readonly state: State;
  /** By key; a key that is not there is `unknown`. */
  readonly current: ReadonlyMap<string, CurrentItem>;
  /** Whether items that the manifest no longer names are removed. */
  readonly prune: boolean;
  /**
   * Whether a create in doubt may be sent again: the service is known to honor keys, and this one is not too old. It
   * is asked only where the manifest still says what was sent. Without it all of them are held.
   */
  readonly canResend?: ((doubt: CreateInDoubt) => boolean) | undefined;
}

/** An item that is not the one that the state knows by this id: its key field has another value. */
export interface Conflict {
  readonly key: string;
  readonly id: string;
  /** What is not done about it. */
  readonly action: 'update' | 'delete';
  /** The value of its key field; undefined where it has none. */
  readonly found: JsonValue | undefined;
}

/** What is to be done, and what is known without doing anything. */
export interface Plan {
  readonly steps: readonly Step[];
  /** Items that are neither changed nor deleted, since they are not the manifest's. */
  readonly conflicts: readonly Conflict[];
  readonly counts: PlanCounts;
  /** The keys of the items that may be there: nothing is done about them until somebody looks. In the order of the manifest, then of the state. */
  readonly inDoubt: readonly string[];
  /** The keys that the state knows, and the manifest no longer names: they stay. */
  readonly orphaned: readonly string[];
  /** What the state is to say whatever becomes of the steps (`withLearned`); undefined for a key that it forgets. */
  readonly learned: ReadonlyMap<string, StateItem | undefined>;
}

/** How many keys are in which case. */
export interface PlanCounts {
  readonly create: number;
  readonly update: number;
  readonly delete: number;
  readonly unchanged: number;
  readonly inDoubt: number;
  readonly conflict: number;
  readonly orphaned: number;
  /** Of the updates and deletes: items that somebody changed since they were last applied. */
  readonly drifted: number;
  /** Of the creates: items that were there, and are no more. */
  readonly gone: number;
  /** Items that neither the manifest names nor the service has any more: the state forgets them. */
  readonly forgotten: number;
}

/**
 * Makes a plan. No key is in two steps; nothing is deleted, or changed, that the state does not own, or whose key field
 * has another value than the state expects; and where nothing has changed since, the plan of a list that was made to
 * match is empty.
 */
export function createPlan(input: PlanInput): Plan {
  const { manifest, state, prune } = input;
  if (state.run !== undefined) throw new Error('a run is to be folded into its state before anything is planned');
  const planning = new Planner(input);
  const named = new Set<string>();
  for (const item of manifest.items) {
    named.add(item.key);
    planning.add(item, state.items.get(item.key));
  }
  for (const [key, known] of state.items) if (!named.has(key)) planning.addUnnamed(key, known, prune);
  return planning.end();
}

class Planner {
  readonly #input: PlanInput;
  readonly #steps: Step[] = [];
  readonly #conflicts: Conflict[] = [];
  readonly #inDoubt: string[] = [];
  readonly #orphaned: string[] = [];
  readonly #learned = new Map<string, StateItem | undefined>();
  #unchanged = 0;
  #gone = 0;
  #drifted = 0;
  #forgotten = 0;

  constructor(input: PlanInput) {
    this.#input = input;
  }

  /** What the manifest names. */
  add(item: ManifestItem, known: StateItem | undefined): void {
    const { key, fields } = item;
    if (known === undefined) this.#create(item, {});
    else if (known.inDoubt !== undefined) this.#doubt(item, known.inDoubt);
    else {
      const current = this.#input.current.get(key);
      if (current?.kind === 'gone') {
        this.#gone += 1;
        this.#create(item, { why: 'gone' });
      } else if (!this.#refuses('update', key, known, current)) {
        const now = current?.kind === 'there' ? current : known;
        if (holdsFields(now.fields, fields)) this.#leave(key, known, { id: known.id, fields, etag: now.etag });
        else this.#update(item, known, now);
      }
    }
  }

  /** What the manifest does not name. */
  addUnnamed(key: string, known: StateItem, prune: boolean): void {
    if (known.inDoubt !== undefined) {
      this.#inDoubt.push(key);
      return;
    }
    const current = this.#input.current.get(key);
    if (current?.kind === 'gone') {
      this.#learned.set(key, undefined);
      this.#forgotten += 1;
    } else if (!prune) this.#orphaned.push(key);
    else if (!this.#refuses('delete', key, known, current)) {
      this.#delete(key, known, current?.kind === 'there' ? current : known);
    }
  }

  /**
   * Whether the id belongs to another item by now: a restored list counts from 1 again, a person may have put something
   * else in its place. The ETag cannot tell, since it was read together with the other item.
   */
  #refuses(action: Conflict['action'], key: string, known: KnownItem, current: CurrentItem | undefined): boolean {
    const name = this.#input.state.key;
    if (current?.kind !== 'there' || hasKey(current.fields, known, key, name)) return false;
    this.#conflicts.push({ key, id: known.id, action, found: ownField(current.fields, name) });
    return true;
  }

  #create({ key, fields }: ManifestItem, more: Pick<CreateStep, 'why' | 'inDoubt'>): void {
    this.#steps.push({ number: this.#next, action: 'create', key, fields, after: fields, ...more });
  }

  #doubt(item: ManifestItem, inDoubt: CreateInDoubt): void {
    const { canResend } = this.#input;
    const isSame = canResend !== undefined && payloadHash(undefined, item.fields) === inDoubt.hash;
    if (isSame && inDoubt.idempotencyKey !== null && canResend(inDoubt)) {
      this.#create(item, { why: 'in-doubt', inDoubt });
    } else this.#inDoubt.push(item.key);
  }

  /** Nothing is to be done; what the state says of it may be old all the same. */
  #leave(key: string, known: KnownItem, now: KnownItem): void {
    this.#unchanged += 1;
    if (known.etag !== now.etag || !isSameValue(known.fields, now.fields)) this.#learned.set(key, now);
  }

  #update({ key, fields }: ManifestItem, { id, fields: applied }: KnownItem, now: Now): void {
    const changed: [string, JsonValue][] = [];
    const before: [string, JsonValue][] = [];
    let isDrift = false;
    for (const [name, value] of Object.entries(fields)) {
      const old = ownField(now.fields, name);
      if (isSameField(old, value)) continue;
      changed.push([name, value]);
      if (old !== undefined) before.push([name, old]);
      if (Object.hasOwn(applied, name) && !isSameField(old, applied[name])) isDrift = true;
    }
    const sent = { fields: objectFrom(changed), before: objectFrom(before), after: fields };
    const step: UpdateStep = { number: this.#next, action: 'update', key, id, ...etagOf(now), ...sent };
    this.#push(step, isDrift);
  }

  #delete(key: string, { id, fields: applied }: KnownItem, now: Now): void {
    const sent = { fields: {}, before: now.fields, after: {} };
    const step: DeleteStep = { number: this.#next, action: 'delete', key, id, ...etagOf(now), ...sent };
    this.#push(step, !holdsFields(now.fields, applied));
  }

  #push(step: UpdateStep | DeleteStep, isDrift: boolean): void {
    if (isDrift) this.#drifted += 1;
    this.#steps.push(isDrift ? { ...step, drift: true } : step);
  }

  get #next(): number {
    return this.#steps.length + 1;
  }

  end(): Plan {
    const counts = { create: 0, update: 0, delete: 0 };
    for (const { action } of this.#steps) counts[action] += 1;
    const [conflicts, inDoubt, orphaned] = [this.#conflicts, this.#inDoubt, this.#orphaned];
    const left = { inDoubt: inDoubt.length, conflict: conflicts.length, orphaned: orphaned.length };
    const rest = { unchanged: this.#unchanged, ...left };
    const found = { drifted: this.#drifted, gone: this.#gone, forgotten: this.#forgotten };
    const names = { conflicts, inDoubt, orphaned };
    return { steps: this.#steps, counts: { ...counts, ...rest, ...found }, ...names, learned: this.#learned };
  }
}

/**
 * Whether an item is the one that a state knows by a key: its key field is as it was last applied, or says that key.
 *
 * @param name of the key field
 */
export function hasKey(fields: Fields, known: Pick<KnownItem, 'fields'>, key: string, name: string): boolean {
  const found = ownField(fields, name);
  return isSameField(found, ownField(known.fields, name)) || (found !== undefined && keyText(found) === key);
}

/** What an item has, as far as it is known. */
type Now = Pick<KnownItem, 'fields' | 'etag'>;

function etagOf({ etag }: Now): { readonly etag?: string } {
  return etag === undefined ? {} : { etag };
}
