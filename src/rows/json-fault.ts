/**
 * The offset at which a text stops being JSON (RFC 8259), that of its end where something is missing; undefined for
 * JSON. Node's own messages say where only at times, and each release in other words.
 */
export function jsonFaultAt(text: string): number | undefined {
  /** The closing brackets of what is open. */
  const open: string[] = [];
  let expected = 'value' as Expected;
  let at = 0;
  const close = () => {
    open.pop();
    expected = 'comma';
  };
  const steps: Readonly<Record<Expected, (token: string) => boolean>> = {
    value: (token) => {
      const isOpening = token === '[' || token === '{';
      if (isOpening) open.push(token === '[' ? ']' : '}');
      expected = token === '[' ? 'value or ]' : token === '{' ? 'name or }' : 'comma';
      return isOpening || !']},:'.includes(token);
    },
    'value or ]': (token) => {
      if (token !== ']') return steps.value(token);
      close();
      return true;
    },
    name: (token) => {
      expected = 'colon';
      return token === '"';
    },
    'name or }': (token) => {
      if (token !== '}') return steps.name(token);
      close();
      return true;
    },
    colon: (token) => {
      expected = 'value';
      return token === ':';
    },
    comma: (token) => {
      if (token === open.at(-1)) {
        close();
        return true;
      }
      expected = open.at(-1) === ']' ? 'value' : 'name';
      return token === ',' && open.length > 0;
    },
  };
  for (;;) {
    at += matchAt(blank, text, at)?.length ?? 0;
    if (at === text.length) return open.length === 0 && expected === 'comma' ? undefined : at;
    const { end, isWhole } = tokenAt(text, at);
    if (!isWhole) return end;
    // Of a string its quote is enough to go by.
    if (!steps[expected](text[at] === '"' ? '"' : text.slice(at, end))) return at;
    at = end;
  }
}

type Expected = 'value' | 'value or ]' | 'name' | 'name or }' | 'colon' | 'comma';

const blank = /[ \t\r\n]*/y;
const plainToken = /[[\]{},:]|true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const escaped = /["\\/bfnrt]|u[\da-fA-F]{4}/y;

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** The end of the token that begins here, and whether it is whole. */
function tokenAt(text: string, at: number): { readonly end: number; readonly isWhole: boolean } {
  if (text[at] === '"') return stringAt(text, at);
  const token = matchAt(plainToken, text, at);
  return { end: at + (token?.length ?? 0), isWhole: token !== undefined };
}

/** By hand: a regular expression for a string of 8 MiB takes more stack than there is. */
function stringAt(text: string, start: number): { readonly end: number; readonly isWhole: boolean } {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return { end: at + 1, isWhole: true };
    if (code < 0x20) break;
    const escapee = code === 0x5c ? matchAt(escaped, text, at + 1) : '';
    if (escapee === undefined) break;
    at += 1 + escapee.length;
  }
  return { end: at, isWhole: false };
}
