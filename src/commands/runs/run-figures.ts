/** What a run took, from its journal. */
import type { JournalRecord, RunTotals } from '../../bulk/journal-records.ts';
import { journalRecords, type Replay } from '../../bulk/journal-replay.ts';
import { openPercentiles, timePercentiles } from '../../output/percentiles.ts';
import type { RunDetailShown, RunShown } from '../../output/run-view.ts';
import { openRateSteps } from './rate-steps.ts';

/** What `runs show` tells of a run beside what a list does. */
export type RunFigures = Omit<RunDetailShown, keyof RunShown>;

/**
 * Reads the figures of a run. Its sessions are told as if one had followed the other at once; of one that was killed,
 * requests and retries are as many as its records tell of.
 *
 * @throws {Failure} local-file, when the journal is damaged
 */
export async function figuresOf(path: string, { sessions }: Pick<Replay, 'sessions'>): Promise<RunFigures> {
  const figures = new Figures();
  let session = 0;
  for await (const placed of journalRecords(path)) {
    if (placed.session !== session) figures.endSession();
    session = placed.session;
    figures.take(placed.record, placed.timeMs);
  }
  // In the other ones nothing was sent: a person settled rows.
  const started = sessions.filter(({ limit }) => limit > 0).length;
  return figures.told(Math.max(1, started));
}

class Figures {
  readonly #times = openPercentiles();
  readonly #steps = openRateSteps();
  #sent = 0;
  #retries = 0;
  #throttledMs = 0;
  /** When the session began, on the line of all of them, and what is known of it so far. */
  #startMs = 0;
  #lastMs = 0;
  #answers = 0;
  #again = 0;
  #pauses: (readonly [fromMs: number, toMs: number])[] = [];
  #ended: RunTotals | undefined;

  take(record: JournalRecord, timeMs: number): void {
    this.#lastMs = Math.max(this.#lastMs, timeMs);
    switch (record[0]) {
      case 'I':
        // Behind it stood an attempt of the same session.
        if (record[3] > 1) this.#again += 1;
        break;
      case 'D':
        this.#answered(record[4], timeMs);
        break;
      case 'F':
        this.#answered(record[5], timeMs);
        break;
      case 'U':
        this.#answered(record[3], timeMs);
        break;
      case 'T':
        this.#paused(timeMs, timeMs + record[1]);
        break;
      case 'E':
        this.#ended = record[1];
    }
  }

  endSession(): void {
    const ms = Math.max(this.#lastMs, this.#ended?.ms ?? 0);
    let pausedMs = 0;
    for (const [fromMs, toMs] of this.#pauses) {
      const endMs = Math.min(ms, toMs);
      this.#steps.addPause(this.#startMs + fromMs, this.#startMs + Math.max(fromMs, endMs - 1));
      pausedMs += Math.max(0, endMs - fromMs);
    }
    this.#sent += this.#ended?.sent ?? this.#answers + this.#again;
    this.#retries += this.#ended?.retries ?? this.#again;
    this.#throttledMs += this.#ended?.throttledMs ?? pausedMs;
    this.#startMs += ms;
    [this.#lastMs, this.#answers, this.#again, this.#pauses, this.#ended] = [0, 0, 0, [], undefined];
  }

  told(sessions: number): RunFigures {
    this.endSession();
    return {
      sessions,
      seconds: Math.round(this.#startMs) / 1000,
      sent: this.#sent,
      retries: this.#retries,
      throttledMs: Math.round(this.#throttledMs),
      answerTimes: timePercentiles(this.#times),
      ...this.#steps.end(this.#startMs),
    };
  }

  /** @param tookMs null where no answer was waited for to its end */
  #answered(tookMs: number | null, timeMs: number): void {
    if (tookMs === null) return;
    this.#answers += 1;
    this.#times.add(tookMs);
    this.#steps.addRow(this.#startMs + timeMs);
  }

  /** One that begins in another one makes that longer. */
  #paused(fromMs: number, toMs: number): void {
    const last = this.#pauses.at(-1);
    if (last === undefined || last[1] < fromMs) this.#pauses.push([fromMs, toMs]);
    else this.#pauses[this.#pauses.length - 1] = [last[0], Math.max(last[1], toMs)];
  }
}
