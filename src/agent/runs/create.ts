import { Conflict, Invalid, NotFound, Rejected } from '../../errors.ts';
import type { Request } from '../../http/route.ts';
import type { JsonObject } from '../../schema/agent-types.ts';
import type { Run, RunCreate, RunKwargs } from '../../schema/run.ts';
import { hasCheckpoint } from '../db/checkpoints.ts';
import { insertFeedbackTokens } from '../db/feedback.ts';
import type { Claimed } from '../db/leases.ts';
import { insertRun, lockActive, type ActiveRun, type Inserted, type NewRun, type RunContext } from '../db/runs.ts';
import type { Db } from '../db/pool.ts';
import type { AgentDeps } from '../deps.ts';
import { isUuid, newId, systemAssistantId } from '../ids.ts';
import type { Subscription } from '../stream/bus.ts';
import { admit } from './admit.ts';
import { stopRuns, tellStopped, type Stopped } from './cancel.ts';
import { feedbackTokens } from './feedback.ts';
import { configurableHeaders } from './headers.ts';
import { checkFields, placeOf, runKwargs, runMetadata, type RequestOrigin } from './kwargs.ts';
import { checkNodes } from '../nodes.ts';

export type Created = { run: Run; subscription: Subscription | undefined };

/** `caller`: the request that asks for the run. */
type Options = { threadId: string | undefined; follow: AbortSignal | undefined; caller: Pick<Request, 'requestId' | 'headers'> };

const BUSY = 'Thread is already running a task. Wait for it to finish or choose a different multitask strategy.';

/** Makes a run: one statement when nobody has to be stopped or refused, else one transaction that holds the thread. */
export async function createRun(deps: AgentDeps, body: RunCreate, options: Options): Promise<Created> {
  return make(deps, await asked(deps, body, options), options);
}

/** Makes runs on threads of their own: none when one of them has to be refused. */
export async function createRuns(deps: AgentDeps, bodies: RunCreate[], caller: Options['caller']): Promise<Run[]> {
  const options = { threadId: undefined, follow: undefined, caller };
  const all: Asked[] = [];
  for (const [at, body] of bodies.entries()) all.push(await asked(deps, body, options).catch(told(at)));
  const runs: Run[] = [];
  for (const one of all) runs.push((await make(deps, one, options)).run);
  return runs;
}

/** What is wrong with one of several is told with its place. */
const told =
  (at: number) =>
  (error: unknown): never => {
    if (!(error instanceof Invalid)) throw error;
    const fields = error.fields.map(({ loc: [where = 'body', ...rest], ...field }) => ({ ...field, loc: [where, at, ...rest] }));
    throw new Invalid(fields, { cause: error });
  };

/** A run that may be made. */
type Asked = { body: RunCreate; next: NewRun };

async function asked(deps: AgentDeps, body: RunCreate, { threadId, follow, caller }: Options): Promise<Asked> {
  checkFields(body, threadId);
  const next = await newRun(deps, body, {
    run_id: newId(),
    threadId,
    readers: follow ? [deps.signals.processId] : [],
    caller: { requestId: caller.requestId, headers: configurableHeaders(caller.headers, deps.requests.passes) },
  });
  return { body, next };
}

async function make(deps: AgentDeps, { body, next }: Asked, { follow, caller }: Options): Promise<Created> {
  const { run_id } = next;
  const subscription = follow && deps.bus.follow(run_id, follow);
  const expected = deps.bus.expect(run_id);
  try {
    const tokens = feedbackTokens(body, deps.requests.address(caller.headers));
    if (tokens.length > 0) await insertFeedbackTokens(deps.db, next, tokens);
    const { run } = await insert(deps, next);
    deps.log.debug({ run_id, thread_id: run.thread_id }, 'run created');
    // It was when it was made, however soon it started.
    return { run: { ...run, status: 'pending' }, subscription };
  } catch (error) {
    subscription?.close();
    throw error;
  } finally {
    expected.made();
  }
}

type Names = { run_id: string; threadId: string | undefined; readers: string[]; caller: RequestOrigin };

async function newRun(deps: AgentDeps, body: RunCreate, { run_id, threadId, readers, caller }: Names): Promise<NewRun> {
  if (threadId === undefined && body.command?.['resume'] !== undefined && body.command['resume'] !== null)
    throw new Rejected('command.resume: You must provide a thread_id when resuming.');
  const thread_id = threadId ?? newId();
  await checkCheckpoint(deps.db, thread_id, placeOf(body));
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
      caller,
    }),
    multitask_strategy: body.multitask_strategy ?? 'enqueue',
    // In whole milliseconds: an interval takes no number as small as a double can be.
    after_seconds: Math.round((body.after_seconds ?? 0) * 1000) / 1000,
    readers,
    thread: {
      create: stateless || body.if_not_exists === 'create',
      metadata: { graph_id: from.graph_id, assistant_id: from.assistant_id },
      runs: from.thread_runs,
    },
  };
}

