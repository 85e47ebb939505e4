import { Type } from 'typebox';
import { Conflict, NotFound, Rejected } from '../../errors.ts';
import { json, jsonText } from '../../http/route.ts';
import { Limit } from '../../schema/agent/agent-types.ts';
import { HistoryBody, StateAt, StateSelect, StateUpdate } from '../../schema/agent/thread.ts';
import { Uuid } from '../../schema/types.ts';
import type { ThreadState, WrittenState } from '../../schema/wire/wall/graph-answers.ts';
import { parsed, type JsonText } from '../../schema/wire/wall/json-text.ts';
import { permission, type AgentCaller } from '../auth/caller.ts';
import type { Patterns } from '../db/base/permits.ts';
import { deleteThreads, setThreadState, threadHead, type ThreadHead } from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { threadCall } from '../graphs/thread-call.ts';
import { HeldThreads } from '../runs/held-thread.ts';
import { checkCheckpoint } from '../runs/plan.ts';
import { ok, refused, route, ThreadPath, type AgentRoute } from './route.ts';
import type { Json } from '../../schema/json.ts';

type Deps = Pick<AgentDeps, 'db' | 'graphs' | 'host' | 'readers'>;
type WriteDeps = Deps & { held: HeldThreads };
type AllDeps = Deps & Pick<AgentDeps, 'pump' | 'tickets' | 'signals' | 'log'>;

const tag = 'threads';
const State = Type.Unsafe<unknown>({ type: 'object' });
const Query = Type.Object({ subgraphs: Type.Optional(Type.Boolean()), select: Type.Optional(StateSelect) });
const HistoryQuery = Type.Object({
  limit: Limit(1),
  before: Type.Optional(Type.String()),
  select: Type.Optional(StateSelect),
});

