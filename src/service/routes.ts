import { Failure } from '../errors.ts';
import { checkId, type ListRef } from '../item.ts';
import { Refusal } from './message.ts';

/** What a path names: a list's items or, with an id, one of them. */
export interface Target {
  readonly list: ListRef;
  readonly id: string | undefined;
  /** The path as it was sent, without a query. */
  readonly path: string;
}

/**
 * Reads the path of a request (list-item-service.md, section 4).
 *
 * @param address path and query, as in a request line
 * @throws {Refusal} 404, when the path is none of the document's; 400, when an id in it is none (rulings, "Paths and
 *   ids") or there is a query, of which the document knows none
 */
export function targetOf(address: string): Target {
  const [path = '', ...query] = address.split('?');
  const [root, sites, site, lists, list, items, id, ...more] = path.split('/');
  const isKnown = root === '' && sites === 'sites' && lists === 'lists' && items === 'items' && more.length === 0;
  if (!isKnown || site === undefined || list === undefined) throw new Refusal(404, 'there is nothing at this path');
  const target = {
    list: { site: idFrom(site, 'site'), list: idFrom(list, 'list') },
    id: id === undefined ? undefined : idFrom(id, 'item'),
    path,
  };
  if (query.join('') !== '') throw new Refusal(400, 'there are no query parameters here');
  return target;
}

function idFrom(segment: string, name: string): string {
  try {
    return checkId(decodeURIComponent(segment), name);
  } catch (error) {
    if (error instanceof URIError) throw new Refusal(400, `the ${name} id is not percent-encoded UTF-8`);
    if (error instanceof Failure) throw new Refusal(400, error.message);
    throw error;
  }
}
