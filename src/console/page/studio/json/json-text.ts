import { parsedOr } from '../parsed-or.ts';
import { ChildScan, rootNode, textIn, type JsonChild, type JsonNode } from './json-scan.ts';

/** Milliseconds of work before the page does something else. */
const SLICE = 12;
/** Letters between two looks at the clock. */
const LETTERS = 50_000;
/** Values of one object or list that are shown. */
const MOST = 10_000;
/** Letters of a value that is too long to be shown. */
const BEGINNING = 20_000;
/** Letters that are parsed at once. */
const PARSED_AT_ONCE = 1_000_000;

/** Values within one, and how many more there are. */
export type JsonChildren = { found: JsonChild[]; left: number };

/** Lets the page do something else. */
export function breathe(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve);
  return promise;
}

/** A JSON of any size, which is looked into without making objects of it. */
export class ScannedJson {
  readonly text: string;
  readonly root: JsonNode;

  constructor(text: string) {
    this.text = text;
    this.root = rootNode(text);
  }

  /** Returns the values within one. It stops for the page every few milliseconds. */
  async children(node: JsonNode, signal?: AbortSignal, most = MOST): Promise<JsonChildren> {
    const scan = new ChildScan(this.text, node, most);
    let since = performance.now();
    while (!scan.step(LETTERS)) {
      if (performance.now() - since < SLICE) continue;
      await breathe();
      signal?.throwIfAborted();
      since = performance.now();
    }
    return { found: scan.found, left: scan.left };
  }

  /** Returns the value of this name within the object. */
  async child(node: JsonNode | undefined, name: string, signal?: AbortSignal): Promise<JsonChild | undefined> {
    if (node?.kind !== 'object') return undefined;
    return (await this.children(node, signal)).found.findLast((one) => one.name === name);
  }

  /** Returns the text of a value as it was sent. */
  slice({ start, end }: JsonNode): string {
    return this.text.slice(start, end);
  }

  /** Returns the beginning of a value, and how long it is. */
  beginning(node: JsonNode, most = BEGINNING): string {
    const { start, end, kind } = node;
    const cut = this.text.slice(start, Math.min(end, start + most));
    const words = kind === 'text' ? textIn(cut) : cut;
    return end - start > most ? `${words} … (${end - start} letters)` : words;
  }

  /** Returns a small value; undefined for a large one, or one that is no JSON. */
  small(node: JsonNode | undefined, most = PARSED_AT_ONCE): unknown {
    if (node === undefined || node.end - node.start > most) return undefined;
    return parsedOr(this.slice(node), undefined);
  }
}
