import type { JobSettings } from '../../../config/agent/agent.ts';
import { Invalid, NotFound } from '../../../errors.ts';
import { getCurrentTrace, buildTraceHeaders } from '../../../trace-context.ts';
import type { RunCreate, RunKwargs } from '../../../schema/agent/run.ts';
import { loadVersionSettings } from '../../db/assistants/assistants.ts';
import type { RunBudgets } from '../../budgets/budgets.ts';
import type { BatchedStatements } from '../../db/batched-statements.ts';
import type { AgentCall } from '../../auth/caller.ts';
import { hasCheckpoint } from '../../db/checkpoints/stored-checkpoints.ts';
import type { Db } from '../../db/base/pool.ts';
import type { TaskOfRun } from '../../db/webhooks/push-configs.ts';
import { loadGuardedRunContext, type RunPermits } from '../../db/runs/guarded-run-context.ts';
import { loadOfferedRevision } from '../../db/runs/revisions.ts';
import { isContinued } from '../../db/runs/run-inserts.ts';
import type { NewRun, RunContext, RunContextKey } from '../../db/runs/runs.ts';
import { getCurrentContext } from '../../kernel/encryption-context.ts';
import { resolveAssistantId, createId } from '../../kernel/ids.ts';
import { checkNodes } from '../../kernel/nodes.ts';
import { isPinnedElsewhere, getPinnedRevision, type Pinning } from '../../kernel/pinning.ts';
import { readStrictAnswer, type StrictAnswer } from '../../kernel/strict-resume.ts';
import type { GraphHost } from '../../graphs/host.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import { takeBudgetAnswer, type BudgetedRun } from './answer-budget.ts';
import { pickHeaders } from './headers.ts';
import { permitRun } from './permit-run.ts';
import {
  checkFields,
  mayCreateThread,
  readRequestedCheckpoint,
  runKwargs,
  runMetadata,
  type RequestOrigin,
} from './kwargs.ts';
import type { Json } from '../../../schema/json.ts';

/** The parts that planning a run needs. */
export type PlanDeps = {
  db: Db;
  batched: BatchedStatements;
  graphs: string[];
  pinning: Pinning;
  host: GraphHost;
  jobs: JobSettings;
  webhooks: Webhooks;
  bounds: { budgets: RunBudgets };
  requests: {
    /** Returns whether a header, by its lower-case name, becomes a configurable value of the request's runs. */
    passes: (header: string) => boolean;
  };
};

/** The facts that a run takes from its request. `configurable`: the origin's additions to the run's own. */
export type RequestFacts = Omit<AgentCall, 'signal'> & {
  configurable?: Json;
};

export type AskedContext = Promise<(RunContext & { thread_runs: number }) | undefined>;

type PlanOptions = {
  threadId: string | undefined;
  request: RequestFacts;
  protocol?: true | undefined;
  answers?: string[] | undefined;
  keepsWaiting?: true | undefined;
  repeatable?: true | undefined;
  task?: TaskOfRun | undefined;
  context?: AskedContext | undefined;
  answering?: StrictAnswer | undefined;
};

/** A run that may be made, before anybody reads it. */
export type PlannedRun = Omit<NewRun, 'readers'>;

