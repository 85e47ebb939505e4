import { Conflict, Problem, Rejected } from '../../errors.ts';
import { toThreadTtl } from '../../schema/agent/expiry.ts';
import type { Thread, ThreadCreate } from '../../schema/agent/thread.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { deleteRequestKey } from '../db/base/idempotency-keys.ts';
import { copyThread } from '../db/threads/thread-copies.ts';
import {
  deleteThreads,
  getThread,
  insertThreadOnce,
  type NewThread,
} from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { createId } from '../kernel/ids.ts';
import { runOnlyOnce, refuseGone } from '../runs/making/only-once.ts';
import type { RequestKey } from '../kernel/request-key.ts';
import { applySupersteps } from './thread-state.ts';

/** Who asks, and the key of the request, where it is carried out once. */
type Asker = { caller: AgentCaller; key: RequestKey | undefined };

/** Makes a thread, or returns the one that the same request made before. Throws a 410 when that is gone. */
export const createThreadOnce = (
  deps: AgentDeps,
  body: ThreadCreate,
  asker: Asker,
): Promise<Thread> =>
  runOnlyOnce(deps.db, asker.key, {
    make: () => create(deps, body, asker),
    again: ([id]) => loadEarlierThread(deps, id!, asker),
  });

/** Copies a thread, or returns the copy that the same request made before. Throws a 410 when that is gone. */
export const copyThreadOnce = (deps: AgentDeps, threadId: string, asker: Asker): Promise<Thread> =>
  runOnlyOnce(deps.db, asker.key, {
    make: () => copyThreadOfCaller(deps, threadId, asker),
    again: ([id]) => loadEarlierThread(deps, id!, asker),
  });

async function loadEarlierThread(
  { db }: AgentDeps,
  thread_id: string,
  { caller }: Asker,
): Promise<Thread> {
  const { permits } = await askPermission(caller, 'threads:read', { thread_id });
  return (await getThread(db, thread_id, permits)) ?? refuseGone('The thread');
}

async function copyThreadOfCaller(
  { db }: AgentDeps,
  thread_id: string,
  { caller, key }: Asker,
): Promise<Thread> {
  const { permits: seen } = await askPermission(caller, 'threads:read', { thread_id });
  const copyId = createId();
  const { value } = await askPermission(caller, 'threads:create', {
    thread_id: copyId,
    metadata: {},
    if_exists: 'raise',
  });
  const copied = await copyThread(db, thread_id, { copyId, labels: value.metadata, seen, key });
  if (copied === undefined)
    throw new Conflict(`Thread with ID ${thread_id} can't be copied: it is not there.`);
  return copied;
}

async function create(
  deps: AgentDeps,
  body: ThreadCreate,
  { caller, key }: Asker,
): Promise<Thread> {
  const asked = {
    thread_id: body.thread_id ?? createId(),
    metadata: body.metadata ?? {},
    if_exists: body.if_exists ?? 'raise',
  };
  const { value, permits } = await askPermission(caller, 'threads:create', asked);
  const { thread_id: id, metadata } = value;
  const steps = body.supersteps ?? [];
  const graphId = metadata['graph_id'];
  if (steps.length > 0 && typeof graphId !== 'string')
    throw new Rejected('supersteps: metadata.graph_id must name the graph.');
  const thread = await insertOnce(
    deps,
    { thread_id: id, metadata, ttl: toThreadTtl(body.ttl) },
    key,
  );
  if (thread === undefined) {
    const existing =
      value.if_exists === 'do_nothing' ? await getThread(deps.db, id, permits) : undefined;
    if (existing === undefined) throw new Conflict(`Thread with ID ${id} already exists`);
    return existing;
  }
  if (steps.length === 0) return thread;
  await applySupersteps(deps, {
    thread_id: id,
    graph_id: graphId as string,
    supersteps: steps,
  }).catch((error: unknown) => removeUnfinished(deps, { id, key }, error));
  return (await getThread(deps.db, id)) ?? thread;
}

const insertOnce = (
  { db, batched }: AgentDeps,
  thread: NewThread,
  key: RequestKey | undefined,
): Promise<Thread | undefined> =>
  key === undefined ? batched.insertThread(thread) : insertThreadOnce(db, thread, key);

/**
 * Removes a thread whose history could not be written, so that the caller may send the same again. Throws the original
 * error.
 */
async function removeUnfinished(
  { db }: AgentDeps,
  made: { id: string; key: RequestKey | undefined },
  failure: unknown,
): Promise<never> {
  if (made.key !== undefined) await deleteRequestKey(db, made.key).catch(() => undefined);
  const gone = await deleteThreads(db, [made.id]).then(
    () => true,
    () => false,
  );
  if (gone || !(failure instanceof Problem)) throw failure;
  throw new Problem(
    failure.status,
    `${failure.message} The thread ${made.id} was made, and has no state.`,
    { cause: failure },
  );
}
