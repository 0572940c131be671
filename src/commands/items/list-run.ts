/** `listctl items list --run RUN`: the items that a run made, by their ids. Loaded late. */
import type { JournalHeader } from '../../bulk/journal-format.ts';
import type { Session } from '../../cli/session.ts';
import { Failure } from '../../core/errors.ts';
import { checkTarget, doneItems, findRunPath, readRun } from '../runs/named-run.ts';
import { refuseCompacted } from '../runs/show.ts';
import { runFrom } from './select.ts';

/**
 * Prints the items that are there, in the order of the run's answers.
 *
 * @throws {Failure} usage, for a run of another list, or one without items; incomplete, if items are missing
 */
export async function listRun(word: string, session: Session): Promise<void> {
  const path = findRunPath(word, session.host);
  const replay = await readRun(path);
  const { header } = replay;
  refuseGone(header);
  refuseCompacted(replay, 'its journal no longer has the ids');
  await refuseOtherList((await checkTarget(header, session)).ids, header.run, session);
  const ids: string[] = [];
  for await (const { id, problem } of doneItems(path)) {
    if (problem !== undefined) throw problem;
    ids.push(id);
  }
  if (ids.length === 0) {
    await session.messages.say(`run ${header.run} has no items`);
    return;
  }
  await runFrom({ action: 'get', from: '-', ids: [...new Set(ids)] }, { inputFormat: 'ids' }, session);
}

function refuseGone({ action, undoes, run }: JournalHeader): void {
  const isDeleted = action === 'delete' || (action === 'undo' && undoes === undefined);
  if (!isDeleted && action !== 'apply') return;
  const why = isDeleted ? 'it deleted its items' : 'its items are those of a manifest';
  throw new Failure('usage', `cannot list the items of run ${run}: ${why}`, {
    hint: isDeleted ? undefined : 'run listctl state list MANIFEST',
  });
}

async function refuseOtherList(
  its: { readonly site: string; readonly list: string },
  run: string,
  { settings, service }: Session,
): Promise<void> {
  const { ids: here } = await service.resolve(settings.list());
  if (here.site === its.site && here.list === its.list) return;
  throw new Failure('usage', `run ${run} used list "${its.list}" of site "${its.site}"`, {
    hint: `pass -s ${its.site} -l ${its.list}`,
  });
}
