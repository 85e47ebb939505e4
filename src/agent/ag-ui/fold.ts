import { AG_UI_VERSION } from '../../schema/agent/ag-ui.ts';
import { isObject, type Json } from '../../schema/json.ts';
import { parseEventName } from '../stream/event-name.ts';
import { ClientList } from './client-list.ts';
import { addEventOwner, type AgUiEvent, type RunOutcome } from './events.ts';
import { diffJson } from './json-patch.ts';
import {
  buildClientMessage,
  buildContentParts,
  findOpenCalls,
  readArguments,
  readCalls,
  readMessages,
  readContentText,
  type ClientMessage,
  type ReadCall,
  readString,
} from './messages.ts';
import { readPageState } from './page-state.ts';
import { StreamedMessages } from './streamed-messages.ts';
import { Subagents } from './subagents.ts';

/*
 * This file folds the events of protocol v2 of one run into events of AG-UI. It keeps the client's view, so
 * that a reader who comes late gets that as snapshots, and the end corrects the client only where it would be wrong.
 */

/** A run as its client names it, and the client's view when it asked for it. */
export type ClientView = {
  threadId: string;
  runId: string;
  state: unknown;
  messages: ClientMessage[];
  /** The client speaks a version from before 1.0, which knows neither agents within agents nor outcomes but two. */
  isOld: boolean;
};

/** The events of one run, folded in their order. */
export class AgUiFold {
  readonly #view: ClientView;
  readonly #list: ClientList;
  readonly #streamed: StreamedMessages;
  readonly #subagents: Subagents;
  /** How many tasks of a node are under way, by its name. */
  readonly #steps = new Map<string, number>();
  readonly #usage = { inputTokens: 0, outputTokens: 0 };
  #state: unknown;
  #isStateSent = false;

  constructor(view: ClientView) {
    this.#view = view;
    this.#list = new ClientList(view);
    this.#streamed = new StreamedMessages(this.#list);
    this.#subagents = new Subagents(view);
    this.#state = view.state ?? {};
  }

  begin(): AgUiEvent[] {
    const { threadId, runId } = this.#view;
    return [{ type: 'RUN_STARTED', threadId, runId, protocolVersion: AG_UI_VERSION }];
  }

