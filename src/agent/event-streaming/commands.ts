import { Problem, Unavailable } from '../../errors.ts';
import type { Request } from '../../http/route.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import type { Command } from '../../schema/agent/event-streaming.ts';
import { permitAccess, type AgentCaller } from '../auth/caller.ts';
import type { BatchedStatements } from '../db/batched-statements.ts';
import type { ThreadQuestions } from '../db/threads/threads.ts';
import { isAssistant } from '../kernel/ids.ts';
import { onlyOnce } from '../runs/only-once.ts';
import type { RequestKey } from '../kernel/request-key.ts';
import { createRun, type CreateDeps } from '../runs/create.ts';
import { askContext, type AskedContext } from '../runs/plan.ts';
import type { Readers } from '../runs/readers.ts';
import { isLifecycle, questionsAmong } from '../stream/protocol/last-run.ts';
import { agentTree } from './agent-tree.ts';
import { CommandError, failure, success, type CommandAnswer } from './answers.ts';
import { runOfRespond, runOfStart } from './run-of-command.ts';
import { readStateOf, type StateCommandDeps } from './state-of-command.ts';
import { visibility } from './visibility.ts';
import { untilEnded, type UntilEndedDeps } from './until-ended.ts';

/* Commands of protocol v2 that every transport takes. An error in a command becomes its answer. */

export type CommandDeps = CreateDeps &
  StateCommandDeps &
  UntilEndedDeps & { batched: Pick<BatchedStatements, 'threadQuestions'>; readers: Pick<Readers, 'tellProtocolRun' | 'toldByLastRun'> };

type Json = Record<string, unknown>;
type AgentRequest = Request<unknown, unknown, unknown, AgentCaller>;
type Target = {
  threadId: string;
  request: Pick<AgentRequest, 'requestId' | 'headers' | 'caller' | 'signal'>;
  /** That of the request, where its command is carried out once. */
  key?: RequestKey | undefined;
};

export async function answerCommand(deps: CommandDeps, command: Command, target: Target): Promise<CommandAnswer> {
  try {
    return success(command.id, await carryOut(deps, command, target));
  } catch (error) {
    return failure(command.id, asCommandError(error));
  }
}

/**
 * Turns a rule that the command breaks into its answer. What the caller may not do, may succeed later, or is our own
 * fault, fails the request.
 */
function asCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  const isRefused = error instanceof Problem && [401, 403].includes(error.status);
  if (error instanceof Problem && !isRefused && !(error instanceof Unavailable) && error.status < 500)
    return new CommandError('invalid_argument', error.message);
  throw error;
}

/** Returns true for a command that starts a run. */
export const startsRun = ({ method }: Pick<Command, 'method'>): boolean => method === 'run.start' || method === 'input.respond';

/** Commands that the protocol knows and this server does not serve. */
const NOT_SERVED = ['input.inject', 'state.listCheckpoints', 'state.fork'];

function carryOut(deps: CommandDeps, { method, params }: Command, target: Target): Promise<Json> {
  if (startsRun({ method })) permitAccess(target.request.caller, 'write');
  switch (method) {
    case 'run.start':
      return start(deps, params ?? {}, target);
    case 'input.respond':
      return seeing(deps, target, () => respond(deps, params ?? {}, target));
    case 'agent.getTree':
      return seeing(deps, target, () => tree(deps, target.threadId));
    case 'state.get':
      return seeing(deps, target, () => readStateOf(deps, target.threadId, params ?? {}));
    default:
      if (method.startsWith('subscription.')) throw new CommandError('not_supported', `${method} belongs to a WebSocket.`);
      if (NOT_SERVED.includes(method)) throw new CommandError('not_supported', `${method} is not served.`);
      throw new CommandError('unknown_command', `Unknown protocol command: ${method}`);
  }
}

/** Carries out what tells of the thread, if the caller may see it. */
async function seeing(deps: CommandDeps, { threadId, request }: Target, act: () => Promise<Json>): Promise<Json> {
  await visibility(deps.db, request.caller, threadId);
  return act();
}

