import { NotFound } from '../../../errors.ts';
import type { Json } from '../../../schema/json.ts';
import { loadVersionSettings } from '../../db/assistants/assistants.ts';
import { hasCheckpoint } from '../../db/checkpoints/stored-checkpoints.ts';
import type { Db } from '../../db/base/pool.ts';
import { loadGuardedRunContext, type RunPermits } from '../../db/runs/guarded-run-context.ts';
import type { RunContextKey } from '../../db/runs/runs.ts';
import { resolveAssistantId } from '../../kernel/ids.ts';
import { readRequestedCheckpoint } from './kwargs.ts';
import type { AskedContext, PermittedRequest, PlannedContext, RequestDeps } from './request.ts';

type CheckpointKey = Parameters<typeof hasCheckpoint>[1];

/* The facts that a run takes from its assistant, the version of it, and its thread. */

/** Asks for the facts beside other things that a request needs. */
export const askContext = (
  { batched, graphs }: RequestDeps,
  assistant: string,
  threadId: string,
): AskedContext =>
  batched.runContext({ assistantId: resolveAssistantId(assistant, graphs), threadId });

/** Returns the run's facts. Throws `NotFound` where the caller may not use them, or where something is not there. */
export async function loadContext(
  deps: RequestDeps,
  { body, assistantId, ownThreadId: threadId, permits }: PermittedRequest,
  asked: AskedContext | undefined,
): Promise<PlannedContext> {
  const found = await loadRunContext(deps, { assistantId, threadId }, permits, asked);
  const { assistant_version: version } = body;
  const isOther = version !== undefined && version !== null && version !== found.version;
  const settings = isOther
    ? await loadVersionSettings(deps.db, { assistantId: found.assistant_id, version })
    : {};
  if (settings === undefined)
    throw new NotFound(`Assistant ${found.assistant_id} has no version ${version}.`);
  const checkpoint = findCheckpointKey(threadId, readRequestedCheckpoint(body));
  if (checkpoint !== undefined && !(await hasCheckpoint(deps.db, checkpoint)))
    throw buildMissingCheckpoint(checkpoint);
  return { ...found, ...settings };
}

/** Returns the facts of assistant and thread. Throws `NotFound` where the caller may not use them. */
export async function loadRunContext(
  { db, batched }: RequestDeps,
  key: RunContextKey,
  permits: RunPermits | undefined,
  asked?: AskedContext,
): Promise<PlannedContext> {
  const found =
    permits === undefined
      ? await (asked ?? batched.runContext(key))
      : await loadGuardedRunContext(db, key, permits);
  if (found === undefined || ('refused' in found && found.refused))
    throw new NotFound('Thread or assistant not found.');
  return found;
}

/**
 * Throws `NotFound` for a checkpoint that the thread does not have, because a graph that continues from it would
 * silently start from nothing.
 */
export async function checkCheckpoint(db: Db, threadId: string, named: Json): Promise<void> {
  const checkpoint = findCheckpointKey(threadId, named);
  if (checkpoint !== undefined && !(await hasCheckpoint(db, checkpoint)))
    throw buildMissingCheckpoint(checkpoint);
}

const findCheckpointKey = (
  threadId: string,
  { checkpoint_id, checkpoint_ns }: Json,
): CheckpointKey | undefined =>
  typeof checkpoint_id === 'string' && checkpoint_id !== ''
    ? [threadId, typeof checkpoint_ns === 'string' ? checkpoint_ns : '', checkpoint_id]
    : undefined;

const buildMissingCheckpoint = ([threadId, , checkpointId]: CheckpointKey): NotFound =>
  new NotFound(`Thread with ID ${threadId} has no checkpoint ${checkpointId}`);
