/** Everything that reads what others wrote. */
import type { FuzzTarget } from './target.ts';
import { answerBodyTarget } from './targets/answer-body.ts';
import { answerWireTarget } from './targets/answer-wire.ts';
import { journalTarget } from './targets/journal.ts';
import { jsonTarget } from './targets/json.ts';
import { manifestTargets } from './targets/manifests.ts';
import { rowsTargets } from './targets/rows.ts';
import { settingsTarget } from './targets/settings.ts';
import { stateTargets } from './targets/state.ts';
import { yamlTarget } from './targets/yaml.ts';

export const fuzzTargets: readonly FuzzTarget[] = [
  ...[answerWireTarget, answerBodyTarget, jsonTarget, yamlTarget],
  ...[...rowsTargets, ...manifestTargets, journalTarget, ...stateTargets, settingsTarget],
];