/** Checks what a request asks for, and makes from it the run that is to be stored. */
export async function planRun(
  deps: PlanDeps,
  asked: RunCreate,
  { threadId, request, context, task, answering: given, ...facts }: PlanOptions,
): Promise<PlannedRun> {
  checkFields(asked, threadId);
  const [run_id, thread_id] = [createId(), threadId ?? createId()];
  const assistantId = resolveAssistantId(asked.assistant_id, deps.graphs);
  const whose = { caller: request.caller, graphs: deps.graphs };
  const { body: permitted, permits } = await permitRun(whose, asked, {
    run_id,
    thread_id: threadId ?? null,
    assistant_id: assistantId,
  });
  const from = await applyVersion(
    deps,
    permitted,
    await loadRunContext(deps, { assistantId, threadId: thread_id, context }, permits),
  );
  const budgeted = await applyBudgets(deps, permitted, { from, threadId: thread_id, request });
  const { body } = budgeted;
  await checkCheckpoint(deps.db, thread_id, readRequestedCheckpoint(body));
  const stateless = threadId === undefined;
  const ownKwargs = runKwargs(body, applyDefaults(from, deps.jobs), {
    run_id,
    thread_id,
    temporary: stateless && body.on_completion !== 'keep',
    ...facts,
    encryptionContext: getCurrentContext(),
    traced: getWorkTrace(),
    origin: buildOrigin(request, deps),
  });
  const kwargs = { ...ownKwargs, ...budgeted.kwargs };
  const answering = budgeted.answering ?? given ?? readStrictAnswer(body);
  const place = await readRevisionPlace(deps, request, from.graph_id);
  // Another revision executes it by its own graph, which this one may not have.
  if (
    isSent(place, deps.pinning) ||
    isPinnedElsewhere(deps.pinning, {
      thread: from.thread_revision,
      isContinued: isContinued(kwargs),
    })
  )
    checkSteps(body, from, deps.jobs);
  else {
    checkCall(deps, body, from);
    if (facts.protocol === true) deps.host.permitEvents(from.graph_id);
  }
  return {
    run_id,
    thread_id,
    assistant_id: from.assistant_id,
    graph_id: from.graph_id,
    metadata: runMetadata(body, from),
    kwargs,
    webhook: deps.webhooks.resolveTarget(body.webhook),
    task,
    multitask_strategy: body.multitask_strategy ?? 'enqueue',
    // An interval takes no number as small as a double can be, so this is rounded to whole milliseconds.
    ...(place !== undefined && { place }),
    ...(answering !== undefined && { answering }),
    ...(budgeted.raise !== undefined && { raise: budgeted.raise }),
    after_seconds: Math.round((body.after_seconds ?? 0) * 1000) / 1000,
    thread: {
      create: stateless || mayCreateThread(body),
      ...buildThreadChanges(body, from, permits),
    },
  };
}

/** Takes the answer to a budget's question out of a request whose thread may wait for one. */
async function applyBudgets(
  deps: PlanDeps,
  body: RunCreate,
  { from, threadId, request }: { from: PlannedFrom; threadId: string; request: RequestFacts },
): Promise<BudgetedRun> {
  await deps.bounds.budgets.refuseSpent({
    graph_id: from.graph_id,
    thread_id: threadId,
    assistant_id: from.assistant_id,
    user_id: request.caller.guard?.user.identity ?? null,
  });
  if (from.has_budget_chain !== true) return { body, kwargs: {} };
  return takeBudgetAnswer(deps, body, { threadId, caller: request.caller });
}

function getWorkTrace(): Pick<RunKwargs, 'trace'> {
  const place = getCurrentTrace();
  return place === undefined ? {} : { trace: buildTraceHeaders(place) };
}

/** Returns true if the request names another revision than that of the process. */
const isSent = (place: NewRun['place'], { revision }: Pinning): boolean =>
  place?.revision !== undefined && place.revision !== revision;

/** The header by which a caller names the revision that new input is for. */
const REVISION_HEADER = 'x-gx-revision';

/** Returns the words of the request about the revision of its runs. Refuses one that takes no new input. */
async function readRevisionPlace(
  { db, pinning }: PlanDeps,
  { headers, caller }: RequestFacts,
  graph: string,
): Promise<NewRun['place']> {
  const name = headers[REVISION_HEADER];
  const asker = caller.guard?.user.identity;
  if (name === undefined) return asker === undefined ? undefined : { asker };
  if (getPinnedRevision(pinning) === undefined)
    throw buildRevisionRefusal('runs are not pinned to revisions here');
  const revision = await loadOfferedRevision(db, { name: String(name), own: pinning.revision });
  if (revision === undefined)
    throw buildRevisionRefusal('must be the serving revision, or the candidate');
  if (revision.graphs?.includes(graph) === false)
    throw buildRevisionRefusal(`names a revision that does not have the graph ${graph}`);
  return { revision: revision.name, asker };
}

const buildRevisionRefusal = (msg: string): Invalid =>
  new Invalid([{ loc: ['header', 'X-Gx-Revision'], msg, type: 'value_error' }]);

