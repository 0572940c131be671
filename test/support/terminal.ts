/** A program in a pseudo-terminal, and the screen that it paints: what a user types and sees. */

import type { Socket } from 'node:net';
import { env as ownEnvironment } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type IPty, spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { listctlFile, testNode } from './listctl.ts';

export interface TerminalOptions {
  /** 80, unless it says otherwise. */
  readonly columns?: number;
  /** 24, unless it says otherwise. */
  readonly rows?: number;
  readonly cwd?: string;
  /** All of the environment, but for TERM, which is xterm-256color unless it is among it. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ShownRow {
  readonly text: string;
  /** Whether it goes on from the row above, for want of room there. */
  readonly isWrapped: boolean;
}

/** A program that runs in a terminal of its own; killed at the end of the block that holds it with `await using`. */
export interface Terminal extends AsyncDisposable {
  /** The process id of the program, which leads a group of its own. */
  readonly pid: number;
  /** What the program has written, escape sequences and all. */
  readonly written: string;
  /** Types keys: `\r` is Enter, `\u0003` Ctrl-C, `\u0004` Ctrl-D. */
  type(keys: string): void;
  /**
   * The current text, including what has scrolled away above it: one string per line, trailing blanks removed.
   *
   * @param fromRow leaves out the rows above, as `cursor` counts them
   */
  lines(fromRow?: number): readonly string[];
  /** The same row by row, blank ones at the end left out: a line that was too long for the terminal is several. */
  rows(): readonly ShownRow[];
  /** The content of one cell of the screen; the cell after the first half of a wide character is empty. */
  cellAt(row: number, column: number): string | undefined;
  /** All lines as one text, blank ones at the end left out. */
  text(): string;
  /** Waits until the text holds it; it throws with what is shown after 15 seconds. */
  shows(sign: RegExp | string): Promise<void>;
  /** Waits for anything else that is to be seen there; it throws as `shows` does. */
  comesTo(what: string, isSo: () => boolean): Promise<void>;
  /** The position of the cursor: its row including all that have scrolled away, from 0, and whether it is visible. */
  readonly cursor: { readonly row: number; readonly column: number; readonly isVisible: boolean };
  resize(columns: number, rows: number): Promise<void>;
  /** Closes the terminal, as its window does; the program is not waited for. */
  close(): void;
  /** The screen itself, cell by cell, as xterm keeps it. */
  readonly screen: xterm.Terminal;
  /** How the program ended, once all that it wrote is on the screen. */
  readonly ended: Promise<{ readonly exitCode: number; readonly signal: number | undefined }>;
}

const patienceMs = 15_000;
const lookEveryMs = 10;

/**
 * How many columns a character takes, from the properties that Unicode gives it. xterm alone knows those of 2012, when
 * an emoji was as narrow as a letter.
 */
const widthsOfToday = {
  version: 'today',
  wcwidth: (codePoint: number): 0 | 1 | 2 => {
    if (codePoint < 0x300) return 1;
    const character = String.fromCodePoint(codePoint);
    if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) return 0;
    // Each half of a flag takes one.
    if (/\p{Regional_Indicator}/u.test(character)) return 1;
    const isWide =
      /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303e\uff01-\uff60]/u;
    return isWide.test(character) && !/[\uff61-\uffdc]/.test(character) ? 2 : 1;
  },
  charProperties: (codePoint: number, preceding: number): number => {
    const width = widthsOfToday.wcwidth(codePoint);
    // In the bits that xterm expects: the width, and whether it joins the preceding character.
    const joins = width === 0 && preceding !== 0;
    return (((joins ? preceding >> 1 : width) & 3) << 1) | (joins ? 1 : 0);
  },
};

