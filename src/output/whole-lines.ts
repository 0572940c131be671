import type { Output } from '../host.ts';

/** Where results are printed. */
export interface ResultOutput extends Pick<Output, 'isClosed'> {
  write(text: string): Promise<void>;
}

/**
 * A screen on which a line is drawn meanwhile that is not of the text: it is taken away before each write, and comes back
 * only below whole lines, since it would be drawn over half of one.
 *
 * @param takeAway takes that line away
 */
export function wholeLines(output: ResultOutput, takeAway: () => void): ResultOutput & { flush(): Promise<void> } {
  let begun = '';
  const write = async (text: string) => {
    takeAway();
    await output.write(text);
  };
  return {
    get isClosed() {
      return output.isClosed;
    },
    write: async (text) => {
      const all = begun + text;
      const end = all.lastIndexOf('\n') + 1;
      begun = all.slice(end);
      if (end > 0) await write(all.slice(0, end));
    },
    flush: async () => {
      const rest = begun;
      begun = '';
      if (rest !== '') await write(rest);
    },
  };
}
