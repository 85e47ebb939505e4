import { parsedOr } from '../parsed-or.ts';

/* Values in the text of a large JSON, found without making objects of them. The text may be no JSON at all. */

export type JsonKind = 'object' | 'list' | 'text' | 'other';

/** A value: where it stands in the text. */
export type JsonNode = { start: number; end: number; kind: JsonKind };

/** A value within another one, with its name or its place there. */
export type JsonChild = JsonNode & { name: string };

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const NEXT_MARK = /["{}[\]]/g;
const LITERAL_END = /[,}\]\s]/g;
const SPACE = /\S/g;
/** A name may be as long as its writer likes. */
const LONGEST_NAME = 200;

/** Returns the place behind the string that begins at `at`. */
function endOfString(text: string, at: number): number {
  for (let end = at + 1; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === QUOTE) return end + 1;
    if (code === BACKSLASH) end += 1;
  }
  return text.length;
}

/** Returns the place of the next character that the pattern finds, or the end of the text. */
function placeOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

const kindAt = (text: string, at: number): JsonKind => {
  const character = text[at];
  if (character === '{') return 'object';
  if (character === '[') return 'list';
  return character === '"' ? 'text' : 'other';
};

/** Returns the value that a text consists of. */
export function rootNode(text: string): JsonNode {
  const start = placeOf(SPACE, text, 0);
  return { start, end: text.trimEnd().length, kind: kindAt(text, start) };
}

/** Finds the values within an object or a list, a piece at a time, so that the page can do other things in between. */
export class ChildScan {
  readonly found: JsonChild[] = [];
  /** Values beyond `most`, which are not kept. */
  left = 0;
  readonly #text: string;
  readonly #node: JsonNode;
  readonly #most: number;
  #at: number;
  #depth = 0;
  #begun = 0;
  #name: string | undefined;
  #count = 0;

  constructor(text: string, node: JsonNode, most: number) {
    this.#text = text;
    this.#node = node;
    this.#most = most;
    this.#at = node.start + 1;
  }

  /** Goes on for so many letters, or to the end of the string there. Returns whether all is found. */
  step(letters: number): boolean {
    if (this.#node.kind !== 'object' && this.#node.kind !== 'list') return true;
    for (const end = this.#at + letters; this.#at < end;) {
      if (this.#depth > 0) this.#within();
      else if (this.#direct()) return true;
      if (this.#at >= this.#node.end) return true;
    }
    return false;
  }

  /** Goes to the next mark within a value that is passed over. */
  #within(): void {
    const at = placeOf(NEXT_MARK, this.#text, this.#at);
    const character = this.#text[at];
    this.#at = at + 1;
    if (character === '"') this.#at = endOfString(this.#text, at);
    else if (character === '{' || character === '[') this.#depth += 1;
    else {
      this.#depth -= 1;
      if (this.#depth === 0) this.#add(this.#begun, this.#at);
    }
  }

  /** Goes on to the next part of the object or list itself. Returns whether that was its end. */
  #direct(): boolean {
    const at = placeOf(SPACE, this.#text, this.#at);
    const code = this.#text.charCodeAt(at);
    const kind = kindAt(this.#text, at);
    this.#at = at + 1;
    if (code === COMMA || code === COLON) return false;
    if (at >= this.#node.end - 1) return true;
    if (kind === 'object' || kind === 'list') {
      this.#begun = at;
      this.#depth = 1;
    } else if (code === QUOTE) this.#string(at);
    else {
      this.#at = Math.max(at + 1, placeOf(LITERAL_END, this.#text, at));
      this.#add(at, this.#at);
    }
    return false;
  }

  #string(at: number): void {
    this.#at = endOfString(this.#text, at);
    if (this.#node.kind === 'object' && this.#name === undefined) this.#name = nameIn(this.#text.slice(at, this.#at));
    else this.#add(at, this.#at);
  }

  #add(start: number, end: number): void {
    const name = this.#node.kind === 'list' ? String(this.#count) : (this.#name ?? '');
    this.#count += 1;
    this.#name = undefined;
    if (this.found.length < this.#most) this.found.push({ start, end, kind: kindAt(this.#text, start), name });
    else this.left += 1;
  }
}

/** Returns the name that a JSON string is, without its end where it is long. */
const nameIn = (json: string): string => textIn(json.length > LONGEST_NAME ? `${json.slice(0, LONGEST_NAME)}…` : json);

/** Returns the string of a JSON string, which may lack its end, or the text itself where it is none. */
export function textIn(json: string): string {
  const whole = parsedOr(json, undefined);
  if (typeof whole === 'string') return whole;
  // An escape that was cut has at most six characters, and an odd number of backslashes begins it.
  const ends = [json, ...[1, 2, 3, 4, 5, 6].map((letters) => json.slice(0, -letters))].map((one) => parsedOr(`${one}"`, undefined));
  return ends.find((one) => typeof one === 'string') ?? json;
}