/** Returns the state of a thread that no graph has touched. */
const emptyState = (thread: ThreadHead): ThreadState => ({
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

async function headOf(deps: Deps, threadId: string, permitted?: Patterns): Promise<ThreadHead> {
  const head = await threadHead(deps.db, threadId, permitted);
  if (head === undefined) throw new NotFound(`Thread with ID ${threadId} not found`);
  return head;
}

type Select = string[] | null | undefined;
type At = { checkpoint?: Json | null; subgraphs?: boolean | null; select?: Select; seen?: Patterns };

/** Returns the state, or the selected fields of it, as the graph thread sent it. */
async function stateOf(deps: Deps, threadId: string, { select, seen, ...at }: At): Promise<JsonText<Json>> {
  const head = await headOf(deps, threadId, seen);
  const { graph_id } = head;
  await checkCheckpoint(deps.db, threadId, at.checkpoint ?? {});
  if (graph_id === null) return JSON.stringify(picked(emptyState(head), select));
  const state = await deps.host.call('state', { ...(await threadCall(deps, { thread_id: threadId, graph_id })), ...at });
  return isAsked(select) ? JSON.stringify(picked(parsed(state), select)) : state;
}

const isAsked = (select: Select): select is string[] => Boolean(select) && select!.length > 0;

const picked = (state: Json, select: Select): Json =>
  isAsked(select) ? Object.fromEntries(select.map((name) => [name, state[name]])) : state;

/** Returns the states, newest first, as the graph thread sent them. */
async function historyOf(
  deps: Deps,
  threadId: string,
  { select, seen, ...body }: HistoryBody & { seen: Patterns },
): Promise<JsonText<Json[]>> {
  const { graph_id } = await headOf(deps, threadId, seen);
  if (graph_id === null) return '[]';
  const states = await deps.host.call('history', { ...(await threadCall(deps, { thread_id: threadId, graph_id })), ...body });
  return isAsked(select) ? JSON.stringify(parsed(states).map((state) => picked(state, select))) : states;
}

/**
 * Writes state, and holds the thread meanwhile. A run that began in between would go on from the former state, and one
 * of the two would be lost.
 */
async function write(
  deps: WriteDeps,
  threadId: string,
  { caller, body }: { caller: AgentCaller; body: StateUpdate },
): Promise<WrittenState['answer']> {
  const { permits } = await permission(caller, 'threads:update', { thread_id: threadId, metadata: {} });
  const { graph_id } = await headOf(deps, threadId, permits);
  if (graph_id === null) throw new Rejected('Thread has no graph ID: run it once, or create it with metadata.graph_id.');
  const answer = await deps.held.whileHeld({ threadId, changeable: permits }, (holder) =>
    writeHolding(deps, holder, { threadId, graph_id, body }),
  );
  await announce(deps, threadId);
  return answer;
}

type Writing = { threadId: string; graph_id: string; body: StateUpdate };

async function writeHolding(deps: Deps, holder: string, { threadId, graph_id, body }: Writing): Promise<WrittenState['answer']> {
  const checkpoint = body.checkpoint ?? (body.checkpoint_id ? { checkpoint_id: body.checkpoint_id } : null);
  await checkCheckpoint(deps.db, threadId, checkpoint ?? {});
  const { values, as_node } = body;
  const call = await threadCall(deps, { thread_id: threadId, graph_id });
  const { answer, thread: after } = parsed(await deps.host.call('update', { ...call, checkpoint, values, as_node }));
  const rest = { ...after, status: after.waiting ? ('interrupted' as const) : ('idle' as const), holder };
  if (!(await setThreadState(deps.db, threadId, rest))) await lostHold(deps, threadId);
  return answer;
}

/** Tells why a thread is no longer its holder's: it was deleted, or the holder was silent for too long. */
async function lostHold({ db }: Deps, threadId: string): Promise<never> {
  if ((await threadHead(db, threadId)) !== undefined)
    throw new Conflict('The state was written, but meanwhile the thread went on: read its state before you write again.');
  // The graph's state was written after the thread was deleted.
  await deleteThreads(db, [threadId]);
  throw new NotFound(`Thread with ID ${threadId} not found`);
}

/** Tells those who follow the thread. The event waits for them in the table, as those of runs do. */
const announce = (deps: Deps, threadId: string): Promise<void> =>
  deps.readers.tellThread(threadId, 'state_update', async () => `{"state":${await stateOf(deps, threadId, {})},"thread_id":"${threadId}"}`);

type StateUpdate = { values?: unknown; as_node?: string | null; checkpoint?: Json | null; checkpoint_id?: string | null };

export type SuperstepDeps = Pick<Deps, 'db' | 'graphs' | 'host'>;

/** Writes a whole history of states into a new thread. */
export async function applySupersteps(
  deps: SuperstepDeps,
  { thread_id, graph_id, supersteps }: { thread_id: string; graph_id: string; supersteps: { updates: Json[] }[] },
): Promise<void> {
  if (!deps.graphs.includes(graph_id)) throw new NotFound(`Graph "${graph_id}" is not part of this revision.`);
  const call = await threadCall(deps, { thread_id, graph_id });
  const { thread } = parsed(await deps.host.call('supersteps', { ...call, supersteps }));
  await setThreadState(deps.db, thread_id, { ...thread, status: thread.waiting ? 'interrupted' : 'idle' });
}

const getStateRoute = (deps: Deps): AgentRoute =>
  route({
    method: 'get',
    path: '/threads/{thread_id}/state',
    id: 'get_state',
    summary: 'The current state',
    tag,
    access: 'read',
    params: ThreadPath,
    query: Query,
    answers: { 200: ok('The state.', State), ...refused },
    handler: async ({ params, query, caller }) => {
      const { permits: seen } = await permission(caller, 'threads:read', params);
      return jsonText(await stateOf(deps, params.thread_id, { ...query, seen, subgraphs: query.subgraphs === true }));
    },
  });

const updateStateRoute = (deps: WriteDeps): AgentRoute =>
  route({
    method: 'post',
    path: '/threads/{thread_id}/state',
    id: 'update_state',
    summary: 'Write state as a node would',
    tag,
    access: 'write',
    params: ThreadPath,
    body: StateUpdate,
    answers: { 200: ok('Where it was written.', State), 409: { description: 'A run is under way.' }, ...refused },
    handler: async ({ params, body, caller }) => json(await write(deps, params.thread_id, { caller, body })),
  });

const getStateAtRoute = (deps: Deps): AgentRoute =>
  route({
    method: 'post',
    path: '/threads/{thread_id}/state/checkpoint',
    id: 'get_state_at',
    summary: 'The state at a checkpoint',
    tag,
    access: 'read',
    params: ThreadPath,
    body: StateAt,
    selects: true,
    answers: { 200: ok('The state.', State), ...refused },
    handler: async ({ params, body, caller }) => {
      const { permits: seen } = await permission(caller, 'threads:read', params);
      return jsonText(await stateOf(deps, params.thread_id, { ...(body as At), seen }));
    },
  });

const getStateOfCheckpointRoute = (deps: Deps): AgentRoute =>
  route({
    method: 'get',
    path: '/threads/{thread_id}/state/{checkpoint_id}',
    id: 'get_state_of_checkpoint',
    summary: 'The state at a checkpoint, by its id',
    tag,
    access: 'read',
    params: Type.Object({ thread_id: Uuid(''), checkpoint_id: Type.String() }),
    query: Query,
    answers: { 200: ok('The state.', State), ...refused },
    handler: async ({ params: { thread_id, checkpoint_id }, query, caller }) => {
      const { permits: seen } = await permission(caller, 'threads:read', { thread_id });
      const at = { checkpoint: { checkpoint_id }, select: query.select, subgraphs: query.subgraphs === true };
      return jsonText(await stateOf(deps, thread_id, { ...at, seen }));
    },
  });

const getHistoryRoute = (deps: Deps): AgentRoute =>
  route({
    method: 'get',
    path: '/threads/{thread_id}/history',
    id: 'get_history',
    summary: 'Earlier states, newest first',
    tag,
    access: 'read',
    params: ThreadPath,
    query: HistoryQuery,
    answers: { 200: ok('States.', Type.Array(State)), ...refused },
    handler: async ({ params, query, caller }) => {
      const { permits: seen } = await permission(caller, 'threads:read', params);
      return jsonText(await historyOf(deps, params.thread_id, { ...query, seen }));
    },
  });

const postHistoryRoute = (deps: Deps): AgentRoute =>
  route({
    method: 'post',
    path: '/threads/{thread_id}/history',
    id: 'post_history',
    summary: 'Earlier states, newest first, by filters',
    tag,
    access: 'read',
    params: ThreadPath,
    body: HistoryBody,
    selects: true,
    bodyOptional: true,
    answers: { 200: ok('States.', Type.Array(State)), ...refused },
    handler: async ({ params, body, caller }) => {
      const { permits: seen } = await permission(caller, 'threads:read', params);
      return jsonText(await historyOf(deps, params.thread_id, { ...body, seen }));
    },
  });

export const threadStateRoutes = (deps: AllDeps): AgentRoute[] => [
  getStateRoute(deps),
  updateStateRoute({ ...deps, held: new HeldThreads(deps) }),
  getStateAtRoute(deps),
  getStateOfCheckpointRoute(deps),
  getHistoryRoute(deps),
  postHistoryRoute(deps),
];
