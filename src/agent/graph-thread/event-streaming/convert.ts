import type { EventPlace } from '../../stream/event-name.ts';
import { isChunk, isMessage, toPlainMessage } from '../serialise.ts';
import type { Chunk } from '../events.ts';
import { buildMessageEvents } from './content-blocks.ts';
import { GraphsUnderWay, type GraphStatus, type LifecycleEvent } from './graphs-under-way.ts';
import { MessageParts, type EventsOfMessage } from './message-parts.ts';
import { isObject, parseJsonOr, type Json } from '../../../schema/json.ts';

/* This file converts the chunks that LangGraph streams to events of protocol v2. */

/** `node` is the node that the event comes from. `whole`: messages in the data keep all their fields. */
export type ProtocolEvent = EventPlace & { data: unknown; node?: string | undefined; whole?: true };

/** The modes to ask LangGraph for; LangGraph itself adds one small `checkpoints` chunk before each state. */
export const PROTOCOL_MODES = ['values', 'updates', 'messages', 'tools', 'custom', 'tasks'];

const INTERRUPT = '__interrupt__';

/**
 * Converts the chunks of one run to events. It remembers which graphs are under way, and which interrupts it has sent.
 */
export class ProtocolEventsOfRun {
  readonly #graphs = new GraphsUnderWay();
  readonly #asked = new Set<string>();
  readonly #parts = new MessageParts();

  convertChunk({ namespace, mode, payload }: Chunk): ProtocolEvent[] {
    switch (mode) {
      case 'messages':
        return this.#convertMessage(namespace, payload as [unknown, Json]);
      case 'tools':
        return this.#convertTool(namespace, payload as Json);
      case 'custom':
        return [buildCustomEvent(namespace, payload)];
      default:
        this.#graphs.addGraph(namespace);
        return this.#convertGraphEvent(namespace, mode, payload as Json);
    }
  }

  end(status: GraphStatus): ProtocolEvent[] {
    return [...this.#endMessages([]), ...this.#graphs.end(status).map(toLifecycleEvent)];
  }

  /** Returns the events for a run that goes on elsewhere: the messages end that are cut off, and no graph does. */
  leave(): ProtocolEvent[] {
    return this.#endMessages([]);
  }

  #convertGraphEvent(namespace: string[], method: string, payload: Json): ProtocolEvent[] {
    switch (method) {
      case 'values':
      case 'updates': {
        const { [INTERRUPT]: interrupts, ...data } = isObject(payload) ? payload : {};
        const event: ProtocolEvent = {
          method,
          namespace,
          data: isObject(payload) ? data : payload,
        };
        // A state that says only that the graph waits is not sent.
        const isEmpty =
          method === 'values' && interrupts !== undefined && Object.keys(data).length === 0;
        return [...(isEmpty ? [] : [event]), ...this.#toInputEvents(namespace, interrupts)];
      }
      case 'tasks':
        return [
          ...this.#endTask(namespace, payload),
          { method, namespace, data: payload },
          ...this.#graphs.noteTask(namespace, payload).map(toLifecycleEvent),
        ];
      case 'checkpoints':
        return [{ method, namespace, data: toEnvelope(payload) }];
      default:
        return [];
    }
  }

  #toInputEvents(namespace: string[], interrupts: unknown): ProtocolEvent[] {
    if (!Array.isArray(interrupts)) return [];
    const fresh = (interrupts as { id?: string; value?: unknown }[]).filter(
      ({ id }) => id !== undefined && !this.#asked.has(id),
    );
    for (const { id } of fresh) this.#asked.add(id!);
    return fresh.map(({ id, value }) => ({
      method: 'input.requested',
      namespace,
      data: { interrupt_id: id, payload: value ?? null },
    }));
  }

