import { filesOf, type ShownFile } from './message-files.ts';
import { isObject } from '../../../schema/json.ts';
import { listOf, textOf } from './agent-answers.ts';

/* Messages in the state of a thread, in the forms that LangChain's libraries store. */

/** A call of a tool, with its result where there is one. */
export type ShownToolCall = { id: string; name: string; input: string; result: string | undefined; failed: boolean };

/** A message as people read it. */
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
};

type Fields = Record<string, unknown>;

const fieldsAt = (fields: Fields, name: string): Fields[] => listOf(fields[name]).filter(isObject);

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
const formOf = (message: Fields): string => textOf(message['type']) || textOf(message['role']);

const SPEAKERS: Record<string, ShownMessage['speaker']> = { User: 'human', Agent: 'agent', System: 'system', Tool: 'tool' };

/**
 * Returns messages as people read them, each tool's answer beside its call. An answer to a call that is not there
 * stands for itself, and a message of no known form is passed over.
 */
export function shownMessages(messages: readonly unknown[]): ShownMessage[] {
  const list = messages.map((one) => (isObject(one) && WHO.has(formOf(one)) ? one : undefined));
  const known = list.filter((one) => one !== undefined);
  const answers = new Map(known.filter((one) => WHO.get(formOf(one)) === 'Tool').map((one) => [textOf(one['tool_call_id']), one]));
  const called = new Set(known.flatMap((one) => fieldsAt(one, 'tool_calls').map((call) => textOf(call['id']))));
  return list.flatMap((one, index) => {
    if (one === undefined || (WHO.get(formOf(one)) === 'Tool' && called.has(textOf(one['tool_call_id'])))) return [];
    return [shown(one, index, answers)];
  });
}

/** Messages, and letters of them, that are shown. A browser that lays out more does nothing else for a while. */
const MOST = 200;
const MOST_LETTERS = 40_000;
/** Letters of one text that are shown. */
const LONGEST = 8000;

/** Returns a text that is shown, without its end where it is long. */
export const cutText = (text: string): string =>
  text.length > LONGEST ? `${text.slice(0, LONGEST).replace(/[\uD800-\uDBFF]$/, '')} … (${text.length} letters)` : text;

const lettersOf = ({ text, reasoning, calls }: ShownMessage): number =>
  [text, reasoning, ...calls.flatMap(({ input, result = '' }) => [input, result])]
    .map((one) => Math.min(one.length, LONGEST))
    .reduce((sum, letters) => sum + letters, 0);

/** Returns the last messages, as many as can be shown at once, and how many stand before them. */
export function lastMessages(messages: readonly unknown[]): { first: number; shown: ShownMessage[] } {
  const first = Math.max(0, messages.length - MOST);
  const last = shownMessages(messages.slice(first));
  let letters = 0;
  const tooMuch = last.findLastIndex((one) => (letters += lettersOf(one)) > MOST_LETTERS);
  // The last one is shown in any case.
  const kept = last[Math.min(tooMuch + 1, last.length - 1)];
  if (tooMuch < 0 || kept === undefined) return { first, shown: last };
  return { first: first + kept.at, shown: shownMessages(messages.slice(first + kept.at)) };
}

function shown(message: Fields, index: number, answers: ReadonlyMap<string, Fields>): ShownMessage {
  const { text, reasoning } = partsOf(message['content']);
  const extra = isObject(message['additional_kwargs']) ? textOf(message['additional_kwargs']['reasoning_content']) : '';
  return {
    key: textOf(message['id']) || String(index),
    id: textOf(message['id']),
    at: index,
    speaker: SPEAKERS[WHO.get(formOf(message)) ?? ''] ?? 'system',
    who: textOf(message['name']) || WHO.get(formOf(message))!,
    text,
    reasoning: [reasoning, extra].filter((one) => one !== '').join('\n'),
    files: filesOf(message['content']),
    calls: fieldsAt(message, 'tool_calls').map((call) => shownCall(call, answers.get(textOf(call['id'])))),
  };
}

const shownCall = (call: Fields, answer: Fields | undefined): ShownToolCall => ({
  id: textOf(call['id']),
  name: textOf(call['name']),
  input: typeof call['args'] === 'string' ? call['args'] : JSON.stringify(call['args'] ?? {}, undefined, 2),
  result: answer === undefined ? undefined : partsOf(answer['content']).text,
  failed: answer !== undefined && textOf(answer['status']) === 'error',
});

const REASONING = ['reasoning', 'thinking', 'reasoning_content'];
/** Parts that stand elsewhere in the message, too. */
const REPEATED = ['tool_use', 'tool_call', 'input_json_delta'];

/** Returns the text of a content, which is one itself, or a list of parts. A part of another kind is named. */
function partsOf(content: unknown): { text: string; reasoning: string } {
  if (typeof content === 'string') return { text: content, reasoning: '' };
  const parts = Array.isArray(content) ? content : [content];
  const reasons = parts.filter((part) => isObject(part) && REASONING.includes(textOf(part['type'])));
  const texts = parts.filter((part) => !reasons.includes(part)).flatMap(textOfPart);
  return {
    text: texts.join('\n'),
    reasoning: reasons
      .map(reasonIn)
      .filter((one) => one !== '')
      .join('\n'),
  };
}

/** Returns the text of a part. One that is shown otherwise has none, and one of an unknown kind is named. */
function textOfPart(part: unknown): string[] {
  if (typeof part === 'string') return [part];
  if (!isObject(part)) return [];
  const type = textOf(part['type']);
  if (type === 'text') return [textOf(part['text'])];
  return REPEATED.includes(type) || filesOf([part]).length > 0 ? [] : [`[${type || 'part'}]`];
}

const reasonIn = (part: Fields): string =>
  [
    textOf(part['reasoning']),
    textOf(part['thinking']),
    textOf(part['text']),
    ...fieldsAt(part, 'summary').map((one) => textOf(one['text'])),
  ]
    .filter((one) => one !== '')
    .join('\n');
