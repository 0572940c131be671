/**
 * What was said of rows that failed: JSONL in a file of mode 0600 next to the journal, which holds no text of a service
 * (docs/decisions.md, journal-6). The last line of a row counts. Nothing but `runs show` depends on it: it is not synced,
 * ends at a limit, and is left out where it cannot be written.
 */
import { closeSync, constants, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import type { Failure, FieldError } from '../core/errors.ts';
import { attempt } from '../core/files.ts';
import { besideJournal, isOwnFile } from './journal-lines.ts';

export interface FailureText {
  readonly message: string;
  readonly errors?: readonly FieldError[] | undefined;
}

/** The path of the texts of a run. */
export function textsPath(journal: string): string {
  return besideJournal(journal, '.errors');
}

const start = '{"failedRow":';

/** Whether a file may be removed with its run; undefined if there is none. */
export function isTextsFile(path: string): boolean | undefined {
  return isOwnFile(path, start);
}

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0);

const lengthMax = 16 * 1024 * 1024;

/** The texts of a run in progress. */
export class FailureTexts {
  readonly #path: string;
  #descriptor: number | undefined;
  #length = 0;
  #isOver = false;

  /** @param journal the path of the journal; the file is opened with the first text */
  constructor(journal: string) {
    this.#path = textsPath(journal);
  }

  add(row: number, { message, details: { errors } }: Failure): void {
    if (this.#isOver) return;
    const line = Buffer.from(`${JSON.stringify({ failedRow: row, message, errors })}\n`);
    this.#isOver = this.#length + line.length > lengthMax || !this.#write(line);
  }

  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    this.#isOver = true;
    if (descriptor !== undefined) attempt(() => closeSync(descriptor));
  }

  /** Removes the file: every row is done. */
  remove(): void {
    this.close();
    if (isTextsFile(this.#path)) attempt(() => rmSync(this.#path));
  }

  #write(line: Buffer): boolean {
    try {
      if (this.#descriptor === undefined) {
        if (isTextsFile(this.#path) === false) return false;
        this.#descriptor = openSync(this.#path, flags, 0o600);
      }
      writeSync(this.#descriptor, line);
      this.#length += line.length;
      return true;
    } catch {
      return false;
    }
  }
}

/** Reads the texts of a run by row; those that cannot be read are left out. */
export function readFailureTexts(journal: string): ReadonlyMap<number, FailureText> {
  const texts = new Map<number, FailureText>();
  const path = textsPath(journal);
  if (isTextsFile(path) !== true) return texts;
  for (const line of attempt(() => readFileSync(path, 'utf8').split('\n')) ?? []) {
    const text = attempt(() => parseText(JSON.parse(line)));
    if (text !== undefined) texts.set(text.failedRow, text);
  }
  return texts;
}

function parseText(value: unknown): (FailureText & { readonly failedRow: number }) | undefined {
  const { failedRow, message, errors } = value as Readonly<Record<string, unknown>>;
  if (typeof failedRow !== 'number' || typeof message !== 'string') return undefined;
  return { failedRow, message, errors: Array.isArray(errors) ? errors.filter(isFieldError) : undefined };
}

function isFieldError(value: unknown): value is FieldError {
  const { field, message } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return typeof message === 'string' && (field === undefined || typeof field === 'string');
}
