import { filesOf, type ShownFile } from './files.ts';

/** A message as the server sends it: whole, or a piece (`AIMessageChunk`) of one that is still being written. */
export type Message = {
  id?: string | null;
  type: string;
  content: string | Block[];
  name?: string | null;
  tool_calls?: { id?: string | null; name: string; args: unknown }[];
  tool_call_chunks?: ToolCallChunk[];
  tool_call_id?: string;
  status?: string;
};
type Block = { type?: string; text?: string };
type ToolCallChunk = { index?: number; id?: string | null; name?: string | null; args?: string | null };

/** A question with which a graph waits for a person. */
export type OpenQuestion = { id?: string; value: unknown };

export type Conversation = {
  messages: Message[];
  /** The rest of the graph's state. */
  state: Record<string, unknown>;
  questions: OpenQuestion[];
  error: string | undefined;
};

export const EMPTY: Conversation = { messages: [], state: {}, questions: [], error: undefined };

type Values = Record<string, unknown> | null | undefined;

/** Returns the conversation that a whole state of the thread shows, whatever came before. */
export function withState(
  now: Conversation,
  { values, tasks = [] }: { values: Values; tasks?: { interrupts?: OpenQuestion[] }[] },
): Conversation {
  return { ...now, ...ofValues(values), questions: tasks.flatMap(({ interrupts = [] }) => interrupts) };
}

/** Returns the beginning of a thread when it is opened: why its last run failed, if it did. */
export const opened = ({ status, error }: { status: string; error?: unknown }): Conversation =>
  status === 'error' ? { ...EMPTY, error: sentenceOf(error) } : EMPTY;

/** Returns the conversation after one event of a run's stream. */
export function withEvent(now: Conversation, { event, data }: { event: string; data: unknown }): Conversation {
  // An earlier attempt of the run began this message, and it is sent again.
  if (event === 'metadata') return { ...now, messages: now.messages.filter((message) => !isPiece(message)) };
  if (event === 'values') return { ...now, ...ofValues(data as Values, now.messages) };
  if (event === 'messages') return { ...now, messages: withMessage(now.messages, (data as [Message])[0]) };
  if (event === 'error') return { ...now, error: sentenceOf(data) };
  return now;
}

/** Returns the conversation while a new run begins, with `sent` as its first message. */
export const withSent = (now: Conversation, sent?: Message): Conversation => ({
  ...now,
  messages: sent === undefined ? now.messages : [...now.messages, sent],
  questions: [],
  error: undefined,
});

export function sentenceOf(data: unknown): string {
  if (typeof data === 'string') return data;
  const { error, message } = (data ?? {}) as { error?: string; message?: string };
  return [error, message].filter((part) => part !== undefined && part !== '').join(': ') || 'The run failed.';
}

/** Keeps a message that is still being written when the state comes, because it is not in the state yet. */
function ofValues(values: Values, before: Message[] = []): Pick<Conversation, 'messages' | 'state'> {
  const { messages: given, __interrupt__: _, ...state } = values ?? {};
  const messages = Array.isArray(given) ? (given as Message[]) : [];
  const underWay = before.filter((message) => isPiece(message) && !messages.some(({ id }) => id === message.id));
  return { messages: [...messages, ...underWay], state };
}

const isPiece = ({ type }: Message): boolean => type === 'AIMessageChunk';

function withMessage(messages: Message[], next: Message): Message[] {
  const at = messages.findIndex(({ id }) => id !== undefined && id !== null && id === next.id);
  if (at < 0) return [...messages, next];
  const before = messages[at]!;
  // Pieces of a whole message come once more when a reader joins a run late.
  if (isPiece(next) && !isPiece(before)) return messages;
  return messages.with(at, isPiece(next) ? joined(before, next) : next);
}

const joined = (before: Message, next: Message): Message => ({
  ...before,
  content: textOf(before) + textOf(next),
  tool_call_chunks: [...(before.tool_call_chunks ?? []), ...(next.tool_call_chunks ?? [])],
});

/** Returns the text of a message, without the parts that are not text. */
export const textOf = ({ content }: Message): string =>
  typeof content === 'string'
    ? content
    : content.map(({ type, text }) => (type === 'text' || type === undefined ? (text ?? '') : '')).join('');

export type ToolUse = { id: string; name: string; args: string; result: string | undefined; failed: boolean };
/** One message as it is shown; a tool is shown with its answer. */
export type Entry = { id: string; speaker: 'you' | 'agent' | 'system' | 'tool'; text: string; files: ShownFile[]; tools: ToolUse[] };

/** Returns the entries of a conversation as they are shown, in order. */
export function entriesOf({ messages }: Conversation): Entry[] {
  const answers = new Map(messages.filter(({ type }) => type === 'tool').map((message) => [message.tool_call_id, message]));
  const asked = new Set(messages.flatMap((message) => callsOf(message).map(({ id }) => id)));
  return messages
    .filter((message) => message.type !== 'tool' || !asked.has(message.tool_call_id ?? ''))
    .map((message, index) => ({
      id: message.id ?? `${index}`,
      speaker: speakerOf(message.type),
      text: textOf(message),
      files: filesOf(message.content),
      tools: callsOf(message).map((call) => toolUse(call, answers.get(call.id))),
    }))
    .filter(({ text, files, tools }) => text !== '' || files.length > 0 || tools.length > 0);
}

const toolUse = (call: { id: string; name: string; args: string }, answer: Message | undefined): ToolUse => ({
  ...call,
  result: answer && textOf(answer),
  failed: answer?.status === 'error',
});

function speakerOf(type: string): Entry['speaker'] {
  if (type === 'human' || type === 'user') return 'you';
  if (type === 'tool' || type === 'function') return 'tool';
  return type === 'system' ? 'system' : 'agent';
}

function callsOf({ type, tool_calls: calls = [], tool_call_chunks: chunks = [] }: Message): { id: string; name: string; args: string }[] {
  if (type !== 'AIMessageChunk')
    return calls.map(({ id, name, args }, index) => ({ id: id ?? `${index}`, name, args: JSON.stringify(args, null, 2) }));
  const indices = [...new Set(chunks.map(({ index = 0 }) => index))];
  return indices.map((wanted) => {
    const own = chunks.filter(({ index = 0 }) => index === wanted);
    const first = (field: 'id' | 'name'): string => own.map((chunk) => chunk[field]).find((value) => typeof value === 'string') ?? '';
    return { id: first('id'), name: first('name'), args: own.map(({ args }) => args ?? '').join('') };
  });
}