/** Refuses a call that the assistant's graph can't carry out, or whose end may not be sent to its webhook. */
export function checkCall(
  {
    graphs,
    host,
    jobs,
    webhooks,
  }: Pick<PlanDeps, 'graphs' | 'jobs' | 'webhooks'> & { host: GraphHost },
  body: RunCreate,
  from: Pick<RunContext, 'graph_id' | 'config'>,
): void {
  const { graph_id } = from;
  if (!graphs.includes(graph_id))
    throw new NotFound(`Graph "${graph_id}" of this assistant is not part of this revision.`);
  checkNodes(body, host.listNodes(graph_id));
  checkSteps(body, from, jobs);
  webhooks.resolveTarget(body.webhook);
}

/** Asks what a run takes from its assistant and its thread. */
export const askContext = (
  { batched, graphs }: PlanDeps,
  assistant: string,
  threadId: string,
): AskedContext =>
  batched.runContext({ assistantId: resolveAssistantId(assistant, graphs), threadId });

const buildOrigin = (
  { requestId, headers, caller, configurable }: RequestFacts,
  { requests }: PlanDeps,
): RequestOrigin => ({
  requestId,
  headers: { ...pickHeaders(headers, requests.passes), ...configurable },
  user: caller.guard?.user,
});

/**
 * Returns the changes that the run makes to its thread. One made for a guarded run gets the run's labels, so that its
 * caller sees it.
 */
function buildThreadChanges(
  body: RunCreate,
  from: PlannedFrom,
  permits: RunPermits | undefined,
): Omit<NewRun['thread'], 'create'> {
  const labels = permits !== undefined && from.thread_metadata === null ? body.metadata : {};
  return {
    metadata: { ...labels, graph_id: from.graph_id, assistant_id: from.assistant_id },
    runs: from.thread_runs,
    ...(permits?.thread !== undefined && { changeable: permits.thread }),
  };
}

type PlannedFrom = RunContext & { thread_runs: number };
/** Returns the run's facts from its assistant and thread. Throws `NotFound` where the caller may not use them. */
export async function loadRunContext(
  { db, batched }: PlanDeps,
  { context, ...key }: RunContextKey & { context?: AskedContext | undefined },
  permits: RunPermits | undefined,
): Promise<PlannedFrom> {
  if (permits === undefined) {
    const from = await (context ?? batched.runContext(key));
    if (from === undefined) throw new NotFound('Thread or assistant not found.');
    return from;
  }
  const from = await loadGuardedRunContext(db, key, permits);
  if (from === undefined || from.refused) throw new NotFound('Thread or assistant not found.');
  return from;
}

async function applyVersion(
  { db }: PlanDeps,
  { assistant_version: version }: RunCreate,
  from: PlannedFrom,
): Promise<PlannedFrom> {
  if (version === undefined || version === null || version === from.version) return from;
  const settings = await loadVersionSettings(db, { assistantId: from.assistant_id, version });
  if (settings === undefined)
    throw new NotFound(`Assistant ${from.assistant_id} has no version ${version}.`);
  return { ...from, ...settings };
}

/**
 * Throws `NotFound` for a checkpoint that the thread does not have, because a graph that continues from it would
 * silently start from nothing.
 */
export async function checkCheckpoint(
  db: Db,
  threadId: string,
  { checkpoint_id, checkpoint_ns }: Json,
): Promise<void> {
  if (typeof checkpoint_id !== 'string' || checkpoint_id === '') return;
  const namespace = typeof checkpoint_ns === 'string' ? checkpoint_ns : '';
  if (!(await hasCheckpoint(db, [threadId, namespace, checkpoint_id])))
    throw new NotFound(`Thread with ID ${threadId} has no checkpoint ${checkpoint_id}`);
}

/** Refuses a run that asks for more steps than the deployment lets one take, be it through its assistant. */
function checkSteps(
  body: RunCreate,
  { config }: Pick<RunContext, 'config'>,
  { maxRecursionLimit }: JobSettings,
): void {
  const { recursion_limit: steps }: Json = { ...config, ...body.config };
  if (typeof steps !== 'number' || steps <= maxRecursionLimit) return;
  const msg = `must be at most ${maxRecursionLimit} (GX_MAX_RECURSION_LIMIT)`;
  throw new Invalid([{ loc: ['body', 'config', 'recursion_limit'], msg, type: 'less_than_equal' }]);
}

const applyDefaults = (from: RunContext, { recursionLimit }: JobSettings): RunContext => ({
  ...from,
  config: { recursion_limit: recursionLimit, ...from.config },
});
