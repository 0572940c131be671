import { isObject, type JsonValue, parseJson, printJson } from '../../../src/core/json.ts';
import { findJsonFault } from '../../../src/core/json-scan.ts';
import { jsonText } from '../../../src/output/layout.ts';
import { type FuzzTarget, mustHold } from '../target.ts';
import { jsonWords } from './words.ts';

/** What we refuse, and JSON.parse takes. */
const ours = /deeper than|more than|Duplicate key/;

/** JSON as text: against what Node takes for JSON, printed and read again, and the place of a fault. */
export const jsonTarget: FuzzTarget = {
  name: 'json',
  words: jsonWords,
  testRuns: 4000,
  open: () => ({
    run: (bytes) => {
      const text = bytes.toString();
      const isJson = isJsonText(text);
      const faultAt = findJsonFault(text)?.at;
      mustHold((faultAt === undefined) === isJson, 'a fault has a place, and what is JSON has none');
      try {
        const value = parseJson(text);
        mustHold(isJson, 'what is read is JSON');
        mustHold(levelsOf(value) <= 128, 'nothing that is read nested deeper than 128 levels');
        const printed = printJson(value);
        mustHold(printJson(parseJson(printed)) === printed, 'what is printed is read as the same');
        mustHold(printJson(parseJson(jsonText(value, 2))) === printed, 'and so is what is safe to show');
        return `value ${printed.slice(0, 40)}`;
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        mustHold(!isJson || ours.test(error.message), `JSON is refused for a reason of ours: ${error.message}`);
        return isJson ? error.message : `no JSON at ${Math.min(9, faultAt ?? -1)}: ${text.charCodeAt(faultAt ?? 0)}`;
      }
    },
  }),
};

function levelsOf(value: JsonValue): number {
  if (!isObject(value) && !Array.isArray(value)) return 0;
  return 1 + Object.values<JsonValue>(value).reduce<number>((most, each) => Math.max(most, levelsOf(each)), 0);
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
