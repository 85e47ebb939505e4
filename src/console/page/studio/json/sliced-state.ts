import type { PastStep, ShownState } from '../agent-answers.ts';
import { toShownState, toStudioCheckpoint, listTaskNamespaces } from '../agent-answers.ts';
import type { JsonChild, JsonNode } from './json-scan.ts';
import type { ScannedJson } from './json-text.ts';

/** Letters of a message, or of a question, that are parsed at once. Of a longer one its long fields are cut. */
const LONGEST = 200_000;
/** Messages of a thread. */
const MOST_MESSAGES = 200_000;

/** Messages that are read whole, the last ones: more than the page shows. Of those before them, it needs the ids. */
const WHOLE_MESSAGES = 250;

/** Reads the state of a thread a message at a time, so that the page goes on, however large the state is. */
export async function readSlicedState(
  json: ScannedJson,
  signal?: AbortSignal,
): Promise<ShownState> {
  const fields = await readShortFields(json, json.root, signal);
  const values = await json.findChild(json.root, 'values', signal);
  const messages = await readParts(json, await json.findChild(values, 'messages', signal), {
    whole: WHOLE_MESSAGES,
    signal,
  });
  const interrupts = await readParts(json, await json.findChild(json.root, 'interrupts', signal), {
    whole: Infinity,
    signal,
  });
  return toShownState({ ...fields, messages, interrupts });
}

/** Reads the steps of a history, of whose states only the number of messages is taken. */
export async function readPastSteps(json: ScannedJson, signal?: AbortSignal): Promise<PastStep[]> {
  const steps: PastStep[] = [];
  for (const state of (await json.listChildren(json.root, signal)).found) {
    const messages = await json.findChild(
      await json.findChild(state, 'values', signal),
      'messages',
      signal,
    );
    const { found } =
      messages === undefined ? { found: [] } : await json.listChildren(messages, signal);
    const { id, parent } = toStudioCheckpoint(await readShortFields(json, state, signal));
    const tasks = listTaskNamespaces(json.parseSmall(await json.findChild(state, 'tasks', signal)));
    steps.push({ id, parent, messages: found.length, tasks });
  }
  return steps;
}

/** Returns the fields of an object that are parsed at once; the beginning of a text that is too long for that. */
export async function readShortFields(
  json: ScannedJson,
  node: JsonNode,
  signal?: AbortSignal,
): Promise<Record<string, unknown>> {
  const { found } = await json.listChildren(node, signal);
  return Object.fromEntries(
    found.filter(({ name }) => name !== 'values').map((one) => [one.name, parseShort(json, one)]),
  );
}

const parseShort = (json: ScannedJson, node: JsonChild): unknown =>
  json.parseSmall(node, LONGEST) ?? json.formatBeginning(node);

async function readParts(
  json: ScannedJson,
  list: JsonNode | undefined,
  {
    whole,
    signal,
  }: {
    /** How many of the last parts are read; of those before them only the ids are. */
    whole: number;
    signal: AbortSignal | undefined;
  },
): Promise<unknown[]> {
  if (list?.kind !== 'list') return [];
  const parts: unknown[] = [];
  const { found } = await json.listChildren(list, signal, MOST_MESSAGES);
  for (const [at, node] of found.entries()) {
    if (at < found.length - whole)
      parts.push({ id: json.parseSmall(await json.findChild(node, 'id', signal)) });
    else
      parts.push(
        node.end - node.start > LONGEST && node.kind === 'object'
          ? await readShortFields(json, node, signal)
          : parseShort(json, node),
      );
    await json.pace.keep(signal);
  }
  return parts;
}
