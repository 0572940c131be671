/** The work's result, or the signal's reason where that comes first; the work itself goes on, and is not waited for. */
export async function untilStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([stopped, work]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
