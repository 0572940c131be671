import { type JsonValue, parseJson } from '../../../src/core/json.ts';
import type { View } from '../../../src/output/view.ts';

/** JSON values, looked at as they are. */
export const jsonView: View<JsonValue> = {
  pretty: (values) => `${values.length} values`,
  json: (value) => value,
  id: () => undefined,
};

/** Each text read as JSON, digits kept. */
export function valuesFrom(...texts: string[]): JsonValue[] {
  return texts.map(parseJson);
}
