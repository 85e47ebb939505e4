import { Conflict, Problem, Unavailable } from '../../errors.ts';
import type { Request } from '../../http/route.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import type { Command } from '../../schema/agent/event-streaming.ts';
import { type AgentCaller, permitAccess } from '../auth/caller.ts';
import type { BatchedStatements } from '../db/batched-statements.ts';
import { loadThreadHead, type ThreadQuestions } from '../db/threads/threads.ts';
import { isAssistant } from '../kernel/ids.ts';
import { runOnlyOnce } from '../runs/only-once.ts';
import type { RequestKey } from '../kernel/request-key.ts';
import { announceProtocolRun, type CreateDeps, createRun } from '../runs/create.ts';
import { askContext, type AskedContext } from '../runs/plan.ts';
import type { Readers } from '../runs/readers.ts';
import { isLifecycle, listQuestionIds } from '../stream/protocol/last-run.ts';
import { buildAgentTree } from './agent-tree.ts';
import {
  type CommandAnswer,
  CommandError,
  buildCommandFailure,
  buildCommandSuccess,
} from './answers.ts';
import { buildRespondingRun, buildStartedRun } from './run-of-command.ts';
import { loadVisibility } from './visibility.ts';
import type { Db } from '../db/base/pool.ts';
import { EventsNotServed } from '../graphs/language-host.ts';
import type { PinnedCalls } from '../graphs/pinned-calls.ts';
import { toStateForm } from '../stream/protocol/state-form.ts';
import { selectActive } from '../db/runs/runs.ts';
import type { Json } from '../../schema/json.ts';

/* Commands of protocol v2 that every transport takes. An error in a command becomes its answer. */

export type CommandDeps = CreateDeps &
  StateCommandDeps &
  UntilEndedDeps & {
    batched: Pick<BatchedStatements, 'threadQuestions'>;
    readers: Pick<Readers, 'announceProtocolRun' | 'loadReportedRun'>;
  };

type Target = {
  threadId: string;
  request: Pick<
    Request<unknown, unknown, unknown, AgentCaller>,
    'requestId' | 'headers' | 'forwarded' | 'caller' | 'signal'
  >;
  /** That of the request, where its command is carried out once. */
  key?: RequestKey | undefined;
};

export async function answerCommand(
  deps: CommandDeps,
  command: Command,
  target: Target,
): Promise<CommandAnswer> {
  try {
    return buildCommandSuccess(command.id, await runCommand(deps, command, target));
  } catch (error) {
    return buildCommandFailure(command.id, toCommandError(error));
  }
}

/**
 * Turns a rule that the command breaks into its answer. The request itself fails if the caller lacks permission, if no
 * command would start such a run, if it may succeed later, or if the fault is our own.
 */
function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof EventsNotServed) throw error;
  const isRefused = error instanceof Problem && [401, 403].includes(error.status);
  if (
    error instanceof Problem &&
    !isRefused &&
    !(error instanceof Unavailable) &&
    error.status < 500
  )
    return new CommandError('invalid_argument', error.message);
  throw error;
}

/** Returns true for a command that starts a run. */
export const isRunStart = ({ method }: Pick<Command, 'method'>): boolean =>
  method === 'run.start' || method === 'input.respond';

/** Commands that the protocol knows and this server does not serve. */
const NOT_SERVED = ['input.inject', 'state.listCheckpoints', 'state.fork'];

function runCommand(deps: CommandDeps, { method, params }: Command, target: Target): Promise<Json> {
  if (isRunStart({ method })) permitAccess(target.request.caller, 'write');
  switch (method) {
    case 'run.start':
      return start(deps, params ?? {}, target);
    case 'input.respond':
      return runIfVisible(deps, target, () => respond(deps, params ?? {}, target));
    case 'agent.getTree':
      return runIfVisible(deps, target, () => loadTree(deps, target.threadId));
    case 'state.get':
      return runIfVisible(deps, target, () => readStateOf(deps, target.threadId, params ?? {}));
    default:
      if (method.startsWith('subscription.'))
        throw new CommandError('not_supported', `${method} belongs to a WebSocket.`);
      if (NOT_SERVED.includes(method))
        throw new CommandError('not_supported', `${method} is not served.`);
      throw new CommandError('unknown_command', `Unknown protocol command: ${method}`);
  }
}

