import { Type } from 'typebox';
import { NotFound } from '../../errors.ts';
import {
  answerJson,
  answerNoContent,
  answerSlowJsonText,
  bindRoutes,
  type Reply,
} from '../../http/routes/route.ts';
import {
  CancelQuery,
  isUnfinished,
  JoinQuery,
  Run,
  RunsQuery,
  StreamQuery,
} from '../../schema/agent/run.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import { deleteRunCheckpoints } from '../db/threads/checkpoint-upkeep.ts';
import type { Db } from '../db/base/pool.ts';
import { deleteRuns, getRun, listRuns, selectActive, type ActiveRun } from '../db/runs/runs.ts';
import { loadThreadHead } from '../db/threads/threads.ts';
import { cancelRuns, toStopAction, type CancelAction } from '../runs/executing/cancel.ts';
import {
  goneAgain,
  describeAnswer,
  refused,
  RunPath,
  ThreadPath,
  buildAgentRoutes,
} from './route.ts';
import {
  answerEnd,
  answerJoin,
  answerJoinStream,
  answerRun,
  answerStream,
  AnyState,
  eventStream,
  startingOneRun,
  type RunRouteDeps,
} from './run-answers.ts';

const route = buildAgentRoutes<[RunRouteDeps]>('runs');
const access = 'write' as const;
const busy = { 409: { description: 'The thread is busy and the strategy is reject.' } };

const pickFields = (record: object, names: string[]): object =>
  Object.fromEntries(Object.entries(record).filter(([name]) => names.includes(name)));

/**
 * Deletes a run. A run under way is rolled back first. Its worker has the last word, so nothing of it is written after
 * the answer.
 */
async function remove(
  deps: RunRouteDeps,
  { thread_id, run_id }: { thread_id: string; run_id: string },
  { caller, signal }: { caller: AgentCaller; signal: AbortSignal },
): Promise<Reply> {
  const { permits } = await askPermission(caller, 'threads:delete', { thread_id, run_id });
  const run = await getRun(deps.db, thread_id, run_id, permits);
  if (run === undefined) throw new NotFound(`Run with ID ${run_id} not found`);
  if (isUnfinished(run.status)) {
    const { subscription } = await deps.readers.followRun(
      { runId: run_id, threadId: thread_id },
      { signal, hears: 'end' },
    );
    const count = await cancelRuns(
      deps,
      (tx) => selectActive(tx, { thread_id, run_ids: [run_id] }),
      'rollback',
    );
    if (count > 0) await deps.readers.waitForEnd({ run_id, thread_id }, subscription);
    else subscription.close();
  }
  await deleteRuns(deps.db, [run_id], { tells: false });
  await deleteRunCheckpoints(deps.db, thread_id, run_id);
  return answerNoContent();
}

async function cancel(
  deps: RunRouteDeps,
  { thread_id, run_id }: { thread_id: string; run_id: string },
  options: { wait?: boolean; action?: CancelAction; caller: AgentCaller; signal: AbortSignal },
): Promise<Reply> {
  const action = toStopAction(options.action);
  const { permits } = await askPermission(options.caller, 'threads:update', {
    thread_id,
    run_id,
    metadata: {},
    action,
  });
  const followed =
    options.wait === true
      ? await deps.readers.followRun(
          { runId: run_id, threadId: thread_id },
          { signal: options.signal, hears: 'end' },
        )
      : undefined;
  const select = (tx: Db): Promise<ActiveRun[]> =>
    selectActive(tx, { thread_id, run_ids: [run_id], permitted: permits });
  const count = await cancelRuns(deps, select, action);
  if (count === 0) {
    followed?.subscription.close();
    throw new NotFound(`Run with ID ${run_id} not found, or already finished`);
  }
  if (followed === undefined) return answerNoContent(202);
  return answerSlowJsonText(
    async () =>
      (await deps.readers.waitForEnd({ run_id, thread_id }, followed.subscription))?.state ?? '{}',
  );
}

