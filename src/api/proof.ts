/** What proves that a write was applied. */
import { type Fields, type Item, includesFields } from '../core/item.ts';
import type { Operation, SeenIds, VerifyingRead, WriteCheck } from './operation.ts';
import { decodeAttempt, ForeignResponse, isHtml } from './response.ts';
import type { ApiRequest, Attempt, ResponseHead, ServiceResponse } from './transport.ts';

/** Stands for the response to a DELETE that an earlier attempt applied. */
export const noContent: ServiceResponse = { status: 204, headers: {}, body: new Uint8Array() };

/** An item that is missing proves a delete in doubt. An HTML page is not the service's response (outcomes-4). */
export function isNotFound(head: ResponseHead): boolean {
  return (head.status === 404 || head.status === 410) && !isHtml(head);
}

/**
 * Sends the read that this response to a write in doubt allows.
 *
 * @returns undefined without such a read, or if its response is none; without a value if it did not show that the write
 *   was applied
 */
export async function checkWrite<T>(
  check: WriteCheck<T> | undefined,
  head: ResponseHead,
  { address, send }: { readonly address: string; readonly send: (request: ApiRequest) => Promise<Attempt> },
): Promise<{ readonly value?: T; readonly isDisproved?: boolean } | undefined> {
  const verifying = check?.findRead(head, address);
  if (!check || !verifying) return undefined;
  const { response } = await decodeAttempt(await send(verifying.request));
  if (response === undefined || response.status !== 200) return undefined;
  try {
    const value = verifying.read(response);
    return value === undefined ? { isDisproved: check.mayDisprove } : { value };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** @throws {ForeignResponse} if another create of the run returned the item */
export function checkNew(item: Item, seenIds: SeenIds | undefined, whose: string): Item {
  if (seenIds === undefined || seenIds.add(item.id)) return item;
  throw new ForeignResponse(`the response has the id "${item.id.slice(0, 100)}", which ${whose}`);
}

/**
 * For a conditional update that was refused (412) after an attempt in doubt, which may have changed the item.
 *
 * @param get reads the item
 */
export function updateCheck(get: Operation<Item>, fields: Fields, mayDisprove: boolean): WriteCheck<Item> {
  return { findRead: ({ status }) => (status === 412 ? readBack(get, fields) : undefined), mayDisprove };
}

/** A write of these fields was applied if the item has them. */
export function readBack({ request, read }: Operation<Item>, fields: Fields): VerifyingRead<Item> {
  const readWritten = (response: ServiceResponse) => {
    const item = read(response);
    return includesFields(item.fields, fields) ? item : undefined;
  };
  return { request, read: readWritten };
}
