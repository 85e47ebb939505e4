import type { PiecedText } from './pieced-text.ts';
import { parseJsonOr } from '../../../../schema/json.ts';

/* Values in the text of a large JSON, found without making objects of them. The text may be no JSON at all. */

export type JsonKind = 'object' | 'list' | 'text' | 'other';

/** A value: where it stands in the text. */
export type JsonNode = { start: number; end: number; kind: JsonKind };

/** A value within another one, with its name or its place there. */
export type JsonChild = JsonNode & { name: string };

const QUOTE = 34;
const BACKSLASH = 92;
const NEXT_MARK = /["{}[\]]/g;
const LITERAL_END = /[,}\]\s]/g;
const WORD = /\S/g;
/** A name may be as long as its writer likes. */
const LONGEST_NAME = 200;

const readKind = (text: PiecedText, at: number): JsonKind => {
  const character = text.getLetter(at);
  if (character === '{') return 'object';
  if (character === '[') return 'list';
  return character === '"' ? 'text' : 'other';
};

/** Returns the value that a text consists of. */
export function readRootNode(text: PiecedText): JsonNode {
  const start = text.find(WORD, 0);
  return { start, end: text.findTextEnd(), kind: readKind(text, start) };
}

/** Finds the values within an object or a list, a piece at a time, so that the page can do other things in between. */
export class ChildScan {
  readonly found: JsonChild[] = [];
  /** Values beyond `most`, which are not kept. */
  left = 0;
  readonly #text: PiecedText;
  readonly #node: JsonNode;
  readonly #most: number;
  #at: number;
  #depth = 0;
  #begun = 0;
  /** Where the string begins in which the scan stands. */
  #string: number | undefined;
  #name: string | undefined;
  #count = 0;

  constructor(text: PiecedText, node: JsonNode, most: number) {
    this.#text = text;
    this.#node = node;
    this.#most = most;
    this.#at = node.start + 1;
  }

  /** Goes on for so many letters. Returns whether all is found. */
  step(letters: number): boolean {
    if (this.#node.kind !== 'object' && this.#node.kind !== 'list') return true;
    for (const end = this.#at + letters; this.#at < end;) {
      if (this.#string !== undefined) this.#stepInString(this.#string, end);
      else if (this.#depth > 0) this.#stepWithin();
      else if (this.#stepDirect()) return true;
      if (this.#at >= this.#node.end && this.#string === undefined) return true;
    }
    return false;
  }

  /** Goes on in a string, to its end or to this place, within a piece of the text. */
  #stepInString(begun: number, place: number): void {
    const { text, start } = this.#text.getPiece(this.#at);
    const end = Math.min(text.length, place - start);
    let at = this.#at - start;
    let code = 0;
    for (; at < end && code !== QUOTE; at += 1) {
      code = text.charCodeAt(at);
      if (code === BACKSLASH) at += 1;
    }
    this.#at = Math.min(start + at, this.#text.length);
    if (code === QUOTE || this.#at >= this.#text.length) this.#endString(begun);
  }

  #endString(begun: number): void {
    this.#string = undefined;
    if (this.#depth > 0) return;
    if (this.#node.kind === 'object' && this.#name === undefined)
      this.#name = readName(this.#text, begun, this.#at);
    else this.#add(begun, this.#at);
  }

  /** Goes to the next mark within a value that is passed over, or to the next piece of the text. */
  #stepWithin(): void {
    const at = this.#text.findInPiece(NEXT_MARK, this.#at);
    this.#at = at === undefined ? this.#text.findPieceEnd(this.#at) : at + 1;
    if (at === undefined) return;
    const character = this.#text.getLetter(at);
    if (character === '"') this.#string = at;
    else if (character === '{' || character === '[') this.#depth += 1;
    else {
      this.#depth -= 1;
      if (this.#depth === 0) this.#add(this.#begun, this.#at);
    }
  }

  /** Goes on to the next part of the object or list itself. Returns whether that was its end. */
  #stepDirect(): boolean {
    const at = this.#text.findInPiece(WORD, this.#at);
    this.#at = at === undefined ? this.#text.findPieceEnd(this.#at) : at + 1;
    if (at === undefined) return false;
    const letter = this.#text.getLetter(at);
    if (letter === ',' || letter === ':') return false;
    if (at >= this.#node.end - 1) return true;
    if (letter === '{' || letter === '[') {
      this.#begun = at;
      this.#depth = 1;
    } else if (letter === '"') this.#string = at;
    else {
      this.#at = Math.max(at + 1, this.#text.find(LITERAL_END, at));
      this.#add(at, this.#at);
    }
    return false;
  }

  #add(start: number, end: number): void {
    const name = this.#node.kind === 'list' ? String(this.#count) : (this.#name ?? '');
    this.#count += 1;
    this.#name = undefined;
    if (this.found.length < this.#most)
      this.found.push({ start, end, kind: readKind(this.#text, start), name });
    else this.left += 1;
  }
}

/** Returns the name that a JSON string is, without its end where it is long. */
function readName(text: PiecedText, start: number, end: number): string {
  const json = text.getSlice(start, Math.min(end, start + LONGEST_NAME));
  return parseJsonString(end - start > LONGEST_NAME ? `${json}…` : json);
}

/** Returns the string of a JSON string, which may lack its end, or the text itself where it is none. */
export function parseJsonString(json: string): string {
  const whole = parseJsonOr(json, undefined);
  if (typeof whole === 'string') return whole;
  // An escape that was cut has at most six characters, and an odd number of backslashes begins it.
  const ends = [json, ...[1, 2, 3, 4, 5, 6].map((letters) => json.slice(0, -letters))].map((one) =>
    parseJsonOr(`${one}"`, undefined),
  );
  return ends.find((one) => typeof one === 'string') ?? json;
}
