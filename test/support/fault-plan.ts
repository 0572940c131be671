/** What a fault server does, and when. */

/** Where in an exchange something goes wrong, in the order in which an exchange comes by them. */
export const faultPoints = [
  'accept',
  'head-read',
  'body-read',
  'applied',
  'mid-status',
  'mid-headers',
  'mid-body',
  'complete',
] as const;
export type FaultPoint = (typeof faultPoints)[number];

/**
 * What goes wrong there.
 *
 * | action  | from the point on                                                                        |
 * |---|---|
 * | fin     | the connection is closed in good order                                                   |
 * | rst     | the connection is reset                                                                  |
 * | stall   | nothing more comes, and the connection stays open                                        |
 * | drip    | what is left of the answer comes one byte at a time (after a complete one: stray bytes)   |
 * | garbage | bytes that are no HTTP; inside a body, as many as were announced, which are no JSON       |
 * | delay   | a short pause, then everything goes on as if nothing had been                            |
 */
export const faultActions = ['fin', 'rst', 'stall', 'drip', 'garbage', 'delay'] as const;
export type FaultAction = (typeof faultActions)[number];

/** Between the bytes of a drip: far below any idle limit, and so slow that no padded answer ends within three seconds. */
export const dripMs = 20;

/** The pause of a delay: far below any limit. */
export const delayMs = 40;

/** A fault at a point of an exchange that would otherwise have gone well. */
export interface FaultStep {
  readonly point: FaultPoint;
  readonly action: FaultAction;
}

/** An answer in the place of the server's own. */
export interface AnswerStep {
  /** The bytes to send, or what makes them of the server's own answer. */
  readonly answer: Uint8Array | ((own: OwnAnswer) => Uint8Array);
  /** Whether the request is done before it is answered so. */
  readonly applies: boolean;
  /** Bytes that follow on their own, when the answer has been read and nothing else has been asked. */
  readonly later?: Uint8Array;
  /** What follows the last byte; nothing more, where it is left out, and the connection stays open. */
  readonly ending?: Exclude<FaultAction, 'delay'>;
}

/** A body without an end: chunk after chunk until the client closes. */
export interface FloodStep {
  readonly head: Uint8Array;
  readonly chunk: Uint8Array;
  readonly applies: boolean;
}

/** What the server itself has done and would say. */
export interface OwnAnswer {
  readonly status: number;
  readonly id: string | undefined;
  readonly body: string;
}

export type Step = FaultStep | AnswerStep | FloodStep;

/** The step for the n-th attempt, counted from 1; undefined where all goes well. */
export type Plan = (attempt: number, method?: string) => Step | undefined;

/** These steps one after the other, and all well after the last. */
export function inOrder(...steps: readonly (Step | undefined)[]): Plan {
  return (attempt) => steps[attempt - 1];
}

export function always(step: Step): Plan {
  return () => step;
}
