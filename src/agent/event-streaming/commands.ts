import { Conflict, Problem, Unavailable } from '../../errors.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import type { Command } from '../../schema/agent/event-streaming.ts';
import { type AgentCall, permitAccess } from '../auth/caller.ts';
import { isAssistant } from '../kernel/ids.ts';
import { runOnlyOnce } from '../runs/making/only-once.ts';
import type { RequestKey } from '../kernel/request-key.ts';
import { announceProtocolRun, type CreateDeps, createRunOnce } from '../runs/making/create-run.ts';
import { askContext } from '../runs/making/context.ts';
import type { AskedContext } from '../runs/making/request.ts';
import type { Readers } from '../runs/reading/readers.ts';
import { isLifecycle } from '../stream/protocol/last-run.ts';
import { buildAgentTree } from './agent-tree.ts';
import {
  type CommandAnswer,
  CommandError,
  buildCommandFailure,
  buildCommandSuccess,
} from './answers.ts';
import { buildRespondingRun, buildStartedRun } from './run-of-command.ts';
import { loadVisibility } from './visibility.ts';
import { EventsNotServed } from '../graphs/language-host.ts';
import type { Json } from '../../schema/json.ts';
import { type StateCommandDeps, readStateOf } from './state-command.ts';
import {
  listInterruptIds,
  loadSettledQuestions,
  openQuestions,
  type QuestionDeps,
} from './open-questions.ts';

/* Commands of protocol v2 that every transport takes. An error in a command becomes its answer. */

export type CommandDeps = CreateDeps & StateCommandDeps & QuestionDeps & { readers: Readers };

type Target = {
  threadId: string;
  request: AgentCall;
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
export const isRunStart = ({ method }: { method: string }): boolean =>
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
  const open = await openQuestions(deps, target.threadId, target.request.signal);
  const body = buildStartedRun(params, open);
  return {
    run_id: await run(deps, body, target, { context, ...(body.command && { answers: open }) }),
  };
}

function respond(deps: CommandDeps, params: Json, target: Target): Promise<Json> {
  const make = async (): Promise<Json> => {
    const thread = await loadSettledQuestions(deps, target.threadId, target.request.signal);
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

async function run(
  deps: CommandDeps,
  body: RunCreate,
  { threadId, request, key }: Target,
  facts: { context?: AskedContext | undefined; answers?: string[] } = {},
): Promise<string> {
  const created = await createRunOnce(
    deps,
    { body, threadId, call: request, key },
    { protocol: true, ...facts },
  );
  announceProtocolRun(deps, created);
  return created.run.run_id;
}

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
