/*
 * The marks within a paragraph of Markdown. An agent writes them, so no text costs more than its length allows: each
 * letter is looked at a bounded number of times, and parts that are nested too deep stay text.
 */

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'break' }
  | { kind: 'em' | 'strong' | 'strike'; parts: Inline[]; depth: number }
  | { kind: 'link'; href: string; parts: Inline[]; depth: number };

const DEEPEST = 8;
/** Letters of an address. */
const LONGEST_ADDRESS = 2000;

type Mark = { char: string; count: number; first: number; mayOpen: boolean; mayClose: boolean };
type Token = Inline | { kind: 'mark'; mark: Mark };
type Bracket = { at: number; isPicture: boolean };

const PUNCTUATION = /[\p{P}\p{S}]/u;
const isPunctuation = (letter: string): boolean => PUNCTUATION.test(letter);
const isBlank = (letter: string): boolean => letter === '' || /\s/.test(letter);

/** Returns the parts of a text. */
export const parseInlines = (text: string): Inline[] => new InlineScan(text).parse();

/** Returns an address that a reader may be led to; undefined for any other, such as a script. */
export function readLinkAddress(address: string): string | undefined {
  const isKnown = /^(?:https?:\/\/|mailto:)[^\s]/i.test(address);
  return isKnown && URL.canParse(address) ? address : undefined;
}

class InlineScan {
  readonly #text: string;
  readonly #tokens: Token[] = [];
  readonly #brackets: Bracket[] = [];
  /** The places of backticks in a row by their number, so that each looks for its end once. */
  readonly #ticks = new Map<number, number[]>();
  #at = 0;
  #plain = '';

  constructor(text: string) {
    this.#text = text;
    for (const { index, 0: run } of text.matchAll(/`+/g)) {
      const places = this.#ticks.get(run.length);
      if (places === undefined) this.#ticks.set(run.length, [index]);
      else places.push(index);
    }
    for (const places of this.#ticks.values()) places.reverse();
  }

  parse(): Inline[] {
    while (this.#at < this.#text.length) this.#step();
    this.#endPlain();
    return joinMarks(this.#tokens);
  }

  #step(): void {
    const letter = this.#text[this.#at] ?? '';
    switch (letter) {
      case '\\':
        return this.#takeEscape();
      case '`':
        return this.#takeCode();
      case '[':
        return this.#openBracket(1);
      case '!':
        return this.#text[this.#at + 1] === '[' ? this.#openBracket(2) : this.#takePlain(1);
      case ']':
        return this.#closeBracket();
      case '<':
        return this.#takeAngle();
      case '*':
      case '_':
      case '~':
        return this.#takeMark(letter);
      case 'h':
        return this.#takeAddress();
      default:
        return this.#takePlain(1);
    }
  }

  #takePlain(letters: number): void {
    this.#plain += this.#text.slice(this.#at, this.#at + letters);
    this.#at += letters;
  }

  #endPlain(): void {
    if (this.#plain !== '') this.#tokens.push({ kind: 'text', text: this.#plain });
    this.#plain = '';
  }

  #put(token: Token, letters: number): void {
    this.#endPlain();
    this.#tokens.push(token);
    this.#at += letters;
  }

  #takeEscape(): void {
    const next = this.#text[this.#at + 1] ?? '';
    if (next === '\n') return this.#put({ kind: 'break' }, 2);
    // ASCII marks alone can be escaped; before a letter, the backslash is one.
    if (/^[!-/:-@[-`{-~]$/.test(next)) this.#at += 1;
    this.#takePlain(1);
  }

  #takeCode(): void {
    const from = this.#at;
    const run = /^`+/.exec(this.#text.slice(from, from + LONGEST_ADDRESS))?.[0].length ?? 1;
    const places = this.#ticks.get(run) ?? [];
    while (places.length > 0 && (places.at(-1) ?? 0) <= from) places.pop();
    const end = places.at(-1);
    if (end === undefined) return this.#takePlain(run);
    const inner = this.#text.slice(from + run, end).replaceAll('\n', ' ');
    const isPadded = inner.length > 2 && inner.startsWith(' ') && inner.endsWith(' ');
    const text = isPadded ? inner.slice(1, -1) : inner;
    return this.#put({ kind: 'code', text }, end + run - from);
  }

  #openBracket(letters: number): void {
    this.#endPlain();
    this.#brackets.push({ at: this.#tokens.length, isPicture: letters === 2 });
    this.#put({ kind: 'text', text: this.#text.slice(this.#at, this.#at + letters) }, letters);
  }

  #closeBracket(): void {
    const opened = this.#brackets.pop();
    const target = opened === undefined ? undefined : readTarget(this.#text, this.#at + 1);
    const href = target === undefined ? undefined : readLinkAddress(target.address);
    if (opened === undefined || target === undefined || href === undefined)
      return this.#takePlain(1);
    this.#endPlain();
    const [, ...inner] = this.#tokens.splice(opened.at);
    const parts = joinMarks(inner);
    const depth = measureDepth(parts);
    // A picture from elsewhere is not loaded: it is a link, as everything else that is elsewhere.
    if (depth > DEEPEST) this.#tokens.push(...parts);
    else this.#tokens.push({ kind: 'link', href, parts: toWords(parts, href), depth });
    this.#at = target.end;
    // There is no link within a link.
    if (!opened.isPicture) this.#brackets.length = 0;
  }

  #takeAngle(): void {
    const rest = this.#text.slice(this.#at, this.#at + LONGEST_ADDRESS);
    const [line] = /^<br ?\/?>/i.exec(rest) ?? [];
    if (line !== undefined) return this.#put({ kind: 'break' }, line.length);
    const [whole, address = ''] = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i.exec(rest) ?? [];
    const href = readLinkAddress(address);
    if (whole === undefined || href === undefined) return this.#takePlain(1);
    return this.#put(buildLink(href, address), whole.length);
  }

  #takeAddress(): void {
    const before = this.#text[this.#at - 1] ?? '';
    const isStart = this.#text.startsWith('http', this.#at) && !/\w/.test(before);
    const found = isStart
      ? /^https?:\/\/[^\s<>"'`*]+/.exec(this.#text.slice(this.#at, this.#at + LONGEST_ADDRESS))
      : null;
    const address = found === null ? '' : trimAddress(found[0]);
    const href = readLinkAddress(address);
    return href === undefined
      ? this.#takePlain(1)
      : this.#put(buildLink(href, address), address.length);
  }

  #takeMark(char: string): void {
    let end = this.#at;
    while (this.#text[end] === char) end += 1;
    const count = end - this.#at;
    const [before, after] = [this.#text[this.#at - 1] ?? '', this.#text[end] ?? ''];
    const isLeft =
      !isBlank(after) && (!isPunctuation(after) || isBlank(before) || isPunctuation(before));
    const isRight =
      !isBlank(before) && (!isPunctuation(before) || isBlank(after) || isPunctuation(after));
    const isWord = char === '_';
    const mayOpen = isLeft && (!isWord || !isRight || isPunctuation(before));
    const mayClose = isRight && (!isWord || !isLeft || isPunctuation(after));
    if (char === '~' && count !== 2) return this.#takePlain(count);
    return this.#put(
      { kind: 'mark', mark: { char, count, first: count, mayOpen, mayClose } },
      count,
    );
  }
}

