import type { JsonChild, JsonNode } from './json-scan.ts';
import type { ScannedJson } from './json-text.ts';

/** A value that was found: its name, and the names of the values that it is in. */
export type FoundValue = { path: string; node: JsonChild };

const MOST = 100;
const DEEPEST = 30;
/** Letters that are searched at once. */
const AT_ONCE = 500_000;

type Search = { json: ScannedJson; word: string; found: FoundValue[]; signal: AbortSignal };

/** Returns the first values whose name or whose JSON has a word. It stops for the page every few milliseconds. */
export async function findInJson(
  json: ScannedJson,
  node: JsonNode,
  asked: { word: string; signal: AbortSignal },
): Promise<FoundValue[]> {
  const word = asked.word.toLowerCase();
  const search: Search = { json, word, found: [], signal: asked.signal };
  if (await hasWord(search, node)) await searchWithin(search, node, { path: '', depth: 0 });
  return search.found;
}

async function searchWithin(
  search: Search,
  node: JsonNode,
  { path, depth }: { path: string; depth: number },
): Promise<void> {
  const { json, word, found, signal } = search;
  for (const child of (await json.listChildren(node, signal)).found) {
    if (found.length >= MOST) return;
    const place = formatPlace(path, child.name, node.kind === 'list');
    const isNamed = node.kind !== 'list' && child.name.toLowerCase().includes(word);
    const hasParts = child.kind === 'object' || child.kind === 'list';
    const isWithin = await hasWord(search, child);
    if (isNamed || (isWithin && (!hasParts || depth >= DEEPEST)))
      found.push({ path: place, node: child });
    if (isWithin && hasParts && depth < DEEPEST)
      await searchWithin(search, child, { path: place, depth: depth + 1 });
    await json.pace.keep(signal);
  }
}

function formatPlace(path: string, name: string, isInList: boolean): string {
  if (isInList) return `${path}[${name}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** Returns whether the JSON of a value has the word. Slices overlap, so that none is missed between two. */
async function hasWord({ json, word, signal }: Search, { start, end }: JsonNode): Promise<boolean> {
  for (let at = start; at < end; at += AT_ONCE) {
    const slice = json.text.getSlice(at, Math.min(end, at + AT_ONCE + word.length));
    if (slice.toLowerCase().includes(word)) return true;
    await json.pace.keep(signal);
  }
  return false;
}
