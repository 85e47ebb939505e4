import type { ShownState } from '../agent-answers.ts';
import { stateOfAnswer } from '../agent-answers.ts';
import type { JsonChild, JsonNode } from './json-scan.ts';
import { breathe, type ScannedJson } from './json-text.ts';

/** Milliseconds of parsing before the page does something else. */
const SLICE = 12;
/** Letters of a message, or of a question, that are parsed at once. Of a longer one its long fields are cut. */
const LONGEST = 200_000;
/** Messages of a thread. */
const MOST_MESSAGES = 200_000;

/** Reads the state of a thread a message at a time, so that the page goes on, however large the state is. */
export async function slicedState(json: ScannedJson, signal?: AbortSignal): Promise<ShownState> {
  const fields = await shortFields(json, json.root, signal);
  const values = await json.child(json.root, 'values', signal);
  const messages = await partsOf(json, await json.child(values, 'messages', signal), signal);
  const interrupts = await partsOf(json, await json.child(json.root, 'interrupts', signal), signal);
  return stateOfAnswer({ ...fields, messages, interrupts });
}

/** Returns the fields of an object that are parsed at once; the beginning of a text that is too long for that. */
export async function shortFields(json: ScannedJson, node: JsonNode, signal?: AbortSignal): Promise<Record<string, unknown>> {
  const { found } = await json.children(node, signal);
  return Object.fromEntries(found.filter(({ name }) => name !== 'values').map((one) => [one.name, shortOf(json, one)]));
}

const shortOf = (json: ScannedJson, node: JsonChild): unknown => json.small(node, LONGEST) ?? json.beginning(node);

/** Returns the parts of a list, each cut where it is long. */
async function partsOf(json: ScannedJson, list: JsonNode | undefined, signal?: AbortSignal): Promise<unknown[]> {
  if (list?.kind !== 'list') return [];
  const parts: unknown[] = [];
  let since = performance.now();
  for (const node of (await json.children(list, signal, MOST_MESSAGES)).found) {
    parts.push(node.end - node.start > LONGEST && node.kind === 'object' ? await shortFields(json, node, signal) : shortOf(json, node));
    if (performance.now() - since < SLICE) continue;
    await breathe();
    signal?.throwIfAborted();
    since = performance.now();
  }
  return parts;
}
