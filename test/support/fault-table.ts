/**
 * What must come of each fault: 8 points × 6 actions × 4 methods, and the POST again with a key that is honored.
 *
 * - `done`: whether the first attempt was carried out, as the server knows (a create, a change or a delete).
 * - `class`: what the client can know of it (outcomes-1).
 * - A cell holds the exit code and the number of attempts at the server: where the first attempt alone meets the
 *   fault, and after the comma where each of the five does.
 *
 * Why they differ: a GET, PATCH and DELETE whose outcome is unknown is sent again (a 404 to a DELETE that may have
 * been carried out means done); a POST is not, and is in doubt, unless its key is honored. What never left is sent
 * again whatever it is. Of a DELETE's second answer the status is enough: 404, though its body is cut or no JSON. A GET that never got an answer ends in 7, one whose answer is no HTTP or no JSON in 1.
 */
import { type FaultAction, type FaultPoint, faultActions, faultPoints } from './fault-plan.ts';

const table = `
| point                            | action                                | done | class    | POST     | GET      | PATCH    | DELETE   | keyed POST |
|----------------------------------|---------------------------------------|------|----------|----------|----------|----------|----------|------------|
| accept                           | fin, rst, drip, garbage               | no   | not-sent | 0/2, 7/5 | 0/2, 7/5 | 0/2, 7/5 | 0/2, 7/5 | 0/2, 7/5   |
| accept                           | stall                                 | no   | unknown  | 8/1, 8/1 | 0/2, 7/5 | 0/2, 8/5 | 0/2, 8/5 | 0/2, 8/5   |
| accept                           | delay                                 | yes  | applied  | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1   |
| head-read, body-read             | fin, rst, stall, drip                 | no   | unknown  | 8/1, 8/1 | 0/2, 7/5 | 0/2, 8/5 | 0/2, 8/5 | 0/2, 8/5   |
| head-read, body-read             | garbage                               | no   | unknown  | 8/1, 8/1 | 0/2, 1/5 | 0/2, 8/5 | 0/2, 8/5 | 0/2, 8/5   |
| head-read, body-read             | delay                                 | yes  | applied  | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1   |
| applied, mid-status, mid-headers | fin, rst, stall, drip                 | yes  | unknown  | 8/1, 8/1 | 0/2, 7/5 | 0/2, 8/5 | 0/2, 8/5 | 0/2, 8/5   |
| applied, mid-status, mid-headers | garbage                               | yes  | unknown  | 8/1, 8/1 | 0/2, 1/5 | 0/2, 8/5 | 0/2, 8/5 | 0/2, 8/5   |
| applied, mid-status, mid-headers | delay                                 | yes  | applied  | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1   |
| mid-body                         | fin, rst, stall, drip                 | yes  | unknown  | 8/1, 8/1 | 0/2, 7/5 | 0/2, 8/5 | 0/2, 0/2 | 0/2, 8/5   |
| mid-body                         | garbage                               | yes  | unknown  | 8/1, 8/1 | 0/2, 1/5 | 0/2, 8/5 | 0/2, 0/2 | 0/2, 8/5   |
| mid-body                         | delay                                 | yes  | applied  | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1   |
| complete                         | fin, rst, stall, drip, garbage, delay | yes  | applied  | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1 | 0/1, 0/1   |
`;

/** The four methods, and a POST to a service that is known to honor its key. */
export const faultMethods = ['POST', 'GET', 'PATCH', 'DELETE', 'keyed POST'] as const;
export type FaultMethod = (typeof faultMethods)[number];

export interface Expected {
  readonly exitCode: number;
  /** Attempts that the server saw; for a fault at `accept`, connections. */
  readonly attempts: number;
}

/** One fault, one method, and what must come of it. */
export interface FaultCell {
  readonly point: FaultPoint;
  readonly action: FaultAction;
  readonly method: FaultMethod;
  readonly isDone: boolean;
  readonly outcome: 'not-sent' | 'unknown' | 'applied';
  /** The first attempt meets the fault, the others don't. */
  readonly once: Expected;
  /** Every attempt meets it. */
  readonly always: Expected;
}

/** All cells: 192, and 48 for the POST whose key is honored. */
export const faultCells: readonly FaultCell[] = table.trim().split('\n').slice(2).flatMap(cellsOf);

function cellsOf(row: string): FaultCell[] {
  const [points = '', actions = '', done, outcome, ...cells] = row
    .split('|')
    .slice(1, -1)
    .map((text) => text.trim());
  const faults = points.split(', ').flatMap((point) => actions.split(', ').map((action) => ({ point, action })));
  return faults.flatMap(({ point, action }) =>
    faultMethods.map((method, index) => {
      const [once = '', always = ''] = (cells[index] ?? '').split(', ');
      return {
        point: oneOf(faultPoints, point),
        action: oneOf(faultActions, action),
        method,
        isDone: done === 'yes',
        outcome: oneOf(['not-sent', 'unknown', 'applied'], outcome),
        once: expectedOf(once),
        always: expectedOf(always),
      };
    }),
  );
}

function expectedOf(text: string): Expected {
  const { exit, attempts } = /^(?<exit>\d)\/(?<attempts>\d)$/.exec(text)?.groups ?? {};
  if (exit === undefined || attempts === undefined) throw new Error(`the table of faults has a cell "${text}"`);
  return { exitCode: Number(exit), attempts: Number(attempts) };
}

function oneOf<const T extends string>(names: readonly T[], name: string | undefined): T {
  const found = names.find((each) => each === name);
  if (found === undefined) throw new Error(`the table of faults names "${name}"`);
  return found;
}
