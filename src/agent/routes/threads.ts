import type { IncomingHttpHeaders } from 'node:http';
import { Type } from 'typebox';
import { NotFound } from '../../errors.ts';
import { answerJson, answerNoContent, bindRoutes } from '../../http/routes/route.ts';
import { toThreadTtl } from '../../schema/agent/expiry.ts';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import {
  Thread,
  ThreadCount,
  ThreadCreate,
  ThreadPatch,
  ThreadPrune,
  ThreadQuery,
  ThreadSearch,
} from '../../schema/agent/thread.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { keepLatestCheckpoints } from '../db/threads/checkpoint-pruning.ts';
import { loadCheckpointStorage } from '../db/threads/checkpoint-upkeep.ts';
import { selectActive } from '../db/runs/runs.ts';
import { countThreads, searchThreads } from '../db/threads/thread-search.ts';
import { loadThreadTtl } from '../db/threads/thread-expiry.ts';
import { deleteThreads, getThread, patchThread, loadThreadHead } from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { readIdempotencyKey } from '../kernel/request-key.ts';
import { cancelRuns } from '../runs/executing/cancel.ts';
import { copyThreadOnce, createThreadOnce } from './new-threads.ts';
import {
  goneAgain,
  describeAnswer,
  buildPage,
  refused,
  ThreadPath,
  buildAgentRoutes,
} from './route.ts';

const route = buildAgentRoutes<[AgentDeps]>('threads');

const buildNotFound = (id: string): NotFound => new NotFound(`Thread with ID ${id} not found`);

/** Returns whether the caller prefers less. `Prefer` is a list (RFC 7240), and may come several times. */
const isMinimalPreferred = (headers: IncomingHttpHeaders): boolean =>
  [headers['prefer'] ?? []]
    .flat()
    .join(',')
    .split(',')
    .some((one) => /^\s*return\s*=\s*"?minimal"?\s*(;|$)/i.test(one));

async function prune(
  deps: AgentDeps,
  { thread_ids, strategy }: { thread_ids: string[]; strategy?: 'delete' | 'keep_latest' },
  caller: AgentCaller,
): Promise<number> {
  const { permits } = await askPermission(caller, 'threads:delete', {
    thread_ids,
    strategy: strategy ?? 'delete',
  });
  if (strategy !== 'keep_latest') {
    for (const thread_id of thread_ids)
      await cancelRuns(
        deps,
        (tx) => selectActive(tx, { thread_id, permitted: permits }),
        'interrupt',
      );
    return (await deleteThreads(deps.db, thread_ids, permits)).length;
  }
  let count = 0;
  for (const id of thread_ids) {
    if (await keepLatestCheckpoints(deps.db, id, permits)) count += 1;
  }
  return count;
}

/** Returns the selected fields, and the values picked by path (`values.messages[-1].content`) under their aliases. */
function pickFields(thread: Partial<Thread>, { select, extract }: ThreadSearch): object {
  const record = thread as Record<string, unknown>;
  const shown =
    select && select.length > 0
      ? Object.fromEntries(select.map((name) => [name, record[name]]))
      : record;
  const found = Object.entries(extract ?? {}).map(([alias, path]) => [
    alias,
    getAtPath(record, path),
  ]);
  return { ...shown, extracted: Object.fromEntries(found) as object };
}

function getAtPath(record: unknown, path: string): unknown {
  const parts = path.replaceAll(/\[(-?\d+)\]/g, '.$1').split('.');
  return (
    parts.reduce<unknown>((value, part) => {
      if (Array.isArray(value) && /^-?\d+$/.test(part))
        return (value as unknown[]).at(Number(part));
      return (value as Record<string, unknown> | null | undefined)?.[part];
    }, record) ?? null
  );
}

