import { Worker } from 'node:worker_threads';

/** Watches a loop that nothing in its own thread could end: what never comes back is killed, and its input is left on disk. */
export interface Watchdog {
  begin(bytes: Buffer): void;
  end(): void;
  stop(): Promise<void>;
}

const sizeMax = 2 * 1024 * 1024;

/**
 * Starts one, on a thread of its own.
 *
 * @param file where the input goes that did not come back
 * @param hangMs how long one run may take before the whole process is killed
 */
export function startWatchdog(file: string, hangMs: number): Watchdog {
  const shared = new SharedArrayBuffer(8 + sizeMax);
  const [count, bytes] = [new Int32Array(shared, 0, 2), Buffer.from(shared, 8)];
  const worker = new Worker(script, { eval: true, workerData: { shared, file, hangMs, pid: process.pid } });
  worker.unref();
  return {
    begin: (input) => {
      bytes.set(input.subarray(0, sizeMax));
      Atomics.store(count, 1, input.length);
      Atomics.add(count, 0, 1);
    },
    end: () => Atomics.add(count, 0, 1),
    stop: async () => {
      await worker.terminate();
    },
  };
}

/** Odd while a run is under way; the same odd number for too long is a hang. */
const script = `
const { workerData: { shared, file, hangMs, pid } } = require('node:worker_threads');
const { writeFileSync, writeSync } = require('node:fs');
const count = new Int32Array(shared, 0, 2);
for (let seen = Atomics.load(count, 0); ; ) {
  const isSame = Atomics.wait(count, 0, seen, hangMs) === 'timed-out';
  const now = Atomics.load(count, 0);
  if (isSame && now === seen && seen % 2 === 1) {
    writeFileSync(file, Buffer.from(shared, 8, Atomics.load(count, 1)));
    writeSync(2, 'it does not come back; what it was given is in ' + file + '\\n');
    process.kill(pid, 'SIGKILL');
  }
  seen = now;
}
`;
