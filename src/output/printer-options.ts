import type { CsvStyle } from './csv-line.ts';
import type { PrintFormat, Screen } from './view.ts';

/** How the results of a command are to be printed. */
export interface PrinterOptions {
  readonly format: PrintFormat;
  /** Several were asked for: `json` and `yaml` are a list, even of one. */
  readonly isSeveral: boolean;
  readonly screen: Screen;
  /** What `csv`, `tsv` and tables show, in this order. */
  readonly columns?: readonly string[] | undefined;
  /** `csv` and `tsv` for spreadsheets: no cell of text runs as a formula. */
  readonly csvSafe?: boolean | undefined;
  /** A JMESPath expression over what would be printed; with `jsonl`, over each line. */
  readonly query?: string | undefined;
  /** JSON was asked for by name: what a query ends in is JSON, even a single string. */
  readonly isJsonExplicit?: boolean | undefined;
}

/** How cells are written, by the format and for whom. */
export function csvStyleOf({ format, csvSafe = false, screen }: PrinterOptions): CsvStyle {
  return {
    delimiter: format === 'tsv' ? '\t' : ',',
    isSafe: csvSafe,
    isPrintable: screen.columns !== undefined,
  };
}
