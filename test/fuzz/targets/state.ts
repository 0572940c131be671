import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { printPlan, readPlan } from '../../../src/apply/plan-file.ts';
import { parseState, printState, readState } from '../../../src/apply/state-file.ts';
import { type FuzzTarget, failureWords, mustHold } from '../target.ts';
import { jsonWords } from './words.ts';

const stateWords = [
  ...'"version":1·"version":2·"lineage":"·"serial":·"items":{·"run":"·"steps":[·"inDoubt":{'.split('·'),
  ...'"etag":"a"·"action":"create"·"number":1·"key":"·"why":"gone"·"id":"1"·"id":".."'.split('·'),
  '"hash":"0123456789abcdef"',
];

/** What `apply` knows; what is read of it is printed, and read as the same. */
const stateTarget: FuzzTarget = {
  name: 'state',
  words: [...jsonWords, ...stateWords],
  testRuns: 1000,
  open: (directory) => ({
    run: (bytes) => {
      const path = join(directory, 'manifest.yaml.state.json');
      writeFileSync(path, bytes);
      try {
        const state = readState(path);
        mustHold(state !== undefined, 'there is a file');
        const ids = [...state.items.values()].flatMap(({ id }) => id ?? []);
        mustHold(new Set(ids).size === ids.length, 'no two keys have the same id');
        const printed = [...printState(state)].join('');
        mustHold(
          [...printState(parseState(printed, path))].join('') === printed,
          'what is printed is read as the same',
        );
        return `${Math.min(9, state.items.size)} items, ${Math.min(9, state.run?.steps.length ?? -1)} steps`;
      } catch (error) {
        return failureWords(error, ['local-file']);
      }
    },
  }),
};

/** A saved plan, likewise. */
const planTarget: FuzzTarget = {
  name: 'plan',
  words: [...jsonWords, ...stateWords, '"listctl":"plan"', '"counts":{', '"prune":true'],
  testRuns: 2500,
  open: () => ({
    run: (bytes) => {
      try {
        const plan = readPlan(bytes.toString(), 'plan.json');
        const printed = [...printPlan(plan)].join('');
        mustHold(
          [...printPlan(readPlan(printed, 'again'))].join('') === printed,
          'what is printed is read as the same',
        );
        return `${Math.min(9, plan.steps.length)} steps`;
      } catch (error) {
        return failureWords(error, ['local-file', 'usage']);
      }
    },
  }),
};

export const stateTargets: readonly FuzzTarget[] = [stateTarget, planTarget];
