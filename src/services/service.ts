/** What a kind of service can do. */
import type { Client } from '../api/client.ts';
import type { ErrorWording } from '../api/failures.ts';
import type { Finding, Operation, SeenIds, SentEarlier } from '../api/operation.ts';
import type { ApiRequest, ResponseHead } from '../api/transport.ts';
import type { EncodeOptions, FieldEncoder } from '../core/field-encoder.ts';
import type { Clock } from '../core/host.ts';
import type { Fields, Item, ItemRef, ListRef } from '../core/item.ts';
import type { JsonValue } from '../core/json.ts';

/** The operations on items as one kind of service has them: their requests, and the meaning of the responses. */
export interface ItemOperations {
  create(list: ListRef, fields: Fields, options?: CreateOptions): Operation<Item>;
  get(ref: ItemRef): Operation<Item>;
  /** Requires the entity tag `ifMatch`, if given. */
  update(ref: ItemRef, fields: Fields, ifMatch?: string): Operation<Item>;
  delete(ref: ItemRef, ifMatch?: string): Operation<void>;
}

/** How an item is created. */
export interface CreateOptions {
  readonly key?: string | undefined;
  /** The ids that other creates of the run returned: a response with one of them belongs to another request. */
  readonly seenIds?: SeenIds | undefined;
  /** When an earlier process sent the same request. */
  readonly sent?: SentEarlier | undefined;
}

/** A list as it was given: by ids or names, or by its URL in the browser, which has the site. */
export type NamedList = ListRef | { readonly url: string };

/** A list by the ids that runs, states and plans know it by, and as it was given. */
export interface ResolvedList {
  readonly ids: ListRef;
  readonly named: NamedList;
}

/** A column of a list. */
export interface Column {
  /** The internal name, by which values go. */
  readonly name: string;
  /** The field by which it is written: `OwnerLookupId` for the person `Owner`. */
  readonly field: string;
  readonly displayName: string;
  /** The name of the type, as the service has it; `unknown` if the definition has none. */
  readonly type: string;
  readonly isMultiple: boolean;
  /** Its values are ids of items or persons. */
  readonly isReference: boolean;
  readonly isRequired: boolean;
  readonly isUnique: boolean;
  readonly isIndexed: boolean;
  /** Only the service sets it. */
  readonly isReadOnly: boolean;
  /** It is not read-only, and of a type that can be written. */
  readonly isWritable: boolean;
  /** What is read of it can be written again. */
  readonly isWrittenBack: boolean;
  readonly isHidden: boolean;
  readonly hasDefault: boolean;
  /** Undefined if any text is a choice. */
  readonly choices: readonly string[] | undefined;
}

/** What the columns of a list say of the fields of its items. */
export interface ListSchema {
  readonly columns: readonly Column[];
  /** The most references that one request can read. */
  readonly maxReferences: number;
  /** The column that a field belongs to: `Owner` for `Owner` and `OwnerLookupId`. */
  column(field: string): Column | undefined;
  /** The advice about a name that no column has, or no column that fits. */
  hint(typed: string): string;
  /** Undefined if fields may have any names and values. */
  encoder(options: EncodeOptions): FieldEncoder | undefined;
  /** The fields of an item as they can be written, and the names of those that cannot. */
  decode(read: Fields): { readonly fields: Fields; readonly omitted: readonly string[] };
  /** Decoded fields as they are sent. */
  toSent(fields: Fields): Fields;
  /** The decoded fields with these names, also of types that only a user knows how to write. */
  pick(read: Fields, names: Iterable<string>): Fields;
  /** The values of fields that a write names, as they can be written back; null for one that is absent. */
  earlierValues(read: Fields, names: readonly string[]): Fields;
  /** Compares two values of a field, each as it was read or decoded. */
  isSame(field: string, one: JsonValue | undefined, other: JsonValue | undefined): boolean;
  /** Whether an item that was read may have been sent so: the service may have changed its fields in known ways. */
  mayBeSent(read: Fields, sent: Fields): boolean;
  /** The column as one for keys; undefined if no key can be written into it. */
  keyColumn(name: string): KeyColumn | undefined;
}

/** A column that holds the key of each create. */
export interface KeyColumn {
  /** The internal name. */
  readonly column: string;
  /**
   * With unique values a create may be sent again, with an index it can be looked up, and without one it
   * stays in doubt.
   */
  readonly guarantee: 'unique' | 'indexed' | 'none';
}

/** What is known about a create, to tell whether an item is its own. */
export interface Evidence {
  /** A time of the service before which the create was not sent, in milliseconds; undefined if unknown. */
  readonly sinceMs: number | undefined;
  /** The account that created the other items of the run; undefined if unknown. */
  readonly author: string | undefined;
}

export interface KeyOptions extends Pick<Operation<Item>, 'mayExist'> {
  /**
   * Given if others may have written the key as well: an item counts as that of a create only if it has the fields that
   * were sent.
   */
  readonly schema?: Pick<ListSchema, 'mayBeSent'> | undefined;
  /** Undefined if the keys are random, which proves whose item it is. */
  readonly proof?:
    | {
        readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
        /** The account of the run, if it is known from an earlier session. */
        readonly author: string | undefined;
      }
    | undefined;
}

