/** Appends to a file, and notices who else does, that it was removed, and that the disk is full. */
import { errnoCode, type Failure } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import { writeWhole } from '../core/write-file.ts';
import {
  type JournalIo,
  type JournalTail,
  journalFault,
  lostJournal,
  type OpenFile,
  sharedJournal,
} from './journal-lines.ts';

/** Opens a file to append to it, and cuts off its incomplete last line; throws the error of the system. */
export function openWhole(
  path: string,
  { lengthBytes, tornBytes }: Pick<JournalTail, 'lengthBytes' | 'tornBytes'>,
  io: JournalIo,
): number {
  // Windows truncates no file that was opened for appending.
  if (tornBytes > 0) cutOff(path, lengthBytes, tornBytes, io);
  const descriptor = io.open(path, 'a');
  try {
    refuseLength(descriptor, lengthBytes, io);
    return descriptor;
  } catch (error) {
    abandon(descriptor, io);
    throw error;
  }
}

function cutOff(path: string, lengthBytes: number, tornBytes: number, io: JournalIo): void {
  const descriptor = io.open(path, 'r+');
  try {
    refuseLength(descriptor, lengthBytes + tornBytes, io);
    io.truncate(descriptor, lengthBytes);
    io.sync(descriptor);
  } finally {
    abandon(descriptor, io);
  }
}

function refuseLength(descriptor: number, lengthBytes: number, io: JournalIo): void {
  if (io.lengthOf(descriptor) !== lengthBytes) throw new Error('it changed since it was read');
}

/** A file that is appended to. */
export interface AppendFile {
  /** @throws {Failure} local-file; every later call then throws the same */
  append(bytes: Uint8Array): void;
  /**
   * Resolves when everything written before the call is on disk. Concurrent calls share a sync.
   *
   * @throws {Failure} local-file; every later call then throws the same without another fsync, which may succeed although
   *   data is lost (docs/decisions.md, journal-5)
   */
  sync(): Promise<void>;
  /**
   * Syncs and closes the file.
   *
   * @throws {Failure} local-file
   */
  close(): Promise<void>;
  /** Set once the disk is full: nothing new may begin, and there is room for the end of what has begun. */
  readonly full: Failure | undefined;
}

/**
 * Appends to an open file. Its length shows whether another process writes to it, which no lock excludes where the file
 * is mounted at two paths (docs/decisions.md, journal-8).
 *
 * @param file opened for appending
 * @param reserve of `JournalIo.reserve`; it is given back at the end, or when the disk is full
 */
export function appendTo({ path, descriptor, io }: OpenFile, lengthBytes: number, reserve?: number): AppendFile {
  let endBytes = lengthBytes;
  const writer = new ReservedWriter(path, descriptor, io, reserve);
  let failure: Error | undefined;
  let isOpen = true;
  let syncedBytes = lengthBytes;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const refuse = () => {
    if (failure !== undefined) throw failure;
    // The descriptor may belong to another file by now.
    if (!isOpen) throw new Error(`the journal ${path} is closed`);
  };
  const fail = (error: unknown) => {
    failure ??= journalFault('write', path, error);
    return failure;
  };
  const syncNow = async () => {
    refuse();
    const upToBytes = endBytes;
    if (syncedBytes === upToBytes) return;
    try {
      await io.syncData(descriptor);
    } catch (error) {
      throw fail(error);
    }
    refuseLoss();
    syncedBytes = upToBytes;
  };
  /** Fails if the file was removed or replaced, since its records would be lost, or if another process writes to it. */
  const refuseLoss = () => {
    try {
      if (!io.isAt(descriptor, path)) throw lostJournal(path);
      refuseOthers(path, descriptor, endBytes, io);
    } catch (error) {
      throw fail(error);
    }
  };
  const start = () => {
    next = undefined;
    const own = syncNow().finally(() => {
      if (running === own) running = undefined;
    });
    running = own;
    return own;
  };
  const sync = () => {
    // A sync that has not started yet covers this call as well.
    if (next === undefined && running === undefined) return start();
    next ??= running?.then(start, start);
    return next ?? start();
  };
  return {
    get full() {
      return writer.full;
    },
    append: (bytes) => {
      refuse();
      if (bytes.length === 0) return;
      try {
        refuseOthers(path, descriptor, endBytes, io);
        writer.write(bytes, endBytes);
      } catch (error) {
        throw fail(error);
      }
      endBytes += bytes.length;
    },
    sync,
    close: async () => {
      if (!isOpen) return;
      try {
        await sync();
        refuseLoss();
      } finally {
        if (isOpen) abandon(descriptor, io);
        writer.giveBack();
        isOpen = false;
      }
    },
  };
}

/** Writes at the end of a file, in place of its reserve when the disk is full. */
class ReservedWriter {
  full: Failure | undefined;
  readonly #path: string;
  readonly #descriptor: number;
  readonly #io: JournalIo;
  #reserve: number | undefined;

  constructor(path: string, descriptor: number, io: JournalIo, reserve: number | undefined) {
    this.#path = path;
    this.#descriptor = descriptor;
    this.#io = io;
    this.#reserve = reserve;
  }

  /** Throws the error of the system. */
  write(bytes: Uint8Array, lengthBytes: number): void {
    const io = this.#io;
    try {
      writeWhole(this.#descriptor, bytes, null, io);
    } catch (error) {
      const tornBytes = io.lengthOf(this.#descriptor) - lengthBytes;
      const isOwn = tornBytes >= 0 && tornBytes < bytes.length;
      if (this.#reserve === undefined || !isFull(error) || !isOwn) throw error;
      if (tornBytes > 0) cutOff(this.#path, lengthBytes, tornBytes, io);
      this.giveBack();
      writeWhole(this.#descriptor, bytes, null, io);
      this.full = journalFault('write', this.#path, error);
    }
  }

  giveBack(): void {
    if (this.#reserve !== undefined) abandon(this.#reserve, this.#io);
    this.#reserve = undefined;
  }
}

/** Fails if the file has another length than this process left. */
function refuseOthers(path: string, descriptor: number, lengthBytes: number, io: JournalIo): void {
  if (io.lengthOf(descriptor) !== lengthBytes) throw sharedJournal(path);
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errnoCode(error) ?? '');
}

/** Closes a file whose content no longer matters, or is on disk. */
export function abandon(descriptor: number, io: JournalIo): void {
  attempt(() => io.close(descriptor));
}