export const threadRunRoutes = bindRoutes([
  route.post('/threads/{thread_id}/runs', {
    ...startingOneRun,
    params: ThreadPath,
    id: 'create_run',
    summary: 'Start a run in the background',
    answers: { 200: describeAnswer('The run.', Run), ...refused, ...busy, ...goneAgain },
    handler: (request, deps) =>
      answerRun(deps, request.body, { threadId: request.params.thread_id, request }),
  }),
  route.post('/threads/{thread_id}/runs/wait', {
    ...startingOneRun,
    params: ThreadPath,
    id: 'wait_run',
    waits: true,
    summary: 'Start a run, and return the final state',
    answers: {
      200: describeAnswer('The final state.', AnyState),
      ...refused,
      ...busy,
      ...goneAgain,
    },
    handler: (request, deps) =>
      answerEnd(deps, request.body, { threadId: request.params.thread_id, request }),
  }),
  route.post('/threads/{thread_id}/runs/stream', {
    ...startingOneRun,
    params: ThreadPath,
    id: 'stream_run',
    summary: 'Start a run, and stream the events',
    query: StreamQuery,
    answers: { ...eventStream, ...refused, ...busy, ...goneAgain },
    handler: (request, deps) =>
      answerStream(deps, request.body, {
        threadId: request.params.thread_id,
        request,
        namespaces: request.query.namespace,
      }),
  }),
  route.get('/threads/{thread_id}/runs', {
    id: 'list_runs',
    summary: 'List the runs of a thread, newest first',
    access: 'read',
    params: ThreadPath,
    query: RunsQuery,
    answers: {
      200: describeAnswer('Runs, or the selected fields of them.', Type.Array(Type.Partial(Run))),
      ...refused,
    },
    handler: async ({ params, query, caller }, deps) => {
      const { permits } = await askPermission(caller, 'threads:search', {
        thread_id: params.thread_id,
        metadata: {},
      });
      if ((await loadThreadHead(deps.db, params.thread_id, permits)) === undefined)
        throw new NotFound(`Thread with ID ${params.thread_id} not found`);
      const runs = await listRuns(deps.db, params.thread_id, query);
      return answerJson(
        query.select === undefined ? runs : runs.map((run) => pickFields(run, query.select!)),
      );
    },
  }),
  route.get('/threads/{thread_id}/runs/{run_id}', {
    id: 'get_run',
    summary: 'One run',
    access: 'read',
    params: RunPath,
    answers: { 200: describeAnswer('The run.', Run), ...refused },
    handler: async ({ params, caller }, deps) => {
      const { permits } = await askPermission(caller, 'threads:read', params);
      const run = await getRun(deps.db, params.thread_id, params.run_id, permits);
      if (run === undefined) throw new NotFound(`Run with ID ${params.run_id} not found`);
      return answerJson(run);
    },
  }),
  route.delete('/threads/{thread_id}/runs/{run_id}', {
    id: 'delete_run',
    summary: 'Delete a run and its checkpoints',
    access,
    params: RunPath,
    answers: { 204: describeAnswer('Gone.'), ...refused },
    handler: ({ params, caller, signal }, deps) => remove(deps, params, { caller, signal }),
  }),
  route.get('/threads/{thread_id}/runs/{run_id}/join', {
    id: 'join_run',
    waits: true,
    summary: 'Wait for a run to end',
    access: 'read',
    params: RunPath,
    query: JoinQuery,
    answers: { 200: describeAnswer('The final state.', AnyState), ...refused },
    handler: ({ params, query, signal, caller }, deps) =>
      answerJoin(deps, { runId: params.run_id, threadId: params.thread_id, caller, query, signal }),
  }),
  ...(['stream', 'join-stream'] as const).map((name) =>
    route.get(`/threads/{thread_id}/runs/{run_id}/${name}`, {
      id: name === 'stream' ? 'join_stream' : 'join_stream_by_name',
      summary: 'Stream the events of a run, from now or after a given event',
      access: 'read',
      params: RunPath,
      query: JoinQuery,
      answers: { ...eventStream, ...refused },
      handler: ({ params, query, signal, headers, forwarded, caller }, deps) =>
        answerJoinStream(deps, {
          runId: params.run_id,
          threadId: params.thread_id,
          caller,
          query,
          signal,
          headers,
          forwarded,
        }),
    }),
  ),
  route.post('/threads/{thread_id}/runs/{run_id}/cancel', {
    id: 'cancel_run',
    summary: 'Stop a run',
    access,
    params: RunPath,
    query: CancelQuery,
    answers: {
      200: describeAnswer('Stopped.', AnyState),
      202: describeAnswer('Stopping.'),
      ...refused,
    },
    handler: ({ params, query, signal, caller }, deps) =>
      cancel(deps, params, { ...query, caller, signal }),
  }),
]);