const buildLink = (href: string, text: string): Inline => ({
  kind: 'link',
  href,
  parts: [{ kind: 'text', text }],
  depth: 1,
});

/** Returns the words of a link, which are its address where it has none. */
const toWords = (parts: Inline[], href: string): Inline[] =>
  parts.length === 0 ? [{ kind: 'text', text: href }] : parts;

/** Returns an address without the marks that end the sentence around it. */
function trimAddress(address: string): string {
  const short = address.replace(/[.,;:!?\]]{1,20}$/, '');
  return short.endsWith(')') && !short.includes('(') ? short.slice(0, -1) : short;
}

/** Reads `(address "title")`, the end of a link. The title is not shown. */
function readTarget(text: string, from: number): { address: string; end: number } | undefined {
  if (text[from] !== '(') return undefined;
  const rest = text.slice(from, from + LONGEST_ADDRESS);
  const found =
    /^\(\s{0,9}(?:<([^<>\n]*)>|((?:[^\s()<>]|\([^\s()]*\))*))(?:\s{1,9}(?:"[^"]*"|'[^']*'))?\s{0,9}\)/.exec(
      rest,
    );
  if (found === null) return undefined;
  return { address: found[1] ?? found[2] ?? '', end: from + found[0].length };
}

const measureDepth = (parts: readonly Inline[]): number =>
  1 + parts.reduce((most, part) => Math.max(most, 'depth' in part ? part.depth : 0), 0);

type Opened = { mark: Mark; inside: Inline[] };

/** Marks without an end that are kept at a time. Further ones are text. */
const FARTHEST = 30;

/** Puts the parts between marks of emphasis together. Marks without a partner are text. */
function joinMarks(tokens: readonly Token[]): Inline[] {
  const whole: Inline[] = [];
  const opened: Opened[] = [];
  const put = (...parts: Inline[]): void => {
    (opened.at(-1)?.inside ?? whole).push(...parts);
  };
  for (const token of tokens) {
    if (token.kind !== 'mark') {
      put(token);
      continue;
    }
    const { mark } = token;
    while (mark.mayClose && mark.count > 0 && closeMark(mark, opened, put));
    if (mark.count === 0) continue;
    if (mark.mayOpen && opened.length < FARTHEST) opened.push({ mark, inside: [] });
    else put(toMarkText(mark));
  }
  const left = opened.splice(0).flatMap(({ mark, inside }) => [toMarkText(mark), ...inside]);
  return [...whole, ...left];
}

const toMarkText = ({ char, count }: Mark): Inline => ({ kind: 'text', text: char.repeat(count) });

/** Ends the nearest emphasis of a mark's kind. Returns whether there was one. */
function closeMark(mark: Mark, opened: Opened[], put: (...parts: Inline[]) => void): boolean {
  const isPartner = ({ mark: one }: Opened): boolean =>
    one.char === mark.char &&
    !((one.mayClose || mark.mayOpen) && (one.first + mark.first) % 3 === 0 && mark.first % 3 !== 0);
  const at = opened.findLastIndex(isPartner);
  const [own, ...over] = at < 0 ? [] : opened.splice(at);
  if (own === undefined) return false;
  const parts = [
    ...own.inside,
    ...over.flatMap(({ mark: one, inside }) => [toMarkText(one), ...inside]),
  ];
  const count = Math.min(2, own.mark.count, mark.count);
  const depth = measureDepth(parts);
  const kind = mark.char === '~' ? 'strike' : count === 2 ? 'strong' : 'em';
  own.mark.count -= count;
  mark.count -= count;
  const sign: Inline = { kind: 'text', text: mark.char.repeat(count) };
  const made: Inline[] = depth > DEEPEST ? [sign, ...parts, sign] : [{ kind, parts, depth }];
  if (own.mark.count > 0) opened.push({ mark: own.mark, inside: made });
  else put(...made);
  return true;
}
