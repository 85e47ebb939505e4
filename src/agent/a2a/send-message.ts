import type { Message, SendMessageRequest } from '@a2a-js/sdk';
import { Conflict, NotFound, Rejected } from '../../errors.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import { parseJsonText } from '../../schema/wire/wall/json-text.ts';
import type { AgentCall, AgentCaller } from '../auth/caller.ts';
import type { PushTarget } from '../db/webhooks/push-configs.ts';
import { findTask, loadLastTask } from '../db/runs/tasks.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { isUuid } from '../kernel/ids.ts';
import { buildContentKey, type RequestKey } from '../kernel/request-key.ts';
import { createRun, type CreatedRun } from '../runs/making/create-run.ts';
import type { Hears } from '../stream/bus.ts';
import type { Takes } from './agent-card.ts';
import { readAnswers, buildGraphInput } from './message-parts.ts';
import { toTaskState, type TaskFacts } from './task-form.ts';
import { listInterruptQuestions } from '../runs/making/asked.ts';
import { permitThreads, buildTaskId, toFoundTask, type FoundTask } from './tasks.ts';

/** The request that a message came in, and the assistant that it is for. */
export type SentMessage = {
  request: AgentCall;
  assistant_id: string;
  takes: Takes;
  /** Returns a task of the caller. Throws the protocol's error for an unknown one. */
  find: (id: string) => Promise<FoundTask>;
  /** Whom the task tells, if the message says so. */
  push: PushTarget | undefined;
  /** By which the same message is known when it comes again. */
  key: RequestKey;
};

const PROGRESS = ['updates', 'custom'] as const;

export type StartedTask = CreatedRun & { id: string; first: string };

/**
 * Returns the key of a message: a client that sends it again sends the same id, context and content. A message with
 * other content is a new one, whatever its id.
 */
export const buildMessageKey = (
  { messageId, contextId, taskId, parts }: Message,
  identity: string,
  assistant_id: string,
): RequestKey =>
  buildContentKey({ identity, route: 'a2a' }, [
    assistant_id,
    messageId,
    contextId.toLowerCase(),
    taskId.toLowerCase(),
    parts.map(readContent),
  ]);

const readContent = ({ content, mediaType, filename }: Message['parts'][number]): unknown =>
  content?.$case === 'raw'
    ? [content.value.toString('base64'), mediaType, filename]
    : [content, mediaType, filename];

/**
 * Starts a run for a message: a new task, or the next run of one that waits. Throws some refusal for a message that has
 * come before.
 */
export async function startTask(
  deps: AgentDeps,
  { message: given, metadata }: SendMessageRequest,
  {
    request,
    assistant_id,
    takes,
    find,
    push,
    key,
    hears,
  }: SentMessage & { hears: Hears | undefined },
): Promise<StartedTask> {
  const message = given!;
  const waiting = await loadWaitingTask(deps, message, {
    caller: request.caller,
    assistant_id,
    find,
  });
  // The protocol's package writes an absent value as an empty text.
  const threadId =
    waiting?.run.thread_id ?? (message.contextId === '' ? undefined : message.contextId);
  const body: RunCreate = {
    assistant_id,
    ...(waiting === undefined
      ? buildFirstRun(message, { threadId, takes })
      : buildNextRun(message, waiting)),
    metadata: { ...metadata, ...message.metadata },
  };
  const follow = hears && { signal: request.signal, hears };
  const modes = hears === 'events' ? { stream_mode: [...PROGRESS] } : {};
  const task =
    waiting === undefined
      ? push && { push }
      : { first: waiting.first, last: waiting.run.run_id, push };
  const created = await createRun(
    deps,
    { body: { ...body, ...modes }, threadId, call: request, key },
    { follow, task },
  );
  const first = waiting?.first ?? created.run.run_id;
  return { ...created, first, id: buildTaskId(created.run.thread_id, first) };
}