/** A graph that is told to go on from a checkpoint that is not there begins from nothing, without a word. */
export async function checkCheckpoint(db: Db, threadId: string, { checkpoint_id, checkpoint_ns }: JsonObject): Promise<void> {
  if (typeof checkpoint_id !== 'string' || checkpoint_id === '') return;
  const namespace = typeof checkpoint_ns === 'string' ? checkpoint_ns : '';
  if (!(await hasCheckpoint(db, [threadId, namespace, checkpoint_id])))
    throw new NotFound(`Thread with ID ${threadId} has no checkpoint ${checkpoint_id}`);
}

const withDefaults = (from: RunContext, { recursionLimit }: AgentDeps['jobs']): RunContext => ({
  ...from,
  config: { recursion_limit: recursionLimit, ...from.config },
});

/** A graph's name stands for its own assistant. */
export function assistantIdOf(text: string, graphs: string[], place: 'body' | 'path' = 'body'): string {
  if (graphs.includes(text)) return systemAssistantId(text);
  if (isUuid(text)) return text;
  const msg = `Invalid assistant: '${text}'. Must be either a valid assistant UUID or one of the graphs ${graphs.join(', ')}`;
  throw new Invalid([{ loc: [place, 'assistant_id'], msg, type: 'assistant' }]);
}

async function insert(deps: AgentDeps, run: NewRun): Promise<Inserted> {
  const started = await insertStarted(deps, run);
  if (started !== undefined) return started;
  const found = run.multitask_strategy === 'enqueue' ? await write(deps, deps.db, run) : await insertHolding(deps, run);
  if (found === undefined) throw new NotFound('Thread or assistant not found.');
  if (run.after_seconds === 0) await wake(deps);
  return found;
}

async function wake({ pump, signals }: AgentDeps): Promise<void> {
  if (pump.hasRoom) pump.poke();
  else await signals.send({ about: 'ticket' });
}

/** The short way: with a free slot here and a free thread, the run starts with its first write. Undefined: it has not been made. */
async function insertStarted(deps: AgentDeps, run: NewRun): Promise<Inserted | undefined> {
  const seat = run.multitask_strategy === 'enqueue' && run.after_seconds === 0 ? deps.pump.seat() : undefined;
  if (seat === undefined) return undefined;
  try {
    const found = await insertRun(deps.db, run, { sql: deps.tickets.sql, payload: NO_TICKET }, seat);
    if (found === undefined) throw new NotFound('Thread or assistant not found.');
    if (found.run.status === 'running') seat.start(claimed(run, found));
    else {
      await deps.tickets.send(deps.db, run);
      deps.pump.poke();
    }
    return found;
  } catch (error) {
    // Another run of the thread was started in the same moment.
    if (error instanceof Conflict) return undefined;
    throw error;
  } finally {
    seat.release();
  }
}

const NO_TICKET = '[]';

function claimed({ graph_id, readers }: NewRun, { run, thread_readers, empty }: Inserted): Claimed {
  const { run_id, thread_id } = run;
  const kwargs = run.kwargs as RunKwargs;
  const { temporary, resumable } = kwargs;
  const all = [...readers, ...thread_readers];
  return { run_id, thread_id, graph_id, attempt: 1, kwargs, temporary, resumable, alone: false, cancel: null, readers: all, empty };
}

const write = ({ tickets }: AgentDeps, db: Db, run: NewRun): Promise<Inserted | undefined> =>
  insertRun(db, run, { sql: tickets.sql, payload: tickets.payload(run) });

/** The other strategies decide on the unfinished runs of the thread; none can come in between. */
async function insertHolding(deps: AgentDeps, run: NewRun): Promise<Inserted | undefined> {
  let stopped: Stopped | undefined;
  const inserted = await deps.db.transaction(async (tx) => {
    const active: ActiveRun[] = (await lockActive(tx, run.thread_id)) ?? [];
    const admission = admit(run.multitask_strategy, active.length);
    if (!admission.admitted) throw new Conflict(BUSY);
    if (admission.stop !== undefined) stopped = await stopRuns(tx, active, admission.stop);
    return write(deps, tx, run);
  });
  if (stopped !== undefined) await tellStopped(deps, stopped);
  return inserted;
}