export interface SoughtKey {
  readonly column: string;
  readonly key: string;
  /** Whether an item has the values that were sent; undefined if the key alone decides. */
  readonly hasValues?: ((item: Item) => boolean) | undefined;
  /** What is known about the create; undefined if its key is random. */
  readonly evidence?: ((head: Pick<ResponseHead, 'headers'>) => Evidence) | undefined;
  /** Whether the service refuses a second item with the key. */
  readonly isUnique?: boolean;
  /** Whether an item that another create made counts as found: its key was derived from the same row. */
  readonly isAdopted?: boolean | undefined;
}

/** Keys of creates in a column, of a service without idempotency keys. */
export interface KeyColumns {
  /** The reason why a value cannot be a key; undefined if it can. */
  problem(key: JsonValue): string | undefined;
  /**
   * Reads what a column allows.
   *
   * @throws {Failure} usage, if no key can be written into it; as `Client.send`
   */
  open(name: string, list: ListRef, client: Client): Promise<KeyColumn>;
  /** The notice about a key column before the first request. */
  describe(key: KeyColumn): string;
  /**
   * The operations of the service, with the key of each create in a column, unless it is among the fields.
   *
   * @param options with `mayExist`, an item with a key is that of an earlier, identical create
   */
  operations(key: KeyColumn, options?: KeyOptions): ItemOperations;
  /** A read that finds the item with a key. */
  lookUp(list: ListRef, sought: SoughtKey, seenIds?: SeenIds): Operation<Finding<Item>>;
  /** Reads who created an item; undefined if it is not there. */
  readAuthor(ref: ItemRef, client: Client): Promise<string | undefined>;
  /**
   * Finds when a create was first sent, by the clock of the service.
   *
   * @param sent if an earlier process sent it; else it is sent now
   * @returns a function of a later response; its result is undefined without a `Date`, or if the age is unknown
   */
  sentSince(
    clock: Pick<Clock, 'now' | 'monotonicMs'>,
    sent?: SentEarlier,
  ): (head: Pick<ResponseHead, 'headers'>) => number | undefined;
}

export interface ListQuery {
  /** In the language of the service; all conditions must hold. */
  readonly filter?: string | undefined;
  readonly where?: readonly { readonly column: string; readonly value: string }[];
  /** Internal names; undefined for the fields that the service chooses. */
  readonly select?: readonly string[] | undefined;
  /** Undefined for all items. */
  readonly limit?: number | undefined;
  /** Permits filters on columns without an index. */
  readonly nonIndexed?: boolean;
  /** The most items on a page. */
  readonly pageMax?: number;
}

/** The changes of a list since an earlier listing. */
export interface Changes {
  /**
   * Each changed item once, as it is now: a deleted one has no fields, but `deleted` in its members. To be read once.
   *
   * @throws {Failure} local-file
   */
  items(): Iterable<Item>;
  /** What lists the changes from now on. */
  readonly mark: string;
  /** The service no longer knows the changes since the mark: these are all items. */
  readonly isResynced: boolean;
}

/** How a service is set up by the URL of a list in the browser. */
export interface ServiceSetup {
  /** @throws {Failure} usage, for another URL */
  parseListUrl(text: string): { readonly host: string };
  /** The base URL of the service for a host of lists; undefined for another host. */
  baseUrlFor(host: string): string | undefined;
  /** The base URL that gets a token without being asked about. */
  readonly commonBaseUrl: string;
  /** Whether a host is one of the service itself. */
  ownsHost(host: string): boolean;
}

/** A kind of service. A member that is absent is what it cannot do. */
export interface Service {
  readonly items: ItemOperations;
  /** Undefined to go by the status and the usual members of a body. */
  readonly errors?: ErrorWording;
  /** Fields that only the service sets; `*` stands for the rest of a name. */
  readonly systemFields?: readonly string[];
  /** A read that shows that a list is there; undefined to read an item that is not. */
  probe?(list: Partial<ListRef>): ApiRequest;
  /**
   * Finds the ids of a list.
   *
   * @param open opens a client, if requests are needed
   * @throws {Failure} usage or not-found, if there is no such list; as `Client.send`
   */
  resolve?(list: NamedList, open: () => Promise<Client>): Promise<ListRef>;
  /**
   * Reads the columns of a list, once for a client.
   *
   * @throws {Failure} as `Client.send`
   */
  schema?(list: ListRef, client: Client): Promise<ListSchema>;
  /**
   * The items of a list, page by page.
   *
   * @throws {Failure} usage, for an unknown column, or a value that its column cannot have; as `Client.send`
   */
  list?(list: ListRef, query: ListQuery, client: Client): AsyncIterable<readonly Item[]>;
  /**
   * Reads all changes since a mark, or all items without one.
   *
   * @throws {Failure} usage, for an unknown column; local-file; as `Client.send`
   */
  changes?(
    list: ListRef,
    query: { readonly select: readonly string[] | undefined; readonly mark: string | undefined },
    client: Client,
  ): Promise<Changes>;
  readonly keyColumns?: KeyColumns;
  readonly setup?: ServiceSetup;
}