async function runIfVisible(
  deps: CommandDeps,
  { threadId, request }: Target,
  act: () => Promise<Json>,
): Promise<Json> {
  await loadVisibility(deps.db, request.caller, threadId);
  return act();
}

async function start(deps: CommandDeps, params: Json, target: Target): Promise<Json> {
  const context = loadStartContext(deps, params, target);
  const open = await openQuestions(deps, target);
  const body = buildStartedRun(params, open);
  return {
    run_id: await run(deps, body, target, { context, ...(body.command && { answers: open }) }),
  };
}

function respond(deps: CommandDeps, params: Json, target: Target): Promise<Json> {
  const make = async (): Promise<Json> => {
    const thread = await loadSettledQuestions(deps, target);
    if (!thread?.assistant_id)
      throw new CommandError('no_such_run', 'The thread has no run that could wait for an answer.');
    await run(
      deps,
      buildRespondingRun(params, {
        assistant_id: thread.assistant_id,
        waiting: listInterruptIds(thread),
      }),
      target,
    ).catch(refuseLateAnswer);
    return {};
  };
  // A repetition finds no question any more, and would wait for the run that the answer began.
  return runOnlyOnce(deps.db, target.key, {
    make,
    again: () => Promise.resolve({}),
    looksFirst: true,
  });
}

/** Answers a client that was not the first to answer a question. */
function refuseLateAnswer(error: unknown): never {
  throw error instanceof Conflict ? new CommandError('no_such_interrupt', error.message) : error;
}

/** Asks what the run needs beside the question where the thread stands. A faulty name is refused where it is read. */
function loadStartContext(
  deps: CommandDeps,
  { assistant_id }: Json,
  { threadId }: Target,
): AskedContext | undefined {
  if (typeof assistant_id !== 'string' || !isAssistant(assistant_id, deps.graphs)) return undefined;
  const context = askContext(deps, assistant_id, threadId);
  // Its failure counts where it is awaited.
  context.catch(() => undefined);
  return context;
}

type RunFacts = { context?: AskedContext | undefined; answers?: string[] };

async function run(
  deps: CommandDeps,
  body: RunCreate,
  { threadId, request, key }: Target,
  facts: RunFacts = {},
): Promise<string> {
  const created = await createRun(deps, body, {
    threadId,
    request,
    key,
    follow: undefined,
    protocol: true,
    ...facts,
  });
  announceProtocolRun(deps, created);
  return created.run.run_id;
}

const listInterruptIds = (thread: ThreadQuestions | undefined): string[] =>
  thread?.status === 'interrupted'
    ? Object.values(thread.interrupts).flatMap((some) => some.flatMap(({ id }) => id ?? []))
    : [];

/** Returns the open questions of the thread, once the run whose last events the client may have seen has ended. */
async function loadSettledQuestions(
  deps: CommandDeps,
  { threadId, request }: Target,
): Promise<ThreadQuestions | undefined> {
  const thread = await deps.batched.threadQuestions(threadId);
  if (thread?.status !== 'busy') return thread;
  await waitForRunEnd(deps, { threadId }, request.signal);
  return deps.batched.threadQuestions(threadId);
}

/**
 * Returns the questions that the client may have seen: those that the thread waits at, or that the run under way has
 * asked so far.
 */
async function openQuestions(deps: CommandDeps, { threadId, request }: Target): Promise<string[]> {
  const thread = await deps.batched.threadQuestions(threadId);
  if (thread?.status !== 'busy') return listInterruptIds(thread);
  const { run_id, events } = (await deps.readers.loadReportedRun(threadId)) ?? { events: [] };
  const asked = listQuestionIds(events);
  if (!OVER.includes(buildAgentTree(events.filter(isLifecycle), NOTHING_REPORTED).status))
    return asked;
  await waitForRunEnd(deps, { threadId, run_id }, request.signal);
  const later = await deps.batched.threadQuestions(threadId);
  return later?.status === 'busy' ? asked : listInterruptIds(later);
}

