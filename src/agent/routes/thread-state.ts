import { Type } from 'typebox';
import { Conflict, NotFound, Rejected } from '../../errors.ts';
import {
  answerJson,
  answerJsonText,
  bindRoutes,
  type Reply,
  type Route,
} from '../../http/routes/route.ts';
import { buildLimitSchema } from '../../schema/agent/agent-types.ts';
import { HistoryBody, StateAt, StateSelect, StateUpdate } from '../../schema/agent/thread.ts';
import { buildUuidSchema } from '../../schema/types.ts';
import type { ThreadState, WrittenState } from '../../schema/wire/wall/graph-answers.ts';
import { parseJsonText } from '../../schema/wire/wall/json-text.ts';
import { askPermission, type AgentCaller } from '../auth/caller.ts';
import type { Patterns } from '../db/base/permits.ts';
import {
  deleteThreads,
  setThreadState,
  loadThreadHead,
  type ThreadHead,
} from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { AnswerOfRevision, PinnedThread } from '../graphs/pinned-calls.ts';
import { loadThreadCall } from '../graphs/thread-call.ts';
import { HeldThreads } from '../runs/making/held-thread.ts';
import { checkCheckpoint } from '../runs/making/context.ts';
import { describeAnswer, refused, ThreadPath, buildAgentRoutes } from './route.ts';
import type { Json } from '../../schema/json.ts';

type WriteDeps = AgentDeps & { held: HeldThreads };
const route = buildAgentRoutes<[WriteDeps]>('threads');
const State = Type.Unsafe<unknown>({ type: 'object' });
const Query = Type.Object({
  subgraphs: Type.Optional(Type.Boolean()),
  select: Type.Optional(StateSelect),
});
const HistoryQuery = Type.Object({
  limit: buildLimitSchema(1),
  before: Type.Optional(Type.String()),
  select: Type.Optional(StateSelect),
});

const buildEmptyState = (thread: ThreadHead): ThreadState => ({
  values: {},
  next: [],
  tasks: [],
  metadata: {},
  created_at: thread.created_at,
  checkpoint: null,
  parent_checkpoint: null,
  interrupts: [],
  checkpoint_id: null,
  parent_checkpoint_id: null,
});

async function loadHead(
  deps: AgentDeps,
  threadId: string,
  permitted?: Patterns,
): Promise<ThreadHead> {
  const head = await loadThreadHead(deps.db, threadId, permitted);
  if (head === undefined) throw new NotFound(`Thread with ID ${threadId} not found`);
  return head;
}

/** The header that names the revision which has answered, for a thread that is pinned to another one. */
const ANSWERED_BY = 'x-gx-answered-by';

/** Returns the reply, which says so where the thread is pinned to another revision than the one that has answered. */
function addAnsweredBy(reply: Reply, { revision }: ThreadHead, by: string | undefined): Reply {
  if (revision === null || by === undefined || revision === by) return reply;
  return { ...reply, headers: { ...reply.headers, [ANSWERED_BY]: by } };
}

type Select = string[] | null | undefined;
type At = {
  checkpoint?: Json | null;
  subgraphs?: boolean | null;
  select?: Select;
  seen?: Patterns;
};

async function readState(
  deps: AgentDeps,
  head: ThreadHead,
  { select, ...at }: Omit<At, 'seen'>,
): Promise<AnswerOfRevision<Json>> {
  const { graph_id } = head;
  await checkCheckpoint(deps.db, head.thread_id, at.checkpoint ?? {});
  if (graph_id === null)
    return { json: JSON.stringify(pickFields(buildEmptyState(head), select)), by: undefined };
  const { json: state, by } = await deps.pinnedCalls.call({ ...head, graph_id }, 'state', at);
  return {
    json: isAsked(select) ? JSON.stringify(pickFields(parseJsonText(state), select)) : state,
    by,
  };
}

async function answerState(deps: AgentDeps, threadId: string, { seen, ...at }: At): Promise<Reply> {
  const head = await loadHead(deps, threadId, seen);
  const { json: text, by } = await readState(deps, head, at);
  return addAnsweredBy(answerJsonText(text), head, by);
}

