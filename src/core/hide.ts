/** Removes a token from texts of others, in whatever form they repeat it. */

/** The length from which a part of the token is hidden. */
const runMin = 12;

const mask = '***';

/**
 * Makes a function that replaces a token in a text by `***`: as it is, in another case, URL-encoded, JSON- or HTML-escaped,
 * in base64 or hexadecimal, and any 12 consecutive characters of these.
 *
 * @param token hidden as a whole if it is shorter than 12 characters
 */
export function createHider(token: string): (text: string) => string {
  // Made when needed: most commands print nothing from a service.
  let forms: TokenForms | undefined;
  return (text) => {
    forms ??= new TokenForms(token);
    return forms.hide(text);
  };
}

type Run = { readonly start: number; readonly end: number };

class TokenForms {
  readonly #forms: readonly string[];
  /** The length from which a part of each form is hidden. */
  readonly #leasts: readonly number[];
  readonly #gramLength: number;
  readonly #stride: number;
  /** The places of each piece of `gramLength` characters. */
  readonly #grams = new Map<string, (readonly [form: number, at: number])[]>();

  constructor(token: string) {
    this.#forms = [...new Set([folded(token), plainOf(token).text, ...encoded(token)])];
    this.#leasts = this.#forms.map(({ length }) => Math.min(runMin, length));
    const least = Math.min(...this.#leasts);
    // A run of `least` characters contains a piece of this length at one of `stride` consecutive places.
    this.#gramLength = Math.max(1, Math.floor(least / 2));
    this.#stride = least - this.#gramLength + 1;
    for (const [index, form] of this.#forms.entries()) {
      for (let at = 0; at + this.#gramLength <= form.length; at += 1) this.#addGram(index, at);
    }
  }

  hide(text: string): string {
    const plain = plainOf(text);
    const placeOf = (at: number) => plain.places?.[at] ?? at;
    const shown: string[] = [];
    let from = 0;
    for (const { start, end } of this.#runsIn(plain.text)) {
      const isBehindAnother = shown.length > 0 && placeOf(start) === from;
      if (!isBehindAnother) shown.push(text.slice(from, placeOf(start)));
      from = placeOf(end);
    }
    return shown.length === 0 ? text : [...shown, text.slice(from)].join(mask);
  }

  #addGram(form: number, at: number): void {
    const gram = this.#forms[form]?.slice(at, at + this.#gramLength) ?? '';
    const places = this.#grams.get(gram);
    if (places === undefined) this.#grams.set(gram, [[form, at]]);
    else places.push([form, at]);
  }

  /** The runs to hide, in order and without overlap. */
  *#runsIn(text: string): Generator<Run> {
    let from = 0;
    for (let at = 0; at + this.#gramLength <= text.length; at += this.#stride) {
      const run = this.#runAt(text, at, from);
      if (run === undefined) continue;
      yield run;
      from = run.end;
      at = Math.max(at, from - this.#stride);
    }
  }

  /** The longest run around the piece at this place. */
  #runAt(text: string, at: number, from: number): Run | undefined {
    let longest: Run | undefined;
    for (const [index, place] of this.#grams.get(text.slice(at, at + this.#gramLength)) ?? []) {
      const run = commonRun({ text, at, from }, { form: this.#forms[index] ?? '', place });
      const length = run.end - run.start;
      const isLonger = longest === undefined || length > longest.end - longest.start;
      if (length >= (this.#leasts[index] ?? runMin) && isLonger) longest = run;
    }
    return longest;
  }
}

/** The longest run around a place of a text, from somewhere on, that it has in common with a form around a place. */
function commonRun(
  { text, at, from }: { readonly text: string; readonly at: number; readonly from: number },
  { form, place }: { readonly form: string; readonly place: number },
): Run {
  let before = 0;
  while (before < Math.min(at - from, place) && text[at - before - 1] === form[place - before - 1]) before += 1;
  let behind = 0;
  while (place + behind < form.length && text[at + behind] === form[place + behind]) behind += 1;
  return { start: at - before, end: at + behind };
}

/** The token in hexadecimal, and in base64 after 0, 1 and 2 other bytes, without the characters that it shares with them. */
function encoded(token: string): readonly string[] {
  const bytes = Buffer.from(token);
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const isSharedAtEnd = (before + bytes.length) % 3 !== 0;
    return text.slice(before === 0 ? 0 : before + 1, isSharedAtEnd ? -1 : undefined);
  });
  // A shorter one would match other texts.
  return [bytes.toString('hex'), ...base64.map(folded)].filter(({ length }) => length >= 8);
}

/** In lower case, and in one of the two alphabets of base64. */
function folded(text: string): string {
  return text.replace(/[A-Z_-]/g, (found) => (found === '-' ? '+' : found === '_' ? '/' : found.toLowerCase()));
}

/** `%2f`, `\u002f`, `\x2f`, `\/`, `&#x2f;`, `&#47;`, `&amp;`. */
const escapes =
  /%([0-9a-f]{2})|\\+u00([0-9a-f]{2})|\\+x([0-9a-f]{2})|\\+(["'/\\])|&#x0*([0-9a-f]{2});?|&#0*(\d{2,3});?|&([a-z]{2,6});/gi;

const entities: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" },
  ...{ sol: '/', plus: '+', equals: '=', lowbar: '_', period: '.', colon: ':' },
};

/** The text with escapes replaced and folded, and the original place of each character, unless they are the same. */
function plainOf(text: string): { readonly text: string; readonly places: Uint32Array | undefined } {
  if (!/[%\\&]/.test(text)) return { text: folded(text), places: undefined };
  const places = new Uint32Array(text.length + 1);
  let [plain, from] = ['', 0];
  const copy = (until: number) => {
    for (let at = from; at < until; at += 1) places[plain.length + at - from] = at;
    plain += text.slice(from, until);
  };
  for (const found of text.matchAll(escapes)) {
    const character = characterOf(found);
    if (character === undefined) continue;
    copy(found.index);
    places[plain.length] = found.index;
    plain += character;
    from = found.index + found[0].length;
  }
  copy(text.length);
  places[plain.length] = text.length;
  return { text: folded(plain), places };
}

function characterOf([, percent, u, x, plain, hex, decimal, name]: RegExpMatchArray): string | undefined {
  if (plain !== undefined) return plain;
  if (name !== undefined) return entities[name.toLowerCase()];
  const hexadecimal = percent ?? u ?? x ?? hex;
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  return String.fromCharCode(code);
}
