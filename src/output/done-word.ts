const doneWords: ReadonlyMap<string, string> = new Map([
  ['create', 'created'],
  ['update', 'updated'],
  ['delete', 'deleted'],
  ['get', 'read'],
  ['undo', 'taken back'],
  ['apply', 'applied'],
]);

/** What a row is once its action is done: `created`; `done` for an action without a word of its own. */
export function doneWord(action: string): string {
  return doneWords.get(action) ?? 'done';
}
