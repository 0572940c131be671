/** Reads and writes YAML, with the digits of its numbers. Wraps yaml, which takes long to load: import it late. */
import {
  type Alias,
  Composer,
  type CST,
  Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Pair,
  type ParsedNode,
  Parser,
  Scalar,
  type ScalarTag,
  YAMLMap,
  YAMLSeq,
} from 'yaml';
import { isList, isObject, type JsonValue, NumberToken, objectFrom } from './json.ts';
import { hiddenCharacters } from './text.ts';

/** For the colors of output/highlight.ts. */
export { Lexer };

export class YamlSyntaxError extends SyntaxError {
  override readonly name = 'YamlSyntaxError';
  /** From 1; the column in UTF-16 units, as editors count. */
  readonly place: { readonly line: number; readonly column: number };
  /** The message without the place. */
  readonly reason: string;

  constructor(reason: string, place: YamlSyntaxError['place']) {
    super(`line ${place.line}, column ${place.column}: ${reason}`);
    this.place = place;
    this.reason = reason;
  }
}

/** Limits of a document (docs/decisions.md, limits-3); `aliased` is the number of values that aliases may add. */
const limits = {
  depth: 128,
  members: 10_000,
  aliased: 100_000,
  textLength: 8 * 1024 * 1024,
  radixLength: 1_000,
} as const;

/**
 * Parses a YAML document by the core schema of YAML 1.2, but a number with a leading zero is a string. Anchors and aliases
 * are supported; custom tags, merge keys, duplicate keys, infinity and other values that JSON does not have are errors.
 *
 * @throws {YamlSyntaxError}
 */
export function parseYaml(text: string): JsonValue {
  return readYaml(text).value;
}

/** As `parseYaml`, with a function that finds an object or list of the document, or a member of it. */
export function readYaml(text: string) {
  const { documents, placeOf } = readYamlDocuments(text, 1);
  return { value: documents[0] ?? null, placeOf };
}

/** As `readYaml`, for several documents, up to `max`. */
export function readYamlDocuments(text: string, max = Number.POSITIVE_INFINITY) {
  const lines = new LineCounter();
  if (text.length > limits.textLength) throw new YamlSyntaxError('longer than 8 MiB', { line: 1, column: 1 });
  const composed = compose(text, lines);
  const reader = new Reader(lines);
  const documents: JsonValue[] = [];
  for (let document = composed(); document !== undefined; ) {
    const next = composed();
    checkFaults(document, lines);
    if (next !== undefined && documents.length + 1 === max) {
      throw new YamlSyntaxError('more than one document', placeAt(next.range[0], lines));
    }
    documents.push(document.contents === null ? null : reader.readDocument(document.contents as ParsedNode));
    document = next;
  }
  return { documents, placeOf: reader.placeOf.bind(reader) };
}

/** Makes a function that composes the next document; undefined after the last one. */
function compose(text: string, lineCounter: LineCounter) {
  // Duplicate keys are looked for here: the library compares each with every other one.
  const kept = { uniqueKeys: false, prettyErrors: false, lineCounter };
  const composer = new Composer({ version: '1.2', schema: 'core', merge: false, resolveKnownTags: false, ...kept });
  const documents = composer.compose(tokensOf(text, lineCounter), true, text.length);
  return () => withoutStacks(() => documents.next().value) ?? undefined;
}

function checkFaults({ errors, warnings }: Document.Parsed, lines: LineCounter): void {
  const [fault] = [...errors, ...warnings].sort((one, other) => one.pos[0] - other.pos[0]);
  if (fault === undefined) return;
  // Some of the library's sentences repeat all that they are about.
  const reason = fault.message.length > 200 ? `${fault.message.slice(0, 200)}…` : fault.message;
  throw new YamlSyntaxError(reason, placeAt(fault.pos[0], lines));
}