const buildFirstRun = (
  message: Message,
  { threadId, takes }: { threadId: string | undefined; takes: Takes },
): Partial<RunCreate> => ({
  input: buildGraphInput(message, takes),
  ...(threadId === undefined ? { on_completion: 'keep' } : { if_not_exists: 'create' }),
});

/** A graph that stops without a question goes on with nothing. */
function buildNextRun(message: Message, { run }: FoundTask): Partial<RunCreate> {
  const questions = listInterruptQuestions(run.interrupts);
  const given =
    questions.length === 0
      ? { input: null }
      : { command: { resume: readAnswers(message, questions) } };
  return { ...given, multitask_strategy: 'reject' };
}

type TaskOwner = { caller: AgentCaller; assistant_id: string };

/**
 * Returns the task that the message answers: the one that it names, or else the one that its context waits with. Throws
 * `Conflict` for a task that takes no message.
 */
async function loadWaitingTask(
  deps: AgentDeps,
  { taskId, contextId }: Message,
  { find, ...whose }: TaskOwner & Pick<SentMessage, 'find'>,
): Promise<FoundTask | undefined> {
  if (contextId !== '' && !isUuid(contextId))
    throw new Rejected(
      'message.contextId: must be a UUID; leave it out, and the answer has the one of a new context.',
    );
  if (taskId === '') return contextId === '' ? undefined : loadContextTask(deps, contextId, whose);
  const found = await find(taskId);
  if (contextId !== '' && found.run.thread_id !== contextId.toLowerCase())
    throw new Rejected('message.contextId: is not the context of message.taskId.');
  if (!found.run.waits)
    throw new Conflict(
      'The task does not wait for a message: send it without taskId, and it becomes a task of its own.',
    );
  return found;
}

async function loadContextTask(
  { db }: AgentDeps,
  thread_id: string,
  { caller, assistant_id }: TaskOwner,
): Promise<FoundTask | undefined> {
  const seen = await permitThreads(caller, 'read', { thread_id, run_id: null });
  const run = await loadLastTask(db, thread_id, { assistant_id, seen });
  return run?.waits === true ? toFoundTask(run) : undefined;
}

/** Returns the facts to report about a run that has just been made. */
export const buildStartFacts = ({ id, run }: StartedTask): TaskFacts => ({
  id,
  run: { ...run, error: null, waits: false, interrupts: {} },
  state: undefined,
});

/** Returns the facts of a task from the outcome in this process, so that no row has to be read. */
function readOutcome(
  ended: Awaited<ReturnType<AgentDeps['readers']['waitForEnd']>>,
  { run_id, thread_id }: { run_id: string; thread_id: string },
): Omit<TaskFacts, 'id'> | undefined {
  const { status, waits, endedAt, values } = ended?.result ?? {};
  if (status !== 'success' || waits !== false || endedAt === undefined || values === undefined)
    return undefined;
  const run = {
    run_id,
    thread_id,
    status,
    updated_at: endedAt,
    error: null,
    waits,
    interrupts: {},
  };
  return { run, state: parseJsonText(ended!.state) };
}

/** Waits for the run's end, and returns the facts to report about the task then, or when the client left. */
export async function waitForEndFacts(
  deps: AgentDeps,
  { id, first, run, subscription }: StartedTask,
  assistant_id: string,
): Promise<TaskFacts> {
  const ended = await deps.readers.waitForEnd(run, subscription!);
  const done = readOutcome(ended, run);
  if (done !== undefined) return { id, ...done };
  const last = await findTask(
    deps.db,
    { thread_id: run.thread_id, run_id: first },
    { assistant_id, seen: undefined },
  );
  if (last === undefined) throw new NotFound(`Task not found: ${id}`);
  const isResult =
    ended !== undefined && last.run_id === run.run_id && toTaskState(last) === 'COMPLETED';
  return { id, run: last, state: isResult ? parseJsonText(ended.state) : undefined };
}
