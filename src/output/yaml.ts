/** Values as YAML: `import()` it, and only where YAML is shown. */
import { isObject, type JsonValue, NumberToken } from '../core/json.ts';
import { hiddenCharacters } from '../core/text.ts';
import { Document, Pair, type ScalarTag, YAMLMap, YAMLSeq, YamlScalar } from '../core/yaml.ts';
import { isList } from './layout.ts';

/** Numbers by the digits they came with. */
const numberTag: ScalarTag = {
  identify: (value) => value instanceof NumberToken,
  default: true,
  tag: 'tag:yaml.org,2002:float',
  resolve: (text) => text,
  stringify: ({ value }) => (value as NumberToken).digits,
};

/**
 * A text with hidden characters, in quotes and escaped. As the library sees it when it counts how long a name is: one of
 * more than 1,024 characters has to stand behind a `?` (YAML 1.2, section 7.4), escapes included.
 */
class HidingText {
  readonly quoted: string;

  constructor(text: string) {
    this.quoted = JSON.stringify(text)
      .replace(hiddenCharacters(), escaped)
      .replace(/[\ufffe\uffff]/g, escaped);
  }
}

const hidingTag: ScalarTag = {
  identify: (value) => value instanceof HidingText,
  default: true,
  tag: 'tag:yaml.org,2002:str',
  resolve: (text) => text,
  stringify: ({ value }) => (value as HidingText).quoted,
};

const options = { lineWidth: 0, doubleQuotedAsJSON: true } as const;

/** Letters, digits and blanks that nobody reads as anything but text: no number, date or indicator begins like this. */
const plain = /^[\p{L}_](?:[\p{L}\p{M}\p{N}_.()/+-]| (?=[^ ]))*$/u;

/** Words that YAML 1.1 (bool, null) or 1.2 reads as something else, and the two of JavaScript that people misread. */
const reserved = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$/i;

/**
 * A value as a YAML document, final newline included: equal when it is read back, by readers of YAML 1.1 and 1.2
 * alike; numbers with the digits they came with; what steers a terminal or hides text as escapes.
 */
export function yamlDocument(value: JsonValue): string {
  return new Document(nodeOf(value), { customTags: [numberTag, hidingTag] }).toString(options);
}

/** A value as one element of a YAML sequence; elements behind each other are one document. */
export function yamlElement(value: JsonValue): string {
  return yamlDocument([value]);
}

function nodeOf(value: JsonValue): YAMLMap | YAMLSeq | YamlScalar {
  if (typeof value === 'string') return textNode(value, true);
  if (isList(value)) {
    const list = new YAMLSeq();
    list.items = value.map(nodeOf);
    return list;
  }
  if (isObject(value)) {
    const map = new YAMLMap();
    map.items = Object.entries(value).map(([name, member]) => new Pair(textNode(name, false), nodeOf(member)));
    return map;
  }
  return new YamlScalar(typeof value === 'number' ? new NumberToken(String(value)) : value);
}

/** Text without quotes where nobody can misread it, lines as lines; else in quotes, as JSON writes it. */
function textNode(text: string, mayBeBlock: boolean): YamlScalar {
  if (isHiding(text)) return new YamlScalar(new HidingText(text));
  const node = new YamlScalar(text);
  if (plain.test(text) && !reserved.test(text)) node.type = YamlScalar.PLAIN;
  else if (mayBeBlock && isBlock(text)) node.type = YamlScalar.BLOCK_LITERAL;
  else node.type = YamlScalar.QUOTE_DOUBLE;
  return node;
}

function isBlock(text: string): boolean {
  return /^\S.*\n/.test(text) && !/ (?:\n|$)|\n\n$|[^\P{Cc}\n]/u.test(text);
}

function isHiding(text: string): boolean {
  // The last two characters of a plane are no characters to YAML (YAML 1.2, section 5.1).
  return /[\ufffe\uffff]/.test(text) || text.search(hiddenCharacters()) !== -1;
}

/** Hidden characters stand in double quotes alone, where an escape is valid wherever it falls (YAML 1.2, 5.7). */
function escaped(found: string): string {
  const digits = (found.codePointAt(0) ?? 0).toString(16);
  return digits.length > 4 ? `\\U${digits.padStart(8, '0')}` : `\\u${digits.padStart(4, '0')}`;
}