const isAsked = (select: Select): select is string[] => Boolean(select) && select!.length > 0;

const pickFields = (state: Json, select: Select): Json =>
  isAsked(select) ? Object.fromEntries(select.map((name) => [name, state[name]])) : state;

/** Returns the states, newest first, as the graph thread sent them. */
async function readHistory(
  { pinnedCalls }: AgentDeps,
  { graph_id, ...head }: ThreadHead,
  { select, ...body }: HistoryBody,
): Promise<AnswerOfRevision<Json[]>> {
  if (graph_id === null) return { json: '[]', by: undefined };
  const { json: states, by } = await pinnedCalls.call({ ...head, graph_id }, 'history', body);
  return {
    json: isAsked(select)
      ? JSON.stringify(parseJsonText(states).map((state) => pickFields(state, select)))
      : states,
    by,
  };
}

async function answerHistory(
  deps: AgentDeps,
  threadId: string,
  { seen, ...body }: HistoryBody & { seen: Patterns },
): Promise<Reply> {
  const head = await loadHead(deps, threadId, seen);
  const { json: text, by } = await readHistory(deps, head, body);
  return addAnsweredBy(answerJsonText(text), head, by);
}

/**
 * Writes state, and holds the thread meanwhile. A run that began in between would go on from the former state, and one
 * of the two would be lost.
 */
async function write(
  deps: WriteDeps,
  threadId: string,
  { caller, body }: { caller: AgentCaller; body: StateUpdate },
): Promise<Reply> {
  const { permits } = await askPermission(caller, 'threads:update', {
    thread_id: threadId,
    metadata: {},
  });
  const head = await loadHead(deps, threadId, permits);
  const { graph_id } = head;
  if (graph_id === null)
    throw new Rejected('Thread has no graph ID: run it once, or create it with metadata.graph_id.');
  const { answer, by } = await deps.held.runWhileHeld({ threadId, changeable: permits }, (holder) =>
    writeHolding(deps, holder, { ...head, graph_id }, body),
  );
  await announce(deps, threadId);
  return addAnsweredBy(answerJson(answer), head, by);
}

async function writeHolding(
  deps: AgentDeps,
  holder: string,
  thread: PinnedThread,
  body: StateUpdate,
): Promise<Pick<WrittenState, 'answer'> & { by: string | undefined }> {
  const { thread_id: threadId } = thread;
  const checkpoint =
    body.checkpoint ?? (body.checkpoint_id ? { checkpoint_id: body.checkpoint_id } : null);
  await checkCheckpoint(deps.db, threadId, checkpoint ?? {});
  const { values, as_node } = body;
  const { json: written, by } = await deps.pinnedCalls.call(thread, 'update', {
    checkpoint,
    values,
    as_node,
  });
  const { answer, thread: after } = parseJsonText(written);
  const rest = {
    ...after,
    status: after.waiting ? ('interrupted' as const) : ('idle' as const),
    holder,
  };
  if (!(await setThreadState(deps.db, threadId, rest))) await throwLostHold(deps, threadId);
  return { answer, by };
}

/** Tells why a thread is no longer its holder's: it was deleted, or the holder was silent for too long. */
async function throwLostHold({ db }: AgentDeps, threadId: string): Promise<never> {
  if ((await loadThreadHead(db, threadId)) !== undefined)
    throw new Conflict(
      'The state was written, but the thread continued in the meantime: read its state before you write again.',
    );
  // The graph's state was written after the thread was deleted.
  await deleteThreads(db, [threadId]);
  throw new NotFound(`Thread with ID ${threadId} not found`);
}

/** Tells those who follow the thread. The event waits for them in the table, as those of runs do. */
const announce = (deps: AgentDeps, threadId: string): Promise<void> =>
  deps.readers.notifyThread(
    threadId,
    'state_update',
    async () =>
      `{"state":${(await readState(deps, await loadHead(deps, threadId), {})).json},"thread_id":"${threadId}"}`,
  );

type StateUpdate = {
  values?: unknown;
  as_node?: string | null;
  checkpoint?: Json | null;
  checkpoint_id?: string | null;
};

