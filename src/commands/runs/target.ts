import type { JournalHeader } from '../../bulk/journal-records.ts';
import { Failure } from '../../errors.ts';
import { checkId, type ListRef } from '../../item.ts';
import { runOrigin } from '../many/run-origin.ts';
import type { Session } from '../session.ts';

/**
 * The list that a run is of, for requests about its items: those of another service, or of another list, may have the
 * same ids. Site and list need not be named; where flags do, they must be those of the run.
 *
 * @throws {Failure} usage, when this command line leads elsewhere, naming both places
 */
export function targetOf({ run, origin, site, list }: JournalHeader, session: Session): ListRef {
  const here = runOrigin(session);
  if (here !== origin) {
    throw new Failure('usage', `run ${run} is of ${origin}, and this would go to ${here}`, {
      hint: 'nothing was sent; choose the service of the run with -p or --base-url',
    });
  }
  const { flags } = session.sources;
  for (const [flag, its] of [['--site', site] as const, ['--list', list] as const]) {
    const typed = flags[flag];
    if (typed === undefined || typed === its) continue;
    throw new Failure('usage', `run ${run} is of ${flag.slice(2)} "${its}", and ${flag} names "${typed}"`, {
      hint: `nothing was sent; ${flag} need not be passed`,
    });
  }
  return { site: checkId(site, 'site'), list: checkId(list, 'list') };
}