export function openTerminal(file: string, args: readonly string[], options: TerminalOptions = {}): Terminal {
  const { columns = 80, rows = 24 } = options;
  const screen = new xterm.Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true });
  screen.unicode.register(widthsOfToday);
  screen.unicode.activeVersion = widthsOfToday.version;
  const pty = startIn(file, args, options);
  let written = '';
  let painted: Promise<void> = Promise.resolve();
  const paint = (text: string) => {
    written += text;
    painted = new Promise((done) => screen.write(text, done));
  };
  pty.onData(paint);
  // A terminal answers: what a program asks of it (where the cursor is, what it can do) goes back as keys.
  screen.onData((answer) => pty.write(answer));
  let hasEnded = false;
  let isClosed = false;
  const ended = new Promise<{ exitCode: number; signal: number | undefined }>((resolve) => {
    pty.onExit(({ exitCode, signal }) => {
      hasEnded = true;
      void painted.then(() => resolve({ exitCode, signal: signal === 0 ? undefined : signal }));
    });
  });
  const lines = (fromRow = 0) => linesOf(screen, fromRow);
  const text = () => lines().join('\n').trimEnd();
  const comesTo = async (what: string, isSo: () => boolean) => {
    for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += lookEveryMs) {
      if (isSo()) return;
      await sleep(lookEveryMs);
    }
    throw new Error(`the terminal did not show ${what}, but:\n${text()}`);
  };
  return {
    pid: pty.pid,
    get written() {
      return written;
    },
    type: (keys) => pty.write(keys),
    lines,
    rows: () => rowsOf(screen),
    cellAt: (row, column) => screen.buffer.active.getLine(row)?.getCell(column)?.getChars(),
    text,
    shows: (sign) =>
      comesTo(String(sign), () => (typeof sign === 'string' ? text().includes(sign) : sign.test(text()))),
    comesTo,
    get cursor() {
      const { baseY, cursorX, cursorY } = screen.buffer.active;
      const isVisible = written.lastIndexOf('\u001b[?25l') <= written.lastIndexOf('\u001b[?25h');
      return { row: baseY + cursorY, column: cursorX, isVisible };
    },
    resize: async (newColumns, newRows) => {
      await painted;
      screen.resize(newColumns, newRows);
      pty.resize(newColumns, newRows);
    },
    close: () => {
      isClosed = true;
      (pty as IPty & { destroy(): void }).destroy();
    },
    screen,
    ended,
    [Symbol.asyncDispose]: async () => {
      if (!isClosed) {
        if (!hasEnded) killed(pty);
        await ended;
      }
      screen.dispose();
    },
  };
}

/**
 * Starts a program. node-pty destroys its end 200 ms after the program has ended: on a busy machine, before the last lines
 * were read. So it looks once more: what an ended program wrote is there, and timers come before input in a turn of Node.
 */
function startIn(file: string, args: readonly string[], options: TerminalOptions): IPty {
  const { columns = 80, rows = 24, env = {}, cwd } = options;
  const pty = spawn(file, [...args], {
    name: env['TERM'] ?? 'xterm-256color',
    ...{ cols: columns, rows },
    env: { TERM: 'xterm-256color', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const { _socket: socket } = pty as IPty & { readonly _socket: Socket };
  const destroy = socket.destroy.bind(socket);
  socket.destroy = () => {
    setImmediate(() => setImmediate(destroy));
    return socket;
  };
  return pty;
}

/** Starts listctl in a terminal; its environment is what the options say, and `PATH`. */
export function listctlInTerminal(args: readonly string[], options: TerminalOptions = {}): Terminal {
  return openTerminal(testNode, [listctlFile, ...args], {
    ...options,
    env: { PATH: ownEnvironment['PATH'] ?? '', ...options.env },
  });
}

function linesOf({ buffer: { active } }: xterm.Terminal, fromRow: number): readonly string[] {
  const lines: string[] = [];
  for (let row = fromRow; row < active.length; row += 1) {
    const line = active.getLine(row);
    const text = line?.translateToString(true) ?? '';
    // A line that was too long for the terminal goes on in the next row.
    const begun = line?.isWrapped === true ? lines.pop() : '';
    // One that begins above is left out as a whole.
    if (begun !== undefined) lines.push(`${begun}${text}`);
  }
  // A blank that was written is no other to the eye than a place where nothing was.
  return lines.map((line) => line.trimEnd());
}

function rowsOf({ buffer: { active } }: xterm.Terminal): readonly ShownRow[] {
  const rows = Array.from({ length: active.length }, (_, row) => {
    const line = active.getLine(row);
    return { text: line?.translateToString(true).trimEnd() ?? '', isWrapped: line?.isWrapped === true };
  });
  return rows.slice(0, rows.findLastIndex(({ text }) => text !== '') + 1);
}

function killed(pty: IPty): void {
  try {
    pty.kill('SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
