import { Invalid, Rejected } from '../../errors.ts';
import type { JsonObject } from '../../schema/agent-types.ts';
import type { RunCreate, RunKwargs } from '../../schema/run.ts';
import type { RunContext } from '../db/runs.ts';
import type { StreamMode } from '../../schema/stream-event.ts';

type Ids = { run_id: string; thread_id: string };

const object = (value: unknown): JsonObject => (value ?? {}) as JsonObject;

/** Fields whose function is not built are refused by name: dropping them silently would change what was asked for. */
export function checkFields(body: RunCreate): void {
  const refuse = (field: string, msg: string): never => {
    throw new Invalid([{ loc: ['body', field], msg, type: 'not_supported' }]);
  };
  if (body.webhook) refuse('webhook', 'Webhooks are not supported by this server yet');
  if (body.feedback_keys && body.feedback_keys.length > 0) refuse('feedback_keys', 'Feedback is not supported by this server yet');
  const configurable = object(body.config?.['configurable']);
  if (body.context && Object.keys(body.context).length > 0 && Object.keys(configurable).length > 0)
    throw new Rejected('context: Cannot specify both configurable and context. Prefer setting context alone.');
}

/** The call that a run stands for (pure): the assistant's configuration, the thread's, then the request's. */
export function runKwargs(body: RunCreate, from: RunContext, ids: Ids & { temporary: boolean }): RunKwargs {
  return {
    input: body.input ?? null,
    command: body.command ?? null,
    config: { ...from.config, ...body.config, configurable: configurableOf(body, from, ids), metadata: runMetadata(body, from) },
    context: contextOf(body, from),
    stream_mode: streamModes(body.stream_mode),
    interrupt_before: someNodes(body.interrupt_before),
    interrupt_after: someNodes(body.interrupt_after),
    webhook: null,
    feedback_keys: null,
    temporary: ids.temporary,
    subgraphs: body.stream_subgraphs === true,
    resumable: body.stream_resumable === true,
    checkpoint_during: body.checkpoint_during ?? null,
    durability: body.durability ?? (body.checkpoint_during === false ? 'exit' : 'async'),
  };
}

function configurableOf(body: RunCreate, from: RunContext, { run_id, thread_id }: Ids): JsonObject {
  const { checkpoint_ns, checkpoint_id, checkpoint_map } = object(body.checkpoint);
  const place = Object.entries({ checkpoint_ns, checkpoint_id: body.checkpoint_id ?? checkpoint_id, checkpoint_map });
  return {
    ...object(from.config['configurable']),
    ...object(from.thread_config?.['configurable']),
    ...object(body.config?.['configurable']),
    ...Object.fromEntries(place.filter(([, value]) => value !== undefined && value !== null)),
    run_id,
    thread_id,
    graph_id: from.graph_id,
    assistant_id: from.assistant_id,
  };
}

export function runMetadata(body: RunCreate, from: RunContext): JsonObject {
  return {
    ...from.metadata,
    ...from.thread_metadata,
    ...object(body.config?.['metadata']),
    ...body.metadata,
    assistant_id: from.assistant_id,
    graph_id: from.graph_id,
  };
}

function contextOf(body: RunCreate, from: RunContext): JsonObject | null {
  const context = { ...from.context, ...body.context };
  return Object.keys(context).length > 0 ? context : null;
}

const someNodes = (nodes: '*' | string[] | null | undefined): '*' | string[] | null => (nodes && nodes.length > 0 ? nodes : null);

const streamModes = (mode: RunCreate['stream_mode']): StreamMode[] => {
  const modes = [mode ?? 'values'].flat();
  return modes.length > 0 ? [...new Set(modes)] : ['values'];
};
