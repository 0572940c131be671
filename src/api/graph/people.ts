/** The persons of a site: items of a hidden list, whose ids are those of person columns. */
import type { Client } from '../client.ts';
import { itemPages } from './pages.ts';
import type { People } from './write-form.ts';

const title = 'User Information List';

/**
 * Reads all of them, page by page.
 *
 * @throws {Failure} as `Client.send`
 */
export async function readPeople(site: string, client: Client): Promise<People> {
  const people = new Map<string, number[]>();
  for await (const page of itemPages({ site, list: title }, { select: ['EMail'] }, client)) {
    for (const { id, fields } of page) {
      const mail = String(fields['EMail'] ?? '').toLowerCase();
      if (mail === '' || !/^\d+$/.test(id)) continue;
      people.set(mail, [...(people.get(mail) ?? []), Number(id)]);
    }
  }
  return people;
}