  #convertMessage(task: string[], [data, metadata]: [unknown, Json]): ProtocolEvent[] {
    const node = metadata?.['langgraph_node'] as string | undefined;
    const namespace = this.#graphs.findGraph(task);
    // Models of one graph stream at the same time, and clients tell their messages apart by the model's run.
    const { run_id } = metadata ?? {};
    const buildEvent = (part: Json): ProtocolEvent => ({
      method: 'messages',
      namespace,
      data: run_id === undefined ? part : { ...part, run_id },
      node,
    });
    if (isMessage(data))
      return this.#convertOlderMessage(task, data, node).map((one) =>
        addPageMetadata(one, metadata),
      );
    const part = data as Json;
    if (part['event'] === 'message-start')
      return [addPageMetadata(buildEvent({ role: 'ai', ...part }), metadata)];
    if (part['event'] !== 'message-finish') return [buildEvent(part)];
    const { responseMetadata, ...rest } = part;
    return [
      buildEvent(
        isObject(responseMetadata) && Object.keys(responseMetadata).length > 0
          ? { ...rest, metadata: responseMetadata }
          : rest,
      ),
    ];
  }

  /** Converts from LangGraph.js up to 1.2, which streams messages and their parts, not their blocks. */
  #convertOlderMessage(
    task: string[],
    message: Parameters<typeof toPlainMessage>[0],
    node: string | undefined,
  ): ProtocolEvent[] {
    const plain = toPlainMessage(message);
    const { id, type, content } = plain;
    if (isChunk(message)) return this.#buildMessageEvents(this.#parts.add(task, plain), node);
    const ended = this.#parts.endMessage(id);
    if (ended !== undefined) return this.#buildMessageEvents(ended, node);
    return this.#buildMessageEvents(
      { id, task, events: buildMessageEvents(content, { role: toRole(type), id }) },
      node,
    );
  }

  #endMessages(task: string[]): ProtocolEvent[] {
    return this.#parts.endTask(task).flatMap((one) => this.#buildMessageEvents(one));
  }

  /** Ends the messages of a task, because they end with the task that streams them. */
  #endTask(namespace: string[], payload: Json): ProtocolEvent[] {
    const isOver = 'result' in payload || 'error' in payload;
    return isOver
      ? this.#endMessages([...namespace, `${String(payload['name'])}:${String(payload['id'])}`])
      : [];
  }

  /**
   * Returns events of a message with the model's run, by which clients tell messages of one graph apart. With an older
   * LangGraph, only the message's id tells that run.
   */
  #buildMessageEvents({ id, task, events }: EventsOfMessage, given?: string): ProtocolEvent[] {
    const namespace = this.#graphs.findGraph(task);
    const node = given ?? task.at(-1)?.split(':')[0];
    return events.map((part) => ({
      method: 'messages',
      namespace,
      data: { ...part, run_id: id },
      node,
    }));
  }

  #convertTool(task: string[], payload: Json): ProtocolEvent[] {
    const namespace = this.#graphs.findGraph(task);
    const id = (payload['toolCallId'] ?? '') as string;
    const buildEvent = (data: Json): ProtocolEvent => ({
      method: 'tools',
      namespace,
      data: { ...data, tool_call_id: id },
      whole: true,
    });
    switch (payload['event']) {
      case 'on_tool_start':
        this.#graphs.addTool(task, id);
        return [
          buildEvent({
            event: 'tool-started',
            tool_name: payload['name'] ?? 'unknown',
            input: parseInput(payload['input']),
          }),
        ];
      case 'on_tool_event':
        return [buildEvent({ event: 'tool-output-delta', delta: toText(payload['data']) })];
      case 'on_tool_error':
        this.#graphs.removeTool(task, id);
        return [
          buildEvent({
            event: 'tool-error',
            message: (payload['error'] as Error | undefined)?.message ?? String(payload['error']),
          }),
        ];
      case 'on_tool_end':
        this.#graphs.removeTool(task, id);
        return [
          buildEvent({ event: 'tool-finished', output: payload['output'] ?? null }),
          ...buildToolMessage(namespace, id, payload['output']),
        ];
      default:
        return [];
    }
  }
}

/** Keys in the metadata of a model by which a graph tells how pages show its message. */
const PAGE_METADATA = [
  'predict_state',
  'emit-messages',
  'emit-tool-calls',
  'copilotkit:emit-messages',
  'copilotkit:emit-tool-calls',
  'copilotkit:emit-intermediate-state',
];

/** Adds these words to the event with which a message begins. */
function addPageMetadata(event: ProtocolEvent, metadata: Json | undefined): ProtocolEvent {
  const data = event.data as Json;
  if (data['event'] !== 'message-start') return event;
  const names = PAGE_METADATA.filter((name) => name in (metadata ?? {}));
  if (names.length === 0) return event;
  const page = Object.fromEntries(names.map((name) => [name, metadata![name]]));
  const own = data['metadata'] as Json | undefined;
  return { ...event, data: { ...data, metadata: { ...own, ...page } } };
}

const toLifecycleEvent = ({ namespace, data }: LifecycleEvent): ProtocolEvent => ({
  method: 'lifecycle',
  namespace,
  data,
});

const toRole = (type: unknown): string =>
  ['human', 'system', 'tool'].includes(type as string) ? (type as string) : 'ai';

/** Returns a custom event. A payload with a name is that of its own channel, `custom:<name>`. */
function buildCustomEvent(namespace: string[], payload: unknown): ProtocolEvent {
  const name =
    isObject(payload) && typeof payload['name'] === 'string' ? payload['name'] : undefined;
  return { method: 'custom', name, namespace, data: name === undefined ? { payload } : payload };
}

/** Returns a checkpoint's place in the history; its state is in the `values` beside it. */
function toEnvelope(payload: Json): Json {
  if (typeof payload['id'] === 'string') return payload;
  const { config, parentConfig, metadata } = payload as Record<
    'config' | 'parentConfig' | 'metadata',
    Json | undefined
  >;
  const getCheckpointId = (from: Json | undefined): unknown =>
    (from?.['configurable'] as Json | undefined)?.['checkpoint_id'];
  const parent = getCheckpointId(parentConfig);
  return {
    id: getCheckpointId(config),
    ...(parent !== undefined && { parent_id: parent }),
    step: metadata?.['step'],
    source: metadata?.['source'],
  };
}

/** Returns the arguments of a tool as an object, as clients expect them, although they come as JSON text. */
const parseInput = (input: unknown): unknown =>
  typeof input === 'string' ? parseJsonOr(input, input) : input;

const toText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value ?? '') ?? '');

/** Tells a tool's answer as a message, under the namespace of its call, because pages show calls there. */
function buildToolMessage(namespace: string[], callId: string, output: unknown): ProtocolEvent[] {
  const message = findToolMessage(output, callId);
  if (message === undefined) return [];
  const head = { role: 'tool', id: message['id'] ?? `tool-${callId}`, tool_call_id: callId };
  const place = { method: 'messages', namespace: [...namespace, `tools:${callId}`] };
  return buildMessageEvents(message['content'], head, { metadata: {} }).map((data) => ({
    ...place,
    data,
  }));
}

/** Returns the tool's message: the output itself, or the message within the update of a command. */
function findToolMessage(output: unknown, callId: string): Json | undefined {
  if (isMessage(output)) return toPlainMessage(output);
  const messages =
    isObject(output) && isObject(output['update']) ? output['update']['messages'] : undefined;
  if (!Array.isArray(messages)) return undefined;
  return messages
    .filter(isMessage)
    .map(toPlainMessage)
    .find((message) => message['tool_call_id'] === callId);
}