function placeAt(offset: number, lines: LineCounter): YamlSyntaxError['place'] {
  const { line, col } = lines.linePos(Math.max(0, offset));
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Parses to tokens, and stops at excessive depth: the composer recurses, and would exhaust the stack. */
function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    // The document, and what is open in it: a collection at the deepest level, or a scalar in one above it.
    if (parser.stack.length > limits.depth + 2) {
      throw new YamlSyntaxError(tooDeep, placeAt(parser.offset - lexeme.length, lines));
    }
  }
  yield* parser.end();
}

const tooDeep = `nested deeper than ${limits.depth} levels`;

/**
 * Does the work without the stacks of its errors: a text of brackets alone has as many faults as bytes, and a stack for
 * each takes most of the time.
 */
function withoutStacks<T>(work: () => T): T {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** A value, the number of values in it, and of levels below it. */
type Read = { readonly value: JsonValue; readonly size: number; readonly levels: number };

/** Converts nodes to values, in the order of the text: an alias is of the last anchor of that name before it. */
class Reader {
  readonly #lines: LineCounter;
  readonly #anchors = new Map<string, Read>();
  readonly #nodes = new WeakMap<object, ParsedNode>();
  #aliased = 0;

  constructor(lines: LineCounter) {
    this.#lines = lines;
  }

  /** Anchors are those of the document. */
  readDocument(node: ParsedNode): JsonValue {
    this.#anchors.clear();
    return this.read(node, 0).value;
  }

  read(node: ParsedNode, depth: number): Read {
    if (depth > limits.depth) throw this.#fault(node, tooDeep);
    if (isAlias(node)) {
      const read = this.#aliasOf(node);
      if (depth + read.levels > limits.depth) throw this.#fault(node, tooDeep);
      return read;
    }
    const read = isMap(node) ? this.#object(node, depth) : isSeq(node) ? this.#list(node, depth) : this.#scalar(node);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, read);
    return read;
  }

  #aliasOf(node: Alias.Parsed): Read {
    const read = this.#anchors.get(node.source);
    if (read === undefined) throw this.#fault(node, `unknown anchor &${node.source.slice(0, 100)}`);
    // It is one value here, but printed each time.
    this.#aliased += read.size;
    if (this.#aliased > limits.aliased) throw this.#fault(node, `aliases expand to more than ${limits.aliased} values`);
    return read;
  }

  #object(map: YAMLMap.Parsed, depth: number): Read {
    const members = new Map<string, JsonValue>();
    let [size, levels] = [1, 0];
    for (const { key, value } of map.items) {
      const name = this.#name(key, map);
      if (members.has(name)) throw this.#fault(key, `duplicate key ${JSON.stringify(name.slice(0, 100))}`);
      if (members.size === limits.members) throw this.#fault(key, `more than ${limits.members} members`);
      const read = value === null ? leafOf(null) : this.read(value, depth + 1);
      members.set(name, read.value);
      size += read.size;
      levels = Math.max(levels, read.levels + 1);
    }
    const value = objectFrom(members);
    this.#nodes.set(value, map);
    return { value, size, levels };
  }

  #name(key: ParsedNode | null, map: YAMLMap.Parsed): string {
    const scalar = isScalar(key) ? key : undefined;
    if (key === null || scalar?.value === null) throw this.#fault(key ?? map, 'missing key before the colon');
    if (scalar === undefined) throw this.#fault(key, 'keys must be strings');
    const { source = '', type, anchor } = scalar;
    if (source === '<<' && type === 'PLAIN') {
      throw this.#fault(key, 'merge keys are not supported: write the members out, or quote "<<" to use it as a key');
    }
    // A number as a key keeps its digits.
    if (anchor !== undefined) this.#anchors.set(anchor, leafOf(source));
    return source;
  }

  #list(list: YAMLSeq.Parsed, depth: number): Read {
    const values: JsonValue[] = [];
    let [size, levels] = [1, 0];
    for (const item of list.items) {
      const read = this.read(item as ParsedNode, depth + 1);
      values.push(read.value);
      size += read.size;
      levels = Math.max(levels, read.levels + 1);
    }
    this.#nodes.set(values, list);
    return { value: values, size, levels };
  }

  #scalar(node: Scalar.Parsed): Read {
    const { value, source = '' } = node;
    // Usually a code: JSON has no such numbers, and its zeros would be lost.
    if (/^[-+]?0[0-9]/.test(source) && typeof value === 'number') return leafOf(source);
    if (typeof value === 'number') return leafOf(this.#number(node, source));
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return leafOf(value);
    throw this.#fault(node, 'not a JSON value');
  }

  #number(node: Scalar.Parsed, source: string): JsonValue {
    const digits = jsonDigits(source);
    if (digits === undefined) throw this.#fault(node, `${source.slice(0, 100)} is not a JSON number`);
    const value = Number(digits);
    return String(value) === digits ? value : new NumberToken(digits);
  }

  placeOf(of: JsonValue, member?: string | number): YamlSyntaxError['place'] | undefined {
    const node = typeof of === 'object' && of !== null ? this.#nodes.get(of) : undefined;
    if (node === undefined) return undefined;
    const found = member === undefined ? node : memberOf(node, member);
    return placeAt((found ?? node).range[0], this.#lines);
  }

  #fault(node: ParsedNode | null, reason: string): YamlSyntaxError {
    return new YamlSyntaxError(reason, placeAt(node?.range[0] ?? 0, this.#lines));
  }
}

function leafOf(value: JsonValue): Read {
  return { value, size: 1, levels: 0 };
}

function memberOf(node: ParsedNode, member: string | number): ParsedNode | null | undefined {
  if (isSeq(node)) return node.items[Number(member)] as ParsedNode | undefined;
  if (!isMap(node)) return undefined;
  return node.items.find(({ key }) => isScalar(key) && key.source === member)?.key;
}

/** Converts a number to JSON's form; undefined for infinity, NaN and long numbers of another base, which take long. */
function jsonDigits(source: string): string | undefined {
  if (/^0[xo]/.test(source)) return source.length > limits.radixLength ? undefined : String(BigInt(source));
  const [, sign, whole = '', part = '', exponent = ''] =
    /^([-+]?)([0-9]*)(?:\.([0-9]*))?([eE][-+]?[0-9]+)?$/.exec(source) ?? [];
  if (sign === undefined) return undefined;
  const minus = sign === '-' ? '-' : '';
  return `${minus}${whole || '0'}${part === '' ? '' : `.${part}`}${exponent}`;
}

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

const printOptions = { lineWidth: 0, doubleQuotedAsJSON: true } as const;

/** Unquoted strings: they start like no number, date or indicator. */
const plain = /^[\p{L}_](?:[\p{L}\p{M}\p{N}_.()/+-]| (?=[^ ]))*$/u;

/** Words that YAML 1.1 or 1.2 reads as other types, and numbers of JavaScript. */
const reserved = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$/i;

/** Formats a value as a YAML document that YAML 1.1 and 1.2 read alike, with control and hidden characters escaped. */
export function yamlDocument(value: JsonValue): string {
  return new Document(nodeOf(value), { customTags: [numberTag, hidingTag] }).toString(printOptions);
}

/** Formats an element of a sequence; several make a document. */
export function yamlElement(value: JsonValue): string {
  return yamlDocument([value]);
}

function nodeOf(value: JsonValue): YAMLMap | YAMLSeq | Scalar {
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
  return new Scalar(typeof value === 'number' ? new NumberToken(String(value)) : value);
}

function textNode(text: string, mayBeBlock: boolean): Scalar {
  if (isHiding(text)) return new Scalar(new HidingText(text));
  const node = new Scalar(text);
  if (plain.test(text) && !reserved.test(text)) node.type = Scalar.PLAIN;
  else if (mayBeBlock && isBlock(text)) node.type = Scalar.BLOCK_LITERAL;
  else node.type = Scalar.QUOTE_DOUBLE;
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
