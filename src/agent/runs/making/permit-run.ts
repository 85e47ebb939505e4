import type { RunCreate } from '../../../schema/agent/run.ts';
import { askPermission, type AgentCaller } from '../../auth/caller.ts';
import type { Patterns } from '../../db/base/permits.ts';
import { buildSystemAssistantId, createId } from '../../kernel/ids.ts';
import { mayCreateThread } from './kwargs.ts';
import type { PermittedRequest, RequestDeps, RunRequest } from './request.ts';

/* This file asks whether a caller may make a run. */

/** The fields of a run that handlers see as its `kwargs`. */
const KWARGS = [
  'input',
  'command',
  'config',
  'context',
  'webhook',
  'stream_mode',
  'interrupt_before',
  'interrupt_after',
  'feedback_keys',
] as const;

/**
 * Gives a run its ids, and asks the caller's handlers of `threads:create_run`, and of `assistants:read` unless the
 * assistant is a graph's own. Throws their refusal.
 */
export async function permitRun(
  { graphs }: RequestDeps,
  request: RunRequest,
  assistantId: string,
): Promise<PermittedRequest> {
  const { body, threadId } = request;
  const { caller } = request.call;
  const runId = createId();
  const ownThreadId = threadId ?? createId();
  const ids = { runId, ownThreadId, assistantId };
  if (caller.guard === undefined) return { ...request, ...ids, permits: undefined };
  const assistant = await permitAssistant({ caller, graphs }, assistantId);
  const asked = await askPermission(caller, 'threads:create_run', {
    run_id: runId,
    thread_id: threadId ?? null,
    assistant_id: assistantId,
    status: 'pending',
    ...toRunFields(body),
  });
  return {
    ...request,
    ...ids,
    body: applyRunFields(body, asked.value),
    permits: { assistant, thread: asked.permits },
  };
}

/** Asks the caller's handlers of `assistants:read`, unless the assistant is a graph's own. Throws their refusal. */
export async function permitAssistant(
  { caller, graphs }: { caller: AgentCaller; graphs: string[] },
  assistantId: string,
): Promise<Patterns> {
  if (graphs.some((graph) => buildSystemAssistantId(graph) === assistantId)) return undefined;
  return (
    await askPermission(caller, 'assistants:read', { assistant_id: assistantId, metadata: {} })
  ).permits;
}

type Described = Required<
  Pick<RunCreate, 'multitask_strategy' | 'if_not_exists' | 'after_seconds'>
> & {
  metadata: Record<string, unknown>;
  prevent_insert_if_inflight: boolean;
  kwargs: Partial<RunCreate>;
};

const toRunFields = (body: RunCreate): Described => ({
  metadata: body.metadata ?? {},
  prevent_insert_if_inflight: body.multitask_strategy === 'reject',
  multitask_strategy: body.multitask_strategy ?? 'enqueue',
  if_not_exists: mayCreateThread(body) ? 'create' : 'reject',
  after_seconds: body.after_seconds ?? 0,
  kwargs: Object.fromEntries(
    KWARGS.map((name) => [
      name,
      body[name] ?? (name === 'config' || name === 'context' ? {} : null),
    ]),
  ),
});

function applyRunFields(
  body: RunCreate,
  { metadata, multitask_strategy, if_not_exists, after_seconds, kwargs }: Described,
): RunCreate {
  const { on_not_exist: _other, ...rest } = body;
  return { ...rest, metadata, multitask_strategy, if_not_exists, after_seconds, ...kwargs };
}
