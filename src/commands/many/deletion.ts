/** Deleting an item as a row of a run: one that is not there is gone already. */
import { deleteQuestion } from '../../api/items.ts';
import type { Question } from '../../api/wire.ts';
import type { RowStep } from '../../bulk/task.ts';
import { Failure } from '../../errors.ts';
import type { ItemRef } from '../../item.ts';

/** What is left of an item that is gone: its id. */
export type Gone = { readonly id: string };

/** Asks for an item to be removed; the answer is its id. */
export function deletionOf(ref: ItemRef, ifMatch?: string): Question<Gone> {
  const question = deleteQuestion(ref, ifMatch);
  const read: Question<Gone>['read'] = (answer) => {
    question.read(answer);
    return { id: ref.id };
  };
  return { ...question, read, proof: undefined };
}

/** The step, done with this value where the service says that the item is not there. */
export function doneIfMissing<T, V>(step: RowStep<T>, value: V): RowStep<T | V> {
  return isMissing(step) ? { ...step, isDone: true, value } : step;
}

/** Whether the service says that the item is not there. A page for people says nothing of an item. */
export function isMissing(step: RowStep<unknown>): boolean {
  if (step.isDone || step.outcome !== 'refused' || step.concerns !== 'itself') return false;
  const failure = step.failure();
  return failure instanceof Failure && failure.kind === 'not-found';
}
