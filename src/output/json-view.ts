import { isObject, type JsonValue } from '../json.ts';
import { jsonText } from './json-text.ts';
import type { View } from './view.ts';

/** Any JSON that a service answers with: itself in every format. */
export const jsonView: View<JsonValue> = {
  pretty: (values) => values.map((value) => jsonText(value, 2)).join('\n'),
  json: (value) => value,
  id: (value) => (isObject(value) && typeof value['id'] === 'string' ? value['id'] : undefined),
};
