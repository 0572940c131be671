/** A manifest for a list with columns: the form of its fields, and its key. */
import { Failure } from '../core/errors.ts';
import type { EncodeOptions, FieldEncoder } from '../core/field-encoder.ts';
import type { Fields } from '../core/item.ts';
import { type JsonValue, objectFrom } from '../core/json.ts';
import { quoted } from '../core/text.ts';
import { missingText } from '../rows/types.ts';
import type { ListSchema } from '../services/service.ts';
import type { Manifest, ManifestColumns } from './manifest.ts';
import type { Plan, SameField } from './plan.ts';

/** What the columns of a list say of a manifest. */
export class ManifestSchema implements ManifestColumns {
  readonly list: ListSchema;
  /** Undefined if the fields of the list may have any names and values. */
  readonly form: FieldEncoder | undefined;

  constructor(list: ListSchema, options: EncodeOptions) {
    this.list = list;
    this.form = list.encoder(options);
  }

  /** Compares values by the type of their column; those of a field without a column as JSON. */
  readonly isSame: SameField = (...values) => this.list.isSame(...values);

  /**
   * The form of the fields of a manifest: as they are sent, without annotations. An item may lack a required column, if it
   * exists already.
   */
  get rowsForm(): FieldEncoder | undefined {
    const { form } = this;
    if (form === undefined) return undefined;
    return {
      field: (typed) => {
        const field = form.field(typed);
        if ('problem' in field) return field;
        const put = (fields: Record<string, JsonValue>, value: JsonValue) => {
          if (!isAnnotation(field.name)) fields[field.name] = value;
        };
        return { ...field, put };
      },
      fields: (members) => withoutAnnotations(form.fields(members)),
      fieldsOfItem: (read, isKept) => withoutAnnotations(form.fieldsOfItem(read, isKept)),
      mapping: () => form.mapping(),
      missing: () => [],
      get isIncomplete() {
        return form.isIncomplete;
      },
      complete: () => form.complete(),
    };
  }

  /** @throws {Failure} usage, if there is no such column, or its values cannot be keys */
  keyNamed(typed: string): string {
    const field = this.form?.field(typed) ?? { name: typed };
    const column = 'name' in field ? this.list.column(field.name) : undefined;
    // Two texts may be one instant.
    const isUnfit = column?.isMultiple === true || column?.type === 'dateTime';
    if ('name' in field && !isUnfit) return field.name;
    const problem = 'problem' in field ? field.problem : `${quoted(typed)} is a ${column?.type}`;
    throw new Failure('usage', `invalid key field: ${problem}`, {
      hint: 'pass --key with a column of text or numbers',
    });
  }

  /** SharePoint refuses a second value of a unique column that differs in case alone. */
  comparedBy(keyField: string): ((key: string) => string) | undefined {
    const column = this.list.column(keyField);
    return column?.type === 'text' && column.isUnique ? foldKey : undefined;
  }

  readonly toSent = (fields: Fields): Fields => this.list.toSent(fields);

  /** Fields as they were read, as a manifest has them: those with these names. */
  written(read: Fields, names: Iterable<string>): Fields {
    return this.list.pick(read, names);
  }
}

function isAnnotation(name: string): boolean {
  return name.includes('@');
}

function withoutAnnotations<T extends { readonly fields: Fields }>(formed: T): T {
  const members = Object.entries(formed.fields).filter(([name]) => !isAnnotation(name));
  return { ...formed, fields: objectFrom(members) };
}

/** The creates of a plan that lack a required column, each with the reason. */
export function incompleteCreates(
  { steps }: Pick<Plan, 'steps'>,
  { items }: Pick<Manifest, 'items'>,
  { form }: ManifestSchema,
): readonly Failure[] {
  const lines = new Map(items.map(({ key, line }) => [key, line]));
  return steps.flatMap(({ action, key, fields }) => {
    const missing = action === 'create' ? (form?.missing(fields) ?? []) : [];
    if (missing.length === 0) return [];
    const line = lines.get(key);
    const reason = missing.map(({ typed }) => missingText(typed)).join('; ');
    return [new Failure('usage', `line ${line}: ${reason}`, { about: { line, key, reason } })];
  });
}

/** A text as SharePoint may tell it apart: without case and outer blanks. */
export function foldKey(value: string): string {
  return value.trim().toLowerCase();
}
