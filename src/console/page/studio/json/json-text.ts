import { Pace } from './pace.ts';
import { PiecedText } from './pieced-text.ts';
import {
  ChildScan,
  readRootNode,
  parseJsonString,
  type JsonChild,
  type JsonNode,
} from './json-scan.ts';
import { parseJsonOr } from '../../../../schema/json.ts';

/** Letters between two looks at the clock. */
const LETTERS = 20_000;
/** Values of one object or list that are shown. */
const MOST = 10_000;
/** Letters of a value that is too long to be shown. */
const BEGINNING = 20_000;
/** Letters that are parsed at once. */
const PARSED_AT_ONCE = 1_000_000;

/** Values within one, and how many more there are. */
export type JsonChildren = { found: JsonChild[]; left: number };

/** A JSON of any size, which is looked into without making objects of it. */
export class ScannedJson {
  readonly text: PiecedText;
  readonly root: JsonNode;
  /** That of all work with this JSON. */
  readonly pace = new Pace();

  constructor(text: string | PiecedText) {
    this.text = typeof text === 'string' ? PiecedText.splitText(text) : text;
    this.root = readRootNode(this.text);
  }

  /** Returns the values within one. It stops for the page every few milliseconds. */
  async listChildren(node: JsonNode, signal?: AbortSignal, most = MOST): Promise<JsonChildren> {
    const scan = new ChildScan(this.text, node, most);
    while (!scan.step(LETTERS)) await this.pace.keep(signal);
    // Many small ones in a row take long, too.
    await this.pace.keep(signal);
    return { found: scan.found, left: scan.left };
  }

  async findChild(
    node: JsonNode | undefined,
    name: string,
    signal?: AbortSignal,
  ): Promise<JsonChild | undefined> {
    if (node?.kind !== 'object') return undefined;
    return (await this.listChildren(node, signal)).found.findLast((one) => one.name === name);
  }

  getSlice({ start, end }: JsonNode): string {
    return this.text.getSlice(start, end);
  }

  listSlices({ start, end }: JsonNode): string[] {
    return [...this.text.listSlices(start, end)];
  }

  /** Returns the beginning of a value, and how long it is. */
  formatBeginning(node: JsonNode, most = BEGINNING): string {
    const { start, end, kind } = node;
    const cut = this.text.getSlice(start, Math.min(end, start + most));
    const words = kind === 'text' ? parseJsonString(cut) : cut;
    return end - start > most ? `${words} … (${end - start} letters)` : words;
  }

  /** Returns a small value; undefined for a large one, or one that is no JSON. */
  parseSmall(node: JsonNode | undefined, most = PARSED_AT_ONCE): unknown {
    if (node === undefined || node.end - node.start > most) return undefined;
    return parseJsonOr(this.getSlice(node), undefined);
  }
}