/** Writes a whole history of states into a new thread. */
export async function applySupersteps(
  deps: AgentDeps,
  {
    thread_id,
    graph_id,
    supersteps,
  }: { thread_id: string; graph_id: string; supersteps: { updates: Json[] }[] },
): Promise<void> {
  if (!deps.graphs.includes(graph_id))
    throw new NotFound(`Graph "${graph_id}" is not part of this revision.`);
  const call = await loadThreadCall(deps, { thread_id, graph_id });
  const { thread } = parseJsonText(await deps.host.call('supersteps', { ...call, supersteps }));
  await setThreadState(deps.db, thread_id, {
    ...thread,
    status: thread.waiting ? 'interrupted' : 'idle',
  });
}

const stateRoutes = bindRoutes([
  route.get('/threads/{thread_id}/state', {
    id: 'get_state',
    summary: 'Get the current state of a thread',
    access: 'read',
    params: ThreadPath,
    query: Query,
    answers: { 200: describeAnswer('The state.', State), ...refused },
    handler: async ({ params, query, caller }, deps) => {
      const { permits: seen } = await askPermission(caller, 'threads:read', params);
      return answerState(deps, params.thread_id, {
        ...query,
        seen,
        subgraphs: query.subgraphs === true,
      });
    },
  }),
  route.post('/threads/{thread_id}/state', {
    id: 'update_state',
    summary: 'Update the state of a thread, as a node would',
    access: 'write',
    params: ThreadPath,
    body: StateUpdate,
    answers: {
      200: describeAnswer('The checkpoint that was written.', State),
      409: { description: 'A run is under way.' },
      ...refused,
    },
    handler: ({ params, body, caller }, deps) => write(deps, params.thread_id, { caller, body }),
  }),
  route.post('/threads/{thread_id}/state/checkpoint', {
    id: 'get_state_at',
    summary: 'Get the state at a checkpoint',
    access: 'read',
    params: ThreadPath,
    body: StateAt,
    selects: true,
    answers: { 200: describeAnswer('The state.', State), ...refused },
    handler: async ({ params, body, caller }, deps) => {
      const { permits: seen } = await askPermission(caller, 'threads:read', params);
      return answerState(deps, params.thread_id, { ...(body as At), seen });
    },
  }),
  route.get('/threads/{thread_id}/state/{checkpoint_id}', {
    id: 'get_state_of_checkpoint',
    summary: 'Get the state at a checkpoint, by its id',
    access: 'read',
    params: Type.Object({ thread_id: buildUuidSchema(''), checkpoint_id: Type.String() }),
    query: Query,
    answers: { 200: describeAnswer('The state.', State), ...refused },
    handler: async ({ params: { thread_id, checkpoint_id }, query, caller }, deps) => {
      const { permits: seen } = await askPermission(caller, 'threads:read', { thread_id });
      const at = {
        checkpoint: { checkpoint_id },
        select: query.select,
        subgraphs: query.subgraphs === true,
      };
      return answerState(deps, thread_id, { ...at, seen });
    },
  }),
  route.get('/threads/{thread_id}/history', {
    id: 'get_history',
    summary: 'List earlier states of a thread, newest first',
    access: 'read',
    params: ThreadPath,
    query: HistoryQuery,
    answers: { 200: describeAnswer('States.', Type.Array(State)), ...refused },
    handler: async ({ params, query, caller }, deps) => {
      const { permits: seen } = await askPermission(caller, 'threads:read', params);
      return answerHistory(deps, params.thread_id, { ...query, seen });
    },
  }),
  route.post('/threads/{thread_id}/history', {
    id: 'post_history',
    summary: 'Search earlier states of a thread, newest first',
    access: 'read',
    params: ThreadPath,
    body: HistoryBody,
    selects: true,
    bodyOptional: true,
    answers: { 200: describeAnswer('States.', Type.Array(State)), ...refused },
    handler: async ({ params, body, caller }, deps) => {
      const { permits: seen } = await askPermission(caller, 'threads:read', params);
      return answerHistory(deps, params.thread_id, { ...body, seen });
    },
  }),
]);

export const buildThreadStateRoutes = (deps: AgentDeps): Route<AgentCaller>[] =>
  stateRoutes({ ...deps, held: new HeldThreads(deps) });
