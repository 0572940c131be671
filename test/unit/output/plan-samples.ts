import type { PlanFile } from '../../../src/apply/plan-file.ts';
import type { Step } from '../../../src/apply/state.ts';
import { objectFrom } from '../../../src/core/json.ts';
import type { FieldChange } from '../../../src/output/plan.ts';

type Wish = Partial<Pick<PlanFile['steps'][number], 'action' | 'key' | 'id' | 'why' | 'drift'>> & {
  readonly changes?: readonly FieldChange[];
};

/** A step with some changes, as a planner makes it. */
export function step({ action = 'update', key = 'Buy milk', id, why, drift, changes = [] }: Wish): Step {
  const fields = objectFrom(changes.flatMap(({ field, after }) => (after === undefined ? [] : [[field, after]])));
  const before = objectFrom(
    changes.flatMap(({ field, before: value }) => (value === undefined ? [] : [[field, value]])),
  );
  return { number: 1, action, key, id, why, drift, fields, before, after: fields } as unknown as Step;
}
