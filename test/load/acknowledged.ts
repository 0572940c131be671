/** What the service has said yes to, item by item, and so must hold whatever happens to its process. */

/** An item that was created, as far as its service has answered. */
interface Known {
  readonly title: string;
  readonly row: unknown;
  /** The note that the last answer confirmed; undefined before there was one. */
  note: string | undefined;
  /** A note that was sent and not confirmed: it may be there or not. */
  noteUnderWay: string | undefined;
  /** Whether a delete was sent, and whether it was confirmed. */
  fate: 'there' | 'delete-under-way' | 'gone';
}

/** The fields of an item, or undefined if it does not exist. */
export type ReadItem = (id: string) => Promise<Readonly<Record<string, unknown>> | undefined>;

export class Acknowledged {
  readonly #items = new Map<string, Known>();
  /** What cannot be, said as it was noticed. */
  readonly broken: string[] = [];

  get size(): number {
    return this.#items.size;
  }

  created(id: string, { title, row }: { readonly title: string; readonly row: unknown }): void {
    // The service never gives an id twice (service-2).
    if (this.#items.has(id)) this.broken.push(`id ${id} was given twice`);
    this.#items.set(id, { title, row, note: undefined, noteUnderWay: undefined, fate: 'there' });
  }

  updating(id: string, note: string): void {
    this.#known(id).noteUnderWay = note;
  }

  updated(id: string): void {
    const known = this.#known(id);
    known.note = known.noteUnderWay;
    known.noteUnderWay = undefined;
  }

  deleting(id: string): void {
    this.#known(id).fate = 'delete-under-way';
  }

  deleted(id: string): void {
    this.#known(id).fate = 'gone';
  }

  /**
   * Reads every item, several at once, and compares.
   *
   * @returns a sentence for each that is not as it was confirmed
   */
  async compare(read: ReadItem, atOnce: number): Promise<readonly string[]> {
    const rest = this.#items.entries();
    const found: string[] = [];
    const worker = async () => {
      for (const [id, known] of rest) {
        const fault = faultOf(known, await read(id));
        if (fault !== undefined) found.push(`item ${id} ${fault}`);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    return found;
  }

  #known(id: string): Known {
    const known = this.#items.get(id);
    if (known === undefined) throw new Error(`no item ${id} was created`);
    return known;
  }
}

function faultOf(
  { title, row, note, noteUnderWay, fate }: Known,
  fields: Readonly<Record<string, unknown>> | undefined,
): string | undefined {
  if (fields === undefined) return fate === 'there' ? 'is lost' : undefined;
  if (fate === 'gone') return 'was deleted, and is there';
  if (fields['Title'] !== title) return `has the title ${fields['Title']} instead of ${title}`;
  if (fields['Row'] !== row) return `has the row ${fields['Row']} instead of ${row}`;
  const isNoteKnown = fields['Note'] === note || (noteUnderWay !== undefined && fields['Note'] === noteUnderWay);
  return isNoteKnown ? undefined : `has the note ${fields['Note']} instead of ${note}`;
}
