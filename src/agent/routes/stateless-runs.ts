import { Type } from 'typebox';
import { Invalid, NotFound } from '../../errors.ts';
import { answerJson, answerNoContent, bindRoutes } from '../../http/routes/route.ts';
import { OnceHeaders } from '../../schema/agent/request-key.ts';
import {
  CancelMany,
  CancelManyQuery,
  JoinQuery,
  Run,
  RunBatch,
  StreamQuery,
} from '../../schema/agent/run.ts';
import { buildUuidSchema } from '../../schema/types.ts';
import { askPermission } from '../auth/caller.ts';
import { selectActive } from '../db/runs/runs.ts';
import { readIdempotencyKey } from '../kernel/request-key.ts';
import { cancelRuns, toStopAction } from '../runs/executing/cancel.ts';
import { createRuns } from '../runs/making/create-run.ts';
import { goneAgain, describeAnswer, refused, buildAgentRoutes } from './route.ts';
import {
  answerEnd,
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

export const statelessRunRoutes = bindRoutes([
  route.post('/runs', {
    ...startingOneRun,
    id: 'create_stateless_run',
    summary: 'Start a run on a thread of its own',
    answers: { 200: describeAnswer('The run.', Run), ...refused, ...goneAgain },
    handler: (request, deps) => answerRun(deps, request.body, { threadId: undefined, request }),
  }),
  route.post('/runs/wait', {
    ...startingOneRun,
    id: 'wait_stateless_run',
    waits: true,
    summary: 'Start a run on a thread of its own, and return the final state',
    answers: { 200: describeAnswer('The final state.', AnyState), ...refused, ...goneAgain },
    handler: (request, deps) => answerEnd(deps, request.body, { threadId: undefined, request }),
  }),
  route.post('/runs/stream', {
    ...startingOneRun,
    id: 'stream_stateless_run',
    summary: 'Start a run on a thread of its own, and stream the events',
    query: StreamQuery,
    answers: { ...eventStream, ...refused, ...goneAgain },
    handler: (request, deps) =>
      answerStream(deps, request.body, {
        threadId: undefined,
        request,
        namespaces: request.query.namespace,
      }),
  }),
  route.post('/runs/batch', {
    id: 'create_runs',
    summary: 'Start several runs, each on a thread of its own',
    access,
    headers: OnceHeaders,
    body: RunBatch,
    starts: (body) => (body as unknown[]).length,
    answers: { 200: describeAnswer('The runs.', Type.Array(Run)), ...refused, ...goneAgain },
    handler: async (request, deps) => {
      const key = readIdempotencyKey(
        request.headers,
        { identity: request.caller.identity, route: 'runs/batch' },
        request.body,
      );
      return answerJson(await createRuns(deps, request.body, { call: request, key }));
    },
  }),
  ...(['stream', 'join-stream'] as const).map((name) =>
    route.get(`/runs/{run_id}/${name}`, {
      id: name === 'stream' ? 'join_stateless_stream' : 'join_stateless_stream_by_name',
      summary: 'Stream the events of a run, by its id alone',
      access: 'read',
      params: Type.Object({ run_id: buildUuidSchema('') }),
      query: JoinQuery,
      answers: { ...eventStream, ...refused },
      handler: ({ params, query, signal, headers, forwarded, caller }, deps) =>
        answerJoinStream(deps, {
          runId: params.run_id,
          threadId: undefined,
          caller,
          query,
          signal,
          headers,
          forwarded,
        }),
    }),
  ),
  route.post('/runs/cancel', {
    id: 'cancel_runs',
    summary: 'Stop several runs',
    access,
    query: CancelManyQuery,
    body: CancelMany,
    selects: true,
    answers: { 204: describeAnswer('Stopped.'), ...refused },
    handler: async ({ query, body, caller }, deps) => {
      const byIds = body.run_ids !== undefined || body.thread_id !== undefined;
      if (byIds === (body.status !== undefined))
        throw new Invalid([
          {
            loc: ['body', 'status'],
            msg: 'Give either status, or thread_id with run_ids',
            type: 'value_error',
          },
        ]);
      const action = toStopAction(query.action);
      const { permits } = await askPermission(caller, 'threads:update', {
        thread_id: body.thread_id ?? null,
        metadata: {},
        action,
      });
      const count = await cancelRuns(
        deps,
        (tx) => selectActive(tx, { ...body, permitted: permits }),
        action,
      );
      if (count === 0) throw new NotFound('No runs found to cancel.');
      return answerNoContent();
    },
  }),
]);