async function start(deps: CommandDeps, params: Json, target: Target): Promise<Json> {
  const context = contextOfStart(deps, params, target);
  const open = await openQuestions(deps, target);
  const body = runOfStart(params, open);
  return { run_id: await run(deps, body, target, { context, ...(body.command && { answers: open }) }) };
}

function respond(deps: CommandDeps, params: Json, target: Target): Promise<Json> {
  const make = async (): Promise<Json> => {
    const thread = await settled(deps, target);
    if (!thread?.assistant_id) throw new CommandError('no_such_run', 'The thread has no run that could wait for an answer.');
    await run(deps, runOfRespond(params, { assistant_id: thread.assistant_id, waiting: waitingOf(thread) }), target);
    return {};
  };
  // A repetition finds no question any more, and would wait for the run that the answer began.
  return onlyOnce(deps.db, target.key, { make, again: () => Promise.resolve({}), looksFirst: true });
}

/** Asks what the run needs beside the question where the thread stands. A faulty name is refused where it is read. */
function contextOfStart(deps: CommandDeps, { assistant_id }: Json, { threadId }: Target): AskedContext | undefined {
  if (typeof assistant_id !== 'string' || !isAssistant(assistant_id, deps.graphs)) return undefined;
  const context = askContext(deps, assistant_id, threadId);
  // Its failure counts where it is awaited.
  context.catch(() => undefined);
  return context;
}

type RunFacts = { context?: AskedContext | undefined; answers?: string[] };

async function run(deps: CommandDeps, body: RunCreate, { threadId, request, key }: Target, facts: RunFacts = {}): Promise<string> {
  const created = await createRun(deps, body, { threadId, request, key, follow: undefined, protocol: true, ...facts });
  // The client need not wait for it, because others find the run in the table sooner or later.
  deps.readers
    .tellProtocolRun(threadId, created.readers)
    .catch((error: unknown) =>
      deps.log.warn({ err: error, thread_id: threadId }, 'other processes could not be told of a run; their readers hear of it later'),
    );
  return created.run.run_id;
}

const waitingOf = (thread: ThreadQuestions | undefined): string[] =>
  thread?.status === 'interrupted' ? Object.values(thread.interrupts).flatMap((some) => some.flatMap(({ id }) => id ?? [])) : [];

/** Returns what the thread waits for, once the run whose last events the client may have seen already has ended. */
async function settled(deps: CommandDeps, { threadId, request }: Target): Promise<ThreadQuestions | undefined> {
  const thread = await deps.batched.threadQuestions(threadId);
  if (thread?.status !== 'busy') return thread;
  await untilEnded(deps, { threadId }, request.signal);
  return deps.batched.threadQuestions(threadId);
}

/**
 * Returns the questions that the client may have seen: those that the thread waits at, or that the run under way has
 * asked so far.
 */
async function openQuestions(deps: CommandDeps, { threadId, request }: Target): Promise<string[]> {
  const thread = await deps.batched.threadQuestions(threadId);
  if (thread?.status !== 'busy') return waitingOf(thread);
  const { run_id, events } = (await deps.readers.toldByLastRun(threadId)) ?? { events: [] };
  const asked = questionsAmong(events);
  if (!OVER.includes(agentTree(events.filter(isLifecycle), NOTHING_TOLD).status)) return asked;
  await untilEnded(deps, { threadId, run_id }, request.signal);
  const later = await deps.batched.threadQuestions(threadId);
  return later?.status === 'busy' ? asked : waitingOf(later);
}

const NOTHING_TOLD = { status: '', graph_name: '' };
const OVER = ['completed', 'failed', 'interrupted'];

const AS_TOLD: Record<string, string> = { busy: 'running', idle: 'completed', error: 'failed', interrupted: 'interrupted' };

async function tree(deps: CommandDeps, threadId: string): Promise<Json> {
  const thread = await deps.batched.threadQuestions(threadId);
  if (thread === undefined) throw new CommandError('no_such_run', 'The thread has no run.');
  const root = { status: AS_TOLD[thread.status]!, graph_name: thread.graph_id ?? '' };
  const told = await deps.readers.toldByLastRun(threadId);
  return { tree: agentTree((told?.events ?? []).filter(isLifecycle), root) };
}
