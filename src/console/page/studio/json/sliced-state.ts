import {
  toShownState,
  toStudioCheckpoint,
  toText,
  listTaskNamespaces,
  type ShownState,
  type TimedStep,
} from '../agent-answers.ts';
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
export async function readPastSteps(json: ScannedJson, signal?: AbortSignal): Promise<TimedStep[]> {
  const steps: TimedStep[] = [];
  for (const state of (await json.listChildren(json.root, signal)).found) {
    const messages = await json.findChild(
      await json.findChild(state, 'values', signal),
      'messages',
      signal,
    );
    const { found } =
      messages === undefined ? { found: [] } : await json.listChildren(messages, signal);
    const step = toStudioCheckpoint(await readShortFields(json, state, signal));
    const tasks = listTaskNamespaces(json.parseSmall(await json.findChild(state, 'tasks', signal)));
    const { id, parent, madeAt, next } = step;
    const [run, source] = [toText(step.metadata['run_id']), toText(step.metadata['source'])];
    steps.push({ id, parent, messages: found.length, tasks, madeAt, run, source, next });
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

/** Letters of a picture or a file that a message brings, which is one string and quickly parsed. */
const LONGEST_FILE = 10_000_000;
const FILES = ['image', 'image_url', 'file', 'audio', 'video'];

/** Reads a long message. Pictures and files in it are whole; of its long texts the beginning is read. */
async function readLongMessage(
  json: ScannedJson,
  node: JsonNode,
  signal: AbortSignal | undefined,
): Promise<Record<string, unknown>> {
  const fields = await readShortFields(json, node, signal);
  const content = await json.findChild(node, 'content', signal);
  if (content?.kind !== 'list') return fields;
  const parts: unknown[] = [];
  for (const part of (await json.listChildren(content, signal)).found) {
    const type = json.parseSmall(await json.findChild(part, 'type', signal));
    const isFile = typeof type === 'string' && FILES.includes(type);
    const whole = isFile ? json.parseSmall(part, LONGEST_FILE) : undefined;
    parts.push(whole ?? (await readLongPart(json, part, signal)));
    await json.pace.keep(signal);
  }
  return { ...fields, content: parts };
}

const readLongPart = async (
  json: ScannedJson,
  part: JsonChild,
  signal: AbortSignal | undefined,
): Promise<unknown> =>
  part.kind === 'object' && part.end - part.start > LONGEST
    ? readShortFields(json, part, signal)
    : parseShort(json, part);

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
          ? await readLongMessage(json, node, signal)
          : parseShort(json, node),
      );
    await json.pace.keep(signal);
  }
  return parts;
}
