import type { JobSettings } from '../../config/agent.ts';
import { NotFound, Rejected } from '../../errors.ts';
import type { Request } from '../../http/route.ts';
import type { JsonObject } from '../../schema/agent-types.ts';
import type { RunCreate } from '../../schema/run.ts';
import type { BatchedStatements } from '../db/batched-statements.ts';
import { hasCheckpoint } from '../db/checkpoints.ts';
import type { Db } from '../db/pool.ts';
import type { NewRun, RunContext } from '../db/runs.ts';
import { assistantIdOf, newId } from '../ids.ts';
import { checkNodes } from '../nodes.ts';
import type { GraphHost } from '../threads/host.ts';
import { configurableHeaders } from './headers.ts';
import { checkFields, makesThread, requestedCheckpoint, runKwargs, runMetadata } from './kwargs.ts';

/** The parts that planning a run needs. */
export type PlanDeps = {
  db: Db;
  batched: Pick<BatchedStatements, 'runContext'>;
  /** The graphs of this revision. */
  graphs: string[];
  host: Pick<GraphHost, 'nodesOf'>;
  jobs: JobSettings;
  requests: {
    /** Returns whether a header, by its lower-case name, becomes a configurable value of the request's runs. */
    passes: (header: string) => boolean;
  };
};

/** What a run takes from the request that asks for it. */
export type RequestFacts = Pick<Request, 'requestId' | 'headers'>;

/** A run that may be made, before anybody reads it. */
export type PlannedRun = Omit<NewRun, 'readers'>;

/** Checks what a request asks for, and makes from it the run that is to be stored. */
export async function planRun(
  deps: PlanDeps,
  body: RunCreate,
  { threadId, request, protocol }: { threadId: string | undefined; request: RequestFacts; protocol?: true | undefined },
): Promise<PlannedRun> {
  checkFields(body, threadId);
  if (threadId === undefined && body.command?.['resume'] !== undefined && body.command['resume'] !== null)
    throw new Rejected('command.resume: You must provide a thread_id when resuming.');
  const [run_id, thread_id] = [newId(), threadId ?? newId()];
  await checkCheckpoint(deps.db, thread_id, requestedCheckpoint(body));
  const from = await deps.batched.runContext({ assistantId: assistantIdOf(body.assistant_id, deps.graphs), threadId: thread_id });
  if (from === undefined) throw new NotFound('Thread or assistant not found.');
  if (!deps.graphs.includes(from.graph_id)) throw new NotFound(`Graph "${from.graph_id}" of this assistant is not part of this revision.`);
  checkNodes(body, deps.host.nodesOf(from.graph_id));
  const stateless = threadId === undefined;
  return {
    run_id,
    thread_id,
    assistant_id: from.assistant_id,
    graph_id: from.graph_id,
    metadata: runMetadata(body, from),
    kwargs: runKwargs(body, withDefaults(from, deps.jobs), {
      run_id,
      thread_id,
      temporary: stateless && body.on_completion !== 'keep',
      protocol,
      origin: { requestId: request.requestId, headers: configurableHeaders(request.headers, deps.requests.passes) },
    }),
    multitask_strategy: body.multitask_strategy ?? 'enqueue',
    // An interval takes no number as small as a double can be, so this is rounded to whole milliseconds.
    after_seconds: Math.round((body.after_seconds ?? 0) * 1000) / 1000,
    thread: {
      create: stateless || makesThread(body),
      metadata: { graph_id: from.graph_id, assistant_id: from.assistant_id },
      runs: from.thread_runs,
    },
  };
}

/**
 * Throws `NotFound` for a checkpoint that the thread does not have, because a graph told to continue from it would
 * silently start from nothing.
 */
export async function checkCheckpoint(db: Db, threadId: string, { checkpoint_id, checkpoint_ns }: JsonObject): Promise<void> {
  if (typeof checkpoint_id !== 'string' || checkpoint_id === '') return;
  const namespace = typeof checkpoint_ns === 'string' ? checkpoint_ns : '';
  if (!(await hasCheckpoint(db, [threadId, namespace, checkpoint_id])))
    throw new NotFound(`Thread with ID ${threadId} has no checkpoint ${checkpoint_id}`);
}

const withDefaults = (from: RunContext, { recursionLimit }: JobSettings): RunContext => ({
  ...from,
  config: { recursion_limit: recursionLimit, ...from.config },
});
