/** How much memory the process has had at most: since it was asked to forget, where the system can forget. */
import { closeSync, openSync, readFileSync, readSync, writeFileSync } from 'node:fs';
import process from 'node:process';

/** A look at the process's memory, from a moment on. */
export interface PeakMemory {
  /** The most that it had since then, in bytes; where that is not known, what it has now. */
  bytes(): number;
  close(): void;
}

/** Begins to look: what the process had before, and has no more, does not count. */
export function peakMemory(): PeakMemory {
  const status = '/proc/self/status';
  try {
    // 5: the peak becomes what there is now (man 5 proc_pid_clear_refs). What `getrusage` calls its peak never falls,
    // so behind one hungry input no other would be seen.
    writeFileSync('/proc/self/clear_refs', '5');
    if (peakIn(readFileSync(status, 'latin1')) === undefined) return memoryNow;
  } catch {
    return memoryNow;
  }
  const file = openSync(status, 'r');
  const buffer = Buffer.alloc(4096);
  return {
    bytes: () => {
      const length = readSync(file, buffer, 0, buffer.length, 0);
      const peak = peakIn(buffer.toString('latin1', 0, length));
      if (peak === undefined) throw new Error(`${status} tells no peak any more`);
      return peak;
    },
    close: () => closeSync(file),
  };
}

/** What there is elsewhere: a peak between two looks is not seen. */
const memoryNow: PeakMemory = { bytes: () => process.memoryUsage.rss(), close: () => {} };

function peakIn(status: string): number | undefined {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
