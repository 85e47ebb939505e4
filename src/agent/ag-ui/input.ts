import { isDeepStrictEqual } from 'node:util';
import type { AgUiMessage, RunAgentInput } from '../../schema/agent/ag-ui.ts';
import { isObject, type Json } from '../../schema/json.ts';
import { buildGraphMessage, findOpenCalls, readContentText } from './messages.ts';
import { isPageField } from './page-state.ts';

/*
 * This file decides what of a request is new to the thread. Clients send the whole conversation each time; messages are
 * compared by their ids, and never by their number.
 */

/**
 * The messages that a run brings. `before`: the id of the message before which it begins, where one is repeated.
 * `answer`: they answer calls that wait for the page, or come `late`, with another answer than the thread has.
 */
export type MessageChange = { messages: Json[]; before?: string; answer?: 'awaited' | 'late' };

/** The answer with which CopilotKit's middleware marks a call that the page is to carry out. */
const PLACEHOLDER = 'forwarded_to_frontend';

const isPlaceholder = (message: Json): boolean =>
  readContentText(message['content']).includes(PLACEHOLDER);

/**
 * Returns the new messages of a request. `known`: those of the thread's state. `isBusy`: a run is under way on the
 * thread, and the words of its agent reach the state without the client.
 */
export function planMessages(
  given: readonly AgUiMessage[],
  known: readonly Json[],
  { isBusy }: { isBusy: boolean },
): MessageChange {
  const all = given
    .map((message, at) => ({ message, graph: buildGraphMessage(message, at) }))
    .filter(
      ({ message }) =>
        !message.subagentRunId &&
        !(isBusy && (message.role === 'assistant' || message.role === 'reasoning')),
    );
  if (known.length === 0) return { messages: attachReasoning(all) };
  const byId = new Map(known.map((message) => [message['id'], message]));
  const answers = new Map(
    known
      .filter(({ type }) => type === 'tool')
      .map((message) => [message['tool_call_id'], message]),
  );
  const isKnown = ({ message }: { message: AgUiMessage }): boolean =>
    message.role === 'tool' ? answers.has(message.toolCallId) : byId.has(message.id);

  const edited = all.findIndex(({ message, graph }) => {
    const before = byId.get(message.id);
    return (
      message.role === 'user' &&
      before !== undefined &&
      !isDeepStrictEqual(readContentText(before['content']), readContentText(graph?.['content']))
    );
  });
  if (edited !== -1)
    return { messages: attachReasoning(all.slice(edited)), before: all[edited]!.message.id };

  const spoken = all.filter(({ graph }) => graph !== undefined);
  const lastKnown = spoken.findLastIndex(isKnown);
  const fresh = spoken
    .slice(lastKnown + 1)
    .filter(({ message }) => message.role !== 'system' && message.role !== 'developer');
  // A page answers calls in place of the middleware, whose answer keeps its own id.
  const replaced = spoken.flatMap(({ message, graph }) => {
    const before = message.role === 'tool' ? answers.get(message.toolCallId) : undefined;
    return before !== undefined && isPlaceholder(before) && !isPlaceholder(graph!)
      ? [{ ...graph, id: before['id'] }]
      : [];
  });
  const messages = [...replaced, ...removeCutCalls(fresh.map(({ graph }) => graph!))];
  const last = spoken.at(-1);
  if (messages.length > 0) {
    const open = new Set<unknown>(findOpenCalls([...known]).map(({ id }) => id));
    const isAwaited =
      replaced.length > 0 || fresh.some(({ message }) => open.has(message.toolCallId));
    return { messages, ...(isAwaited && { answer: 'awaited' }) };
  }
  if (last?.message.role === 'tool') {
    const before = answers.get(last.message.toolCallId);
    const isOther =
      readContentText(before?.['content']) !== readContentText(last.graph!['content']);
    return { messages, ...(isOther && { answer: 'late' }) };
  }
  const isAgain =
    last?.message.role === 'user' && known.at(-1)?.['id'] !== last.message.id && isKnown(last);
  return isAgain ? { messages: [last.graph!], before: last.message.id } : { messages };
}

/**
 * Returns the messages without calls that nobody answers, which are those of a stream that was cut: no model goes on
 * from a call without an answer.
 */
function removeCutCalls(messages: Json[]): Json[] {
  const open = new Set(findOpenCalls(messages).map(({ id }) => id));
  return messages.flatMap((message) => {
    if (message['type'] !== 'ai' || open.size === 0) return [message];
    const { tool_calls: asked = [], ...rest } = message;
    const tool_calls = (asked as Json[]).filter(({ id }) => !open.has(id as string));
    if (tool_calls.length > 0) return [{ ...rest, tool_calls }];
    return readContentText(rest['content']) === '' ? [] : [rest];
  });
}

/** Returns the messages, with reasoning as a block of the assistant's message that it led to. */
function attachReasoning(all: { message: AgUiMessage; graph: Json | undefined }[]): Json[] {
  let reasoning: Json[] = [];
  return all.flatMap(({ message, graph }) => {
    if (message.role === 'reasoning') {
      const sealed = message.encryptedValue
        ? { extras: { signature: message.encryptedValue } }
        : {};
      reasoning.push({ type: 'reasoning', reasoning: readContentText(message.content), ...sealed });
      return [];
    }
    if (graph === undefined) return [];
    if (message.role !== 'assistant' || reasoning.length === 0) return [graph];
    const { content } = graph;
    const text =
      typeof content === 'string'
        ? content === ''
          ? []
          : [{ type: 'text', text: content }]
        : (content as Json[]);
    const whole = {
      ...graph,
      content: [...reasoning, ...text],
      response_metadata: { output_version: 'v1' },
    };
    reasoning = [];
    return [whole];
  });
}

/** Returns the names of the fields that the input schema of a graph describes; undefined where nothing tells them. */
export function readFields(schema: unknown): string[] | undefined {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  return isObject(properties) ? Object.keys(properties) : undefined;
}

/**
 * Returns the part of the page's state that is input: fields that differ from the thread's values, and that the graph's
 * input schema names. A value that is equal would be added once more by a reducer.
 */
export function planState(state: unknown, values: unknown, fields: string[] | undefined): Json {
  if (!isObject(state)) return {};
  const before = isObject(values) ? values : {};
  return Object.fromEntries(
    Object.entries(state).filter(
      ([key, value]) =>
        isPageField(key) &&
        (fields === undefined || fields.includes(key)) &&
        !isDeepStrictEqual(value, before[key]),
    ),
  );
}

/** Returns tools and context of the page where graphs find them: in `configurable`, and under the bridge's names. */
export function planPageFields(
  { tools, context, forwardedProps }: RunAgentInput,
  fields: string[] | undefined,
): { configurable: Json; input: Json } {
  const page = { tools: tools ?? [], context: context ?? [] };
  const asFunctions = page.tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: {
      name,
      description: description ?? '',
      parameters: parameters ?? { type: 'object', properties: {} },
    },
  }));
  const byName: Json = {
    tools: asFunctions,
    copilotkit: { actions: asFunctions, context: page.context },
    'ag-ui': page,
  };
  const input = Object.fromEntries(Object.entries(byName).filter(([key]) => fields?.includes(key)));
  return { configurable: { 'ag-ui': { ...page, forwarded_props: forwardedProps ?? {} } }, input };
}
