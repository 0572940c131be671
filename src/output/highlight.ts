/** Colors of JSON and YAML on a terminal, as gh and jq have them; to be loaded for color alone. */
import type { Style } from './view.ts';

/** A longer text stays plain: it is not read on a terminal, and a string of many millions overflows the pattern. */
const lengthMax = 1_000_000;

/** Colors whole tokens of JSON: names, strings, booleans and null. */
export function highlightJson(text: string, style: Style): string {
  if (text.length > lengthMax) return text;
  return text.replace(
    /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b/g,
    (token, string: string | undefined, colon: string | undefined) => {
      if (string === undefined) return colorWord(token, style);
      return colon === undefined ? style.green(string) : style.blue(string) + colon;
    },
  );
}

/** A number keeps the color of the terminal. */
function colorWord(word: string, style: Style): string {
  if (word === 'true' || word === 'false') return style.yellow(word);
  if (word === 'null') return style.dim(word);
  return /^[-+]?[\d.]/.test(word) ? word : style.green(word);
}

/** Tokens of the lexer that are not text; the one of a scalar is before a plain or block one (yaml, CST). */
const scalarMarker = '\u001f';
const markers: ReadonlySet<string> = new Set(['\u0002', '\u0018', scalarMarker]);

/** Loads the function that colors YAML documents. */
export async function loadYamlHighlight(): Promise<(text: string, style: Style) => string> {
  const { Lexer } = await import('../core/yaml.ts');
  return (text, style) => (text.length > lengthMax ? text : colorTokens([...new Lexer().lex(text)], style));
}

function colorTokens(tokens: readonly string[], style: Style): string {
  const colored = tokens.map((token, at) => {
    const isPlain = tokens[at - 1] === scalarMarker;
    if (!isPlain && !token.startsWith('"')) return markers.has(token) ? '' : token;
    if (tokens[at + 1] === ':') return style.blue(token);
    return isPlain && !token.includes('\n') ? colorWord(token, style) : colorLines(token, style);
  });
  return colored.join('');
}

function colorLines(text: string, style: Style): string {
  return text.replace(/\S.*/g, (line) => style.green(line));
}
