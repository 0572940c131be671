/** Where listctl keeps what it does, and the embedded service's store. */
import { accessSync, constants, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { errnoCode, errnoReason } from '../../errno.ts';
import type { Host } from '../../host.ts';
import type { Address } from '../../settings/address.ts';
import { findStateDirectory, storeDirectory } from '../../settings/directories.ts';
import { type Diagnosis, diagnosed, type Found } from './diagnosis.ts';

/** The folders that listctl writes to; nothing is made in them. */
export async function folderFindings(address: Address | undefined, host: Host): Promise<readonly Diagnosis[]> {
  return [await diagnosed('state', () => stateFound(host)), await diagnosed('store', () => storeFound(address, host))];
}

function stateFound(host: Host): Found {
  const hint = 'runs over many rows are recorded there: name another folder in LISTCTL_STATE_DIR';
  const folder = findStateDirectory(host);
  if (folder === undefined) return { status: 'warning', value: 'there is no home folder', hint };
  const source = folder;
  const reason = reasonNotWritable(folder);
  if (reason === undefined) return { status: 'ok', value: existsSync(folder) ? 'writable' : 'not made yet', source };
  return { status: 'warning', value: `not writable: ${reason}`, source, hint };
}

/** Asks of the folder, or of the nearest one above it, in which it would be made. */
function reasonNotWritable(folder: string): string | undefined {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const above = dirname(folder);
    if (errnoCode(error) === 'ENOENT' && above !== folder) return reasonNotWritable(above);
    return errnoReason(error);
  }
}

async function storeFound(address: Address | undefined, host: Host): Promise<Found> {
  const isUsed = address?.kind === 'local';
  const chosen = isUsed ? address.folder : undefined;
  let folder: string;
  try {
    folder = storeDirectory(chosen, host);
  } catch {
    return { status: 'warning', value: 'there is no home folder', hint: 'name a folder in LISTCTL_DATA_DIR' };
  }
  const isThere = existsSync(join(folder, 'data.mdb'));
  // That it can be opened is asked of one that is there, else of one that nobody keeps anything in.
  const trial = isThere ? undefined : mkdtempSync(join(tmpdir(), 'listctl-doctor-'));
  try {
    const { openStore } = await import('../../service/store.ts');
    await openStore(trial ?? folder).close();
    return { status: 'ok', value: isThere ? 'opens' : 'none yet; lmdb is there', source: folder };
  } catch (error) {
    const { status, ...found } = await diagnosed('store', () => Promise.reject(error));
    // Only the embedded service needs it.
    return { ...found, status: isUsed ? status : 'warning', source: folder };
  } finally {
    if (trial !== undefined) rmSync(trial, { recursive: true, force: true });
  }
}
