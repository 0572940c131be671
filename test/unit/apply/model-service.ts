/** A list in memory, with others at work on it, that watches over what apply does. */
import type { Fields } from '../../../src/core/item.ts';
import { objectFrom } from '../../../src/core/json.ts';

/** An item as the model has it. */
export interface ModelItem {
  readonly fields: Fields;
  readonly etag: string;
  /** The key that apply made it for; undefined for what is somebody else's. */
  readonly madeFor: string | undefined;
}

/** What a request came to. */
export type Answer = { readonly id: string; readonly etag: string } | 'not-found' | 'conflict';

/** A service that throws as soon as apply touches what is not its own, or makes an item of one key twice. */
export class ModelService {
  readonly items = new Map<string, ModelItem>();
  /** By idempotency key, what it made. */
  readonly made = new Map<string, string>();
  #ids = 0;
  #versions = 0;

  create(fields: Fields, madeFor: string | undefined, idempotencyKey: string | undefined, honorsKeys: boolean): Answer {
    const before = idempotencyKey === undefined ? undefined : this.made.get(idempotencyKey);
    if (before !== undefined && honorsKeys) return { id: before, etag: this.items.get(before)?.etag ?? 'old' };
    if (madeFor !== undefined && this.madeFor(madeFor).length > 0) throw new Error(`${madeFor} is made twice`);
    this.#ids += 1;
    const id = `i${this.#ids}`;
    this.items.set(id, { fields, etag: this.#etag(), madeFor });
    if (idempotencyKey !== undefined) this.made.set(idempotencyKey, id);
    return this.#answer(id);
  }

  /** The ids of what apply made for a key, and what is still there of it. */
  madeFor(key: string): readonly string[] {
    return [...this.items].filter(([, item]) => item.madeFor === key).map(([id]) => id);
  }

  update(id: string, changes: Fields, ifMatch: string | undefined): Answer {
    const item = this.items.get(id);
    if (item === undefined) return 'not-found';
    if (item.madeFor === undefined) throw new Error(`${id} is not the manifest's`);
    if (ifMatch !== undefined && ifMatch !== item.etag) return 'conflict';
    return this.change(id, changes);
  }

  /** As somebody else does it. */
  change(id: string, changes: Fields): Answer {
    const item = this.items.get(id);
    if (item === undefined) return 'not-found';
    const merged = new Map([...Object.entries(item.fields), ...Object.entries(changes)]);
    const kept = [...merged].filter(([, value]) => value !== null);
    this.items.set(id, { ...item, fields: objectFrom(kept), etag: this.#etag() });
    return this.#answer(id);
  }

  delete(id: string, ifMatch: string | undefined): Answer {
    const item = this.items.get(id);
    if (item === undefined) return 'not-found';
    if (item.madeFor === undefined) throw new Error(`${id} is not the manifest's`);
    if (ifMatch !== undefined && ifMatch !== item.etag) return 'conflict';
    this.items.delete(id);
    return { id, etag: '' };
  }

  /** Whoever let go of an item has nothing to do with it any more; who takes it over, has. */
  setOwner(id: string, key: string | undefined): void {
    const item = this.items.get(id);
    if (item !== undefined) this.items.set(id, { ...item, madeFor: key });
  }

  #answer(id: string): Answer {
    return { id, etag: this.items.get(id)?.etag ?? '' };
  }

  #etag(): string {
    this.#versions += 1;
    return `"v${this.#versions}"`;
  }
}