const NOTHING_REPORTED = { status: '', graph_name: '' };
const OVER = ['completed', 'failed', 'interrupted'];

const STATUS_OF_THREAD: Record<string, string> = {
  busy: 'running',
  idle: 'completed',
  error: 'failed',
  interrupted: 'interrupted',
};

async function loadTree(deps: CommandDeps, threadId: string): Promise<Json> {
  const thread = await deps.batched.threadQuestions(threadId);
  if (thread === undefined) throw new CommandError('no_such_run', 'The thread has no run.');
  const root = { status: STATUS_OF_THREAD[thread.status]!, graph_name: thread.graph_id ?? '' };
  const reported = await deps.readers.loadReportedRun(threadId);
  return { tree: buildAgentTree((reported?.events ?? []).filter(isLifecycle), root) };
}

/* The answer to `state.get`: the state of a thread's graph, or of one within it. */

type StateCommandDeps = { db: Db; pinnedCalls: Pick<PinnedCalls, 'call'> };

type State = {
  values: unknown;
  checkpoint: { checkpoint_id?: string | null; checkpoint_ns?: string } | null;
};

async function readStateOf(
  { db, pinnedCalls }: StateCommandDeps,
  threadId: string,
  { namespace, keys }: Json,
): Promise<Json> {
  const head = await loadThreadHead(db, threadId);
  if (head === undefined || head.graph_id === null)
    throw new CommandError('no_such_run', 'The thread has no state: it has had no run.');
  const place = readTexts(namespace, 'namespace') ?? [];
  const wanted = readTexts(keys, 'keys');
  const checkpoint = place.length > 0 ? { checkpoint_ns: place.join('|') } : null;
  const { json } = await pinnedCalls.call({ ...head, graph_id: head.graph_id }, 'state', {
    checkpoint,
  });
  const state = JSON.parse(json) as State;
  const { checkpoint_id: id, checkpoint_ns: ns } = state.checkpoint ?? {};
  if (place.length > 0 && !id)
    throw new CommandError(
      'no_such_namespace',
      `The thread has no state under ${place.join('|')}.`,
    );
  const values = toStateForm(state.values) as Json;
  const shown =
    wanted === undefined
      ? values
      : Object.fromEntries(Object.entries(values).filter(([name]) => wanted.includes(name)));
  return { values: shown, ...(id && { checkpoint: { id, ...(ns && { ns }) } }) };
}

function readTexts(value: unknown, name: string): string[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new CommandError('invalid_argument', `${name} is a list of texts.`);
}

/* A client may see the last events of a run before its end is written, so its next command has to wait for that. */

type UntilEndedDeps = { db: Db; readers: Pick<Readers, 'followRun' | 'waitForEnd'> };

/** Milliseconds within which the end of such a run is written. */
const WRITTEN_WITHIN = 10_000;

/** `run_id`: the run whose end is meant; without it, the one that is under way. */
type Place = { threadId: string; run_id?: string | undefined };

/** Settles when the thread's run under way has ended, or does not end in time. */
async function waitForRunEnd(
  { db, readers }: UntilEndedDeps,
  { threadId, run_id }: Place,
  signal: AbortSignal,
): Promise<void> {
  const active = await selectActive(db, { thread_id: threadId });
  const running = active.find(
    ({ status, run_id: id }) => status === 'running' && (run_id === undefined || id === run_id),
  );
  if (running === undefined) return;
  const enough = AbortSignal.any([signal, AbortSignal.timeout(WRITTEN_WITHIN)]);
  const { progress, subscription } = await readers.followRun(
    { runId: running.run_id, threadId },
    { signal: enough, hears: 'end' },
  );
  if (progress.status === 'running') await readers.waitForEnd(progress, subscription);
  else subscription.close();
}