export const threadRoutes = bindRoutes([
  route.post('/threads', {
    id: 'create_thread',
    summary: 'Create a thread',
    access: 'write',
    headers: OnceHeaders,
    body: ThreadCreate,
    bodyOptional: true,
    answers: {
      200: describeAnswer('The thread.', Thread),
      409: { description: 'The id is taken.' },
      ...refused,
      ...goneAgain,
    },
    handler: async ({ body, caller, headers }, deps) => {
      const key = readIdempotencyKey(
        headers,
        { identity: caller.identity, route: 'threads' },
        body,
      );
      return answerJson(await createThreadOnce(deps, body, { caller, key }));
    },
  }),
  route.post('/threads/search', {
    id: 'search_threads',
    summary: 'Search threads by metadata, state and status',
    access: 'read',
    body: ThreadSearch,
    selects: true,
    bodyOptional: true,
    answers: {
      200: describeAnswer(
        'Threads, or the selected fields of them.',
        Type.Array(Type.Partial(Thread)),
      ),
      ...refused,
    },
    handler: async ({ body: asked, caller }, deps) => {
      const { value: body, permits } = await askPermission(caller, 'threads:search', {
        ...asked,
        metadata: asked.metadata ?? {},
      });
      const found = await searchThreads(deps.db, { ...body, seen: permits });
      const { rows, headers } = buildPage(found.rows, body);
      const cursor = found.cursor === undefined ? {} : { 'x-pagination-cursor': found.cursor };
      return answerJson(body.extract ? rows.map((row) => pickFields(row, body)) : rows, 200, {
        ...headers,
        ...cursor,
      });
    },
  }),
  route.post('/threads/count', {
    id: 'count_threads',
    summary: 'Count threads',
    access: 'read',
    body: ThreadCount,
    selects: true,
    bodyOptional: true,
    answers: { 200: describeAnswer('The number.', Type.Integer()), ...refused },
    handler: async ({ body, caller }, deps) => {
      const { value, permits } = await askPermission(caller, 'threads:search', {
        ...body,
        metadata: body.metadata ?? {},
      });
      return answerJson(await countThreads(deps.db, { ...value, seen: permits }));
    },
  }),
  route.post('/threads/prune', {
    id: 'prune_threads',
    summary: 'Delete threads, or all but their newest checkpoints',
    access: 'write',
    body: ThreadPrune,
    selects: true,
    answers: {
      200: describeAnswer('How many.', Type.Object({ pruned_count: Type.Integer() })),
      ...refused,
    },
    handler: async ({ body, caller }, deps) =>
      answerJson({ pruned_count: await prune(deps, body, caller) }),
  }),
  route.get('/threads/{thread_id}', {
    id: 'get_thread',
    summary: 'One thread',
    access: 'read',
    params: ThreadPath,
    query: ThreadQuery,
    answers: { 200: describeAnswer('The thread.', Thread), ...refused },
    handler: async ({ params, query, caller }, deps) => {
      const { permits } = await askPermission(caller, 'threads:read', params);
      const thread = await getThread(deps.db, params.thread_id, permits);
      if (thread === undefined) throw buildNotFound(params.thread_id);
      const asksTtl = query.include?.includes('ttl') === true;
      return answerJson(
        asksTtl
          ? {
              ...thread,
              ttl: await loadThreadTtl(deps.db, params.thread_id, deps.expiry.threads.usual),
            }
          : thread,
      );
    },
  }),
  route.patch('/threads/{thread_id}', {
    id: 'patch_thread',
    summary: 'Merge metadata into a thread',
    access: 'write',
    params: ThreadPath,
    body: ThreadPatch,
    answers: {
      200: describeAnswer('The thread.', Thread),
      204: describeAnswer('Done, when asked with Prefer: return=minimal.'),
      ...refused,
    },
    handler: async ({ params, body, headers, caller }, deps) => {
      const { value, permits } = await askPermission(caller, 'threads:update', {
        ...params,
        metadata: body.metadata ?? {},
      });
      const ttl = toThreadTtl(body.ttl);
      const thread = await patchThread(
        deps.db,
        params.thread_id,
        { metadata: value.metadata, ttl },
        permits,
      );
      if (thread === undefined) throw buildNotFound(params.thread_id);
      return isMinimalPreferred(headers) ? answerNoContent() : answerJson(thread);
    },
  }),
  route.delete('/threads/{thread_id}', {
    id: 'delete_thread',
    summary: 'Delete a thread with its runs and checkpoints',
    access: 'write',
    params: ThreadPath,
    answers: { 204: describeAnswer('Gone.'), ...refused },
    handler: async ({ params, caller }, deps) => {
      const { permits } = await askPermission(caller, 'threads:delete', params);
      await cancelRuns(
        deps,
        (tx) => selectActive(tx, { ...params, permitted: permits }),
        'interrupt',
      );
      const gone = await deleteThreads(deps.db, [params.thread_id], permits);
      if (gone.length === 0) throw buildNotFound(params.thread_id);
      return answerNoContent();
    },
  }),
  route.post('/threads/{thread_id}/copy', {
    id: 'copy_thread',
    summary: 'Copy a thread with its checkpoints',
    access: 'write',
    params: ThreadPath,
    headers: OnceHeaders,
    answers: {
      200: describeAnswer('The copy.', Thread),
      409: { description: 'There is no such thread.' },
      ...refused,
      ...goneAgain,
    },
    handler: async ({ params: { thread_id: threadId }, caller, headers }, deps) => {
      const key = readIdempotencyKey(
        headers,
        { identity: caller.identity, route: 'threads/copy', threadId },
        null,
      );
      return answerJson(await copyThreadOnce(deps, threadId, { caller, key }));
    },
  }),
  route.get('/threads/{thread_id}/storage', {
    id: 'get_thread_storage',
    summary: "Get the size of a thread's checkpoints",
    access: 'read',
    params: ThreadPath,
    answers: {
      200: describeAnswer('Rows and bytes.', Type.Unsafe<unknown>({ type: 'object' })),
      ...refused,
    },
    handler: async ({ params, caller }, deps) => {
      const { permits } = await askPermission(caller, 'threads:read', params);
      if ((await loadThreadHead(deps.db, params.thread_id, permits)) === undefined)
        throw buildNotFound(params.thread_id);
      const storage = await loadCheckpointStorage(deps.db, params.thread_id);
      const total_bytes = Object.values(storage).reduce((sum, { bytes }) => sum + bytes, 0);
      return answerJson({ thread_id: params.thread_id, total_bytes, ...storage });
    },
  }),
]);
