/** Values as YAML; to be loaded for YAML alone. */
import { isObject, type JsonValue, NumberToken } from '../core/json.ts';
import { hiddenCharacters } from '../core/text.ts';
import { Document, Pair, type ScalarTag, YAMLMap, YAMLSeq, YamlScalar } from '../core/yaml.ts';
import { isList } from './layout.ts';

/** Numbers keep their digits. */
const numberTag: ScalarTag = {
  identify: (value) => value instanceof NumberToken,
  default: true,
  tag: 'tag:yaml.org,2002:float',
  resolve: (text) => text,
  stringify: ({ value }) => (value as NumberToken).digits,
};

/**
 * A string with hidden characters, quoted and escaped. The library counts the escapes when it writes a long key after `?`
 * (YAML 1.2, section 7.4).
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

/** Unquoted strings: they start like no number, date or indicator. */
const plain = /^[\p{L}_](?:[\p{L}\p{M}\p{N}_.()/+-]| (?=[^ ]))*$/u;

/** Words that YAML 1.1 or 1.2 reads as other types, and numbers of JavaScript. */
const reserved = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$/i;

/** Formats a value as a YAML document that YAML 1.1 and 1.2 read alike, with control and hidden characters escaped. */
export function yamlDocument(value: JsonValue): string {
  return new Document(nodeOf(value), { customTags: [numberTag, hidingTag] }).toString(options);
}

/** Formats an element of a sequence; several make a document. */
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
  // YAML excludes the last two code points of a plane (YAML 1.2, section 5.1).
  return /[\ufffe\uffff]/.test(text) || text.search(hiddenCharacters()) !== -1;
}

function escaped(found: string): string {
  const digits = (found.codePointAt(0) ?? 0).toString(16);
  return digits.length > 4 ? `\\U${digits.padStart(8, '0')}` : `\\u${digits.padStart(4, '0')}`;
}
