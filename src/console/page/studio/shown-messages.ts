import { listMessageFiles, type ShownFile } from './message-files.ts';
import { isObject } from '../../../schema/json.ts';
import { toItems, toText } from './agent-answers.ts';
import { describeMessageTokens } from './usage-text.ts';

/* Messages in the state of a thread, in the forms that LangChain's libraries store. */

export type ShownToolCall = {
  id: string;
  name: string;
  input: string;
  result: string | undefined;
  failed: boolean;
};

export type ShownMessage = {
  key: string;
  /** Its own id; empty where it has none. */
  id: string;
  /** Its place among all messages. */
  at: number;
  speaker: 'human' | 'agent' | 'system' | 'tool';
  who: string;
  text: string;
  reasoning: string;
  calls: ShownToolCall[];
  files: ShownFile[];
  /** The tokens that it says it took. */
  tokens?: string;
};

type Fields = Record<string, unknown>;

const listFields = (fields: Fields, name: string): Fields[] =>
  toItems(fields[name]).filter(isObject);

/** A map has none of the names that every object of the language has. */
const WHO = new Map(
  Object.entries({
    human: 'User',
    user: 'User',
    ai: 'Agent',
    assistant: 'Agent',
    AIMessageChunk: 'Agent',
    system: 'System',
    developer: 'System',
    tool: 'Tool',
    function: 'Tool',
  }),
);

/** Returns the name of a message's form: that of its type, or of its role. */
const readForm = (message: Fields): string => toText(message['type']) || toText(message['role']);

const SPEAKERS: Record<string, ShownMessage['speaker']> = {
  User: 'human',
  Agent: 'agent',
  System: 'system',
  Tool: 'tool',
};

/**
 * Returns messages as people read them, each tool's answer beside its call. An answer to a call that is not there
 * stands for itself, and a message of no known form is passed over.
 */
export function toShownMessages(messages: readonly unknown[]): ShownMessage[] {
  const list = messages.map((one) => (isObject(one) && WHO.has(readForm(one)) ? one : undefined));
  const known = list.filter((one) => one !== undefined);
  const answers = new Map(
    known
      .filter((one) => WHO.get(readForm(one)) === 'Tool')
      .map((one) => [toText(one['tool_call_id']), one]),
  );
  const called = new Set(
    known.flatMap((one) => listFields(one, 'tool_calls').map((call) => toText(call['id']))),
  );
  return list.flatMap((one, index) => {
    if (
      one === undefined ||
      (WHO.get(readForm(one)) === 'Tool' && called.has(toText(one['tool_call_id'])))
    )
      return [];
    return [toShownMessage(one, index, answers)];
  });
}

/** Messages, and letters of them, that are shown. A browser that lays out more does nothing else for a while. */
const MOST = 200;
const MOST_LETTERS = 40_000;
/** Letters of one text that are shown. */
const LONGEST = 8000;

/** Returns a text that is shown, without its end where it is long. */
export const trimShownText = (text: string): string =>
  text.length > LONGEST
    ? `${text.slice(0, LONGEST).replace(/[\uD800-\uDBFF]$/, '')} … (${text.length} letters)`
    : text;

const countLetters = ({ text, reasoning, calls }: ShownMessage): number =>
  [text, reasoning, ...calls.flatMap(({ input, result = '' }) => [input, result])]
    .map((one) => Math.min(one.length, LONGEST))
    .reduce((sum, letters) => sum + letters, 0);

/** Returns the last messages, as many as can be shown at once, and how many stand before them. */
export function takeLastMessages(messages: readonly unknown[]): {
  first: number;
  shown: ShownMessage[];
} {
  const first = Math.max(0, messages.length - MOST);
  const last = toShownMessages(messages.slice(first));
  let letters = 0;
  const tooMuch = last.findLastIndex((one) => (letters += countLetters(one)) > MOST_LETTERS);
  // The last one is shown in any case.
  const kept = last[Math.min(tooMuch + 1, last.length - 1)];
  if (tooMuch < 0 || kept === undefined) return { first, shown: last };
  return { first: first + kept.at, shown: toShownMessages(messages.slice(first + kept.at)) };
}

function toShownMessage(
  message: Fields,
  index: number,
  answers: ReadonlyMap<string, Fields>,
): ShownMessage {
  const { text, reasoning } = readParts(message['content']);
  const extra = isObject(message['additional_kwargs'])
    ? toText(message['additional_kwargs']['reasoning_content'])
    : '';
  const tokens = describeMessageTokens(message['usage_metadata']);
  return {
    ...(tokens !== undefined && { tokens }),
    key: toText(message['id']) || String(index),
    id: toText(message['id']),
    at: index,
    speaker: SPEAKERS[WHO.get(readForm(message)) ?? ''] ?? 'system',
    who: toText(message['name']) || WHO.get(readForm(message))!,
    text,
    reasoning: [reasoning, extra].filter((one) => one !== '').join('\n'),
    files: listMessageFiles(message['content']),
    calls: listFields(message, 'tool_calls').map((call) =>
      toShownCall(call, answers.get(toText(call['id']))),
    ),
  };
}

const toShownCall = (call: Fields, answer: Fields | undefined): ShownToolCall => ({
  id: toText(call['id']),
  name: toText(call['name']),
  input:
    typeof call['args'] === 'string'
      ? call['args']
      : JSON.stringify(call['args'] ?? {}, undefined, 2),
  result: answer === undefined ? undefined : readParts(answer['content']).text,
  failed: answer !== undefined && toText(answer['status']) === 'error',
});

const REASONING = ['reasoning', 'thinking', 'reasoning_content'];
/** Parts that stand elsewhere in the message, too. */
const REPEATED = ['tool_use', 'tool_call', 'input_json_delta'];

/** Returns the text of a content, which is one itself, or a list of parts. A part of another kind is named. */
function readParts(content: unknown): { text: string; reasoning: string } {
  if (typeof content === 'string') return { text: content, reasoning: '' };
  const parts = Array.isArray(content) ? content : [content];
  const reasons = parts.filter(
    (part) => isObject(part) && REASONING.includes(toText(part['type'])),
  );
  const texts = parts.filter((part) => !reasons.includes(part)).flatMap(readPartText);
  return {
    text: texts.join('\n'),
    reasoning: reasons
      .map(readReason)
      .filter((one) => one !== '')
      .join('\n'),
  };
}

/** Returns the text of a part. One that is shown otherwise has none, and one of an unknown kind is named. */
function readPartText(part: unknown): string[] {
  if (typeof part === 'string') return [part];
  if (!isObject(part)) return [];
  const type = toText(part['type']);
  if (type === 'text') return [toText(part['text'])];
  return REPEATED.includes(type) || listMessageFiles([part]).length > 0
    ? []
    : [`[${type || 'part'}]`];
}

const readReason = (part: Fields): string =>
  [
    toText(part['reasoning']),
    toText(part['thinking']),
    toText(part['text']),
    ...listFields(part, 'summary').map((one) => toText(one['text'])),
  ]
    .filter((one) => one !== '')
    .join('\n');