  take(event: string, json: string): AgUiEvent[] {
    const { method, name, namespace } = parseEventName(event);
    const { data } = JSON.parse(json) as { data: Json };
    const owner = this.#subagents.findOwner(namespace);
    // The inner work of an agent is hidden from clients that could not tell it from the outer one's.
    if (owner !== undefined && this.#view.isOld && method !== 'lifecycle') return [];
    switch (method) {
      case 'messages':
        if (data['event'] === 'message-finish') this.#addUsage(data['usage']);
        return this.#streamed.take(namespace, data, owner);
      case 'tools':
        return this.#takeTool(data, owner);
      case 'values':
        return namespace.length === 0 ? this.#takeState(data) : [];
      case 'tasks':
        return namespace.length === 0 ? this.#takeTask(data) : [];
      case 'lifecycle':
        return this.#subagents.take(namespace, data, (id) => this.#streamed.closeAll(id));
      case 'custom':
        return this.#takeCustom(name, data, owner);
      default:
        return [];
    }
  }

  /** Returns whether the client's messages or state differ from those of a thread's state. */
  isWrong(values: unknown): boolean {
    return (
      this.#list.findCorrections(values).length > 0 ||
      (isObject(values) && diffJson(this.#state, readPageState(values)).length > 0)
    );
  }

  /** Ends the run. `values`: the state that the thread has now; the client's view is corrected where it differs. */
  end(outcome: RunOutcome, values: unknown): AgUiEvent[] {
    const { threadId, runId, isOld } = this.#view;
    const closed = this.#closeAll(outcome);
    const usage =
      this.#usage.inputTokens + this.#usage.outputTokens > 0 ? { usage: [{ ...this.#usage }] } : {};
    const finish = (more: Json): AgUiEvent => ({
      type: 'RUN_FINISHED',
      threadId,
      runId,
      ...more,
      ...usage,
    });
    const fail = (message: string, code: string): AgUiEvent => ({
      type: 'RUN_ERROR',
      message,
      code,
      ...usage,
    });
    const snapshots = this.#list.findCorrections(values).map(buildMessagesSnapshot);
    const before = [...closed, ...this.#applyState(values), ...snapshots];
    switch (outcome.type) {
      case 'error':
        return [...before, fail(outcome.message, outcome.code)];
      case 'interrupt':
        return [
          ...before,
          ...(isOld ? outcome.interrupts.map(askAsBefore) : []),
          finish({ outcome }),
        ];
      case 'cancelled':
        // Older clients know a run that was stopped by this code, which CopilotKit does not show as an error.
        return [...before, isOld ? fail('The run was stopped.', 'abort') : finish({ outcome })];
      default: {
        const pending = findOpenCalls(readMessages(values)).map(({ id }) => id);
        return [
          ...before,
          finish({
            outcome: {
              type: 'success',
              ...(pending.length > 0 && !isOld && { pendingToolCallIds: pending }),
            },
          }),
        ];
      }
    }
  }

  /** Returns the view by the events so far, for a client that has only `shown`, and opens the open messages again. */
  buildSnapshot(shown: ClientMessage[]): AgUiEvent[] {
    return [
      ...new ClientList({ messages: shown, isOld: this.#view.isOld })
        .planSnapshots(this.#list.read())
        .map(buildMessagesSnapshot),
      { type: 'STATE_SNAPSHOT', snapshot: this.#state },
      ...[...this.#steps]
        .filter(([, count]) => count > 0)
        .map(([stepName]): AgUiEvent => ({ type: 'STEP_STARTED', stepName })),
      ...this.#streamed.openAgain(),
    ];
  }

  #takeCustom(name: string | undefined, data: Json, owner: string | undefined): AgUiEvent[] {
    const isWhole = name === undefined || isPayload(data);
    const value = isWhole ? (data['payload'] ?? null) : data;
    const kind = name?.replace(/^copilotkit_/, '');
    if (kind !== undefined && isObject(value)) {
      const { id, message_id: messageId, message, name: tool, args } = value;
      if (kind === 'manually_emit_message' && typeof messageId === 'string')
        return this.#addDispatched({ id: messageId, owner }, readString(message));
      if (kind === 'manually_emit_tool_call' && typeof id === 'string' && !this.#list.hasCall(id))
        return this.#addCall(
          { id, name: readString(tool), args: readArguments(args) },
          undefined,
          owner,
        );
      if (kind === 'manually_emit_state' || kind === 'manually_emit_intermediate_state')
        return this.#applyState({ ...Object(this.#state), ...readPageState(value) });
    }
    return [addEventOwner({ type: 'CUSTOM', name: name ?? 'custom', value }, owner)];
  }

  /** Tells a message that the graph has dispatched, and that its state may not have. */
  #addDispatched(message: { id: string; owner: string | undefined }, delta: string): AgUiEvent[] {
    const { id: messageId, owner } = message;
    if (delta === '' || this.#list.has(messageId) || this.#streamed.isOpen(messageId)) return [];
    this.#list.append(message, 'assistant', delta);
    const events: AgUiEvent[] = [
      { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId, delta },
      { type: 'TEXT_MESSAGE_END', messageId },
    ];
    return events.map((event) => addEventOwner(event, owner));
  }

  #takeTool(data: Json, owner: string | undefined): AgUiEvent[] {
    const callId = data['tool_call_id'];
    if (typeof callId !== 'string' || callId === '') return [];
    if (data['event'] === 'tool-started' && !this.#list.hasCall(callId)) {
      const args = isObject(data['input']) ? data['input'] : {};
      return this.#addCall(
        { id: callId, name: readString(data['tool_name']), args },
        undefined,
        owner,
      );
    }
    if (data['event'] !== 'tool-finished') return [];
    return this.#addResult(callId, readToolOutput(data['output'], callId), owner);
  }

  /** Tells a call. Clients show one without a message in a message that has the call's id. */
  #addCall(
    { id, name, args }: ReadCall,
    parent: string | undefined,
    owner: string | undefined,
  ): AgUiEvent[] {
    const delta = JSON.stringify(args);
    const message = { id: parent ?? id, owner };
    this.#list.startCall(message, { id, name });
    this.#list.appendArguments(message.id, id, delta);
    this.#list.closeCall(id);
    const events: AgUiEvent[] = [
      {
        type: 'TOOL_CALL_START',
        toolCallId: id,
        toolCallName: name,
        ...(parent !== undefined && { parentMessageId: parent }),
      },
      { type: 'TOOL_CALL_ARGS', toolCallId: id, delta },
      { type: 'TOOL_CALL_END', toolCallId: id },
    ];
    return events.map((event) => addEventOwner(event, owner));
  }

  #addResult(toolCallId: string, given: unknown, owner: string | undefined): AgUiEvent[] {
    if (given === undefined || this.#list.isAnswered(toolCallId)) return [];
    const content = this.#view.isOld ? readContentText(given) : buildContentParts(given);
    const messageId = this.#list.addAnswer(toolCallId, content, owner);
    const result = { type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool' };
    return [addEventOwner(result, owner)];
  }

  #takeState(data: Json): AgUiEvent[] {
    return [
      ...readMessages(data).flatMap((message) => this.#addWholeMessage(message)),
      ...this.#applyState(data),
    ];
  }

  /** Tells a message that no model has streamed: a node has returned it. */
  #addWholeMessage(message: Json): AgUiEvent[] {
    const client = buildClientMessage(message, this.#list);
    if (client === undefined || this.#list.has(client.id) || this.#streamed.isOpen(client.id))
      return [];
    const { id: messageId, role, content, name } = client;
    const delta = readContentText(content);
    if (role === 'tool') return this.#addResult(readString(client['toolCallId']), delta, undefined);
    const calls = readCalls(message).filter(({ id }) => !this.#list.hasCall(id));
    if (delta === '' && calls.length === 0) return [];
    this.#list.add({ id: messageId, role, ...(delta !== '' && { content }) });
    const text: AgUiEvent[] = [
      { type: 'TEXT_MESSAGE_START', messageId, role, ...(typeof name === 'string' && { name }) },
      { type: 'TEXT_MESSAGE_CONTENT', messageId, delta },
      { type: 'TEXT_MESSAGE_END', messageId },
    ];
    return [
      ...(delta === '' ? [] : text),
      ...calls.flatMap((call) => this.#addCall(call, messageId, undefined)),
    ];
  }

  #applyState(values: unknown): AgUiEvent[] {
    if (!isObject(values)) return [];
    const after = readPageState(values);
    const delta = diffJson(this.#state, after);
    if (delta.length === 0) return [];
    const isFirst = !this.#isStateSent;
    this.#isStateSent = true;
    this.#state = after;
    const isShorter = JSON.stringify(after).length <= JSON.stringify(delta).length;
    return [
      isFirst || isShorter
        ? { type: 'STATE_SNAPSHOT', snapshot: after }
        : { type: 'STATE_DELTA', delta },
    ];
  }

  /** Tells the tasks of the graph as steps. Several tasks of a node at a time are one step. */
  #takeTask(data: Json): AgUiEvent[] {
    const stepName = readString(data['name']);
    const count = this.#steps.get(stepName) ?? 0;
    if (!('result' in data) && !('error' in data)) {
      this.#steps.set(stepName, count + 1);
      return count === 0 ? [{ type: 'STEP_STARTED', stepName }] : [];
    }
    this.#steps.set(stepName, Math.max(0, count - 1));
    return count === 1 ? [{ type: 'STEP_FINISHED', stepName }] : [];
  }

  #closeAll(outcome: RunOutcome): AgUiEvent[] {
    const messages = this.#streamed.closeAll();
    const steps = [...this.#steps]
      .filter(([, count]) => count > 0)
      .map(([stepName]): AgUiEvent => ({ type: 'STEP_FINISHED', stepName }));
    this.#steps.clear();
    return [...messages, ...this.#subagents.closeAll(outcome), ...steps];
  }

  #addUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    this.#usage.inputTokens += Number(usage['input_tokens'] ?? 0);
    this.#usage.outputTokens += Number(usage['output_tokens'] ?? 0);
  }
}

/** Returns whether an event has only its name and a payload, as those of channels and of LangChain's callbacks. */
const isPayload = (data: Json): boolean =>
  'payload' in data && Object.keys(data).every((key) => key === 'name' || key === 'payload');

const buildMessagesSnapshot = (messages: ClientMessage[]): AgUiEvent => ({
  type: 'MESSAGES_SNAPSHOT',
  messages,
});

/** Asks a question as pages from before outcomes know it: by the value that the graph has asked with. */
function askAsBefore(interrupt: Json): AgUiEvent {
  const { metadata } = interrupt as { metadata: { langgraph: { raw: unknown } } | undefined };
  return { type: 'CUSTOM', name: 'on_interrupt', value: metadata?.langgraph.raw ?? null };
}

/** Returns the content of a tool's output; undefined where that answers no call, such as a command. */
function readToolOutput(output: unknown, callId: string): unknown {
  if (typeof output === 'string') return output;
  if (!isObject(output))
    return output === undefined || output === null ? undefined : JSON.stringify(output);
  if (output['type'] === 'tool' || output['tool_call_id'] === callId) return output['content'];
  const update = isObject(output['update']) ? readMessages(output['update']) : [];
  return update.find((message) => message['tool_call_id'] === callId)?.['content'];
}
