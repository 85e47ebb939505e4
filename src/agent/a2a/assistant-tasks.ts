import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { NotFound, Problem } from '../../errors.ts';
import { selectActive } from '../db/runs/runs.ts';
import { giveUpTask } from '../db/runs/tasks.ts';
import type { PushConfig } from '../db/webhooks/webhooks.ts';
import { cancelRuns } from '../runs/executing/cancel.ts';
import { isUnfinished } from '../../schema/agent/run.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { runOnlyOnce } from '../runs/making/only-once.ts';
import type { Hears } from '../stream/bus.ts';
import { JSON_PART, TEXT_PART } from './agent-card.ts';
import { loadTaskPage } from './list-tasks.ts';
import type { A2aPackage } from './package.ts';
import { PushConfigs } from './push-configs.ts';
import {
  waitForEndFacts,
  buildStartFacts,
  buildMessageKey,
  type SentMessage,
  type StartedTask,
  startTask,
} from './send-message.ts';
import {
  streamRunEvents,
  type FollowedTask,
  followTask,
  streamTaskUpdates,
} from './stream-task.ts';
import { buildTaskForm, toTaskState, type TaskFacts } from './task-form.ts';
import { type FoundTask, loadTaskState, type TaskAction, loadTask, buildTaskId } from './tasks.ts';
import type { Log } from '../../log.ts';

type TasksOfRequest = Omit<SentMessage, 'find' | 'push' | 'key'> & {
  a2a: A2aPackage;
  version: PushConfig['version'];
  card: () => AgentCard;
};

type BegunTask =
  | { started: StartedTask; before?: undefined }
  | { before: FoundTask; started?: undefined };

/** The types of every agent's answers; a client that accepts none of them gets an error. Files come in addition. */
const GIVEN = [TEXT_PART, JSON_PART, '*/*', 'text/*', 'application/*'];

/** Answers one request for an assistant's tasks, for the package, which reads and writes the protocol. */
export class AssistantTasks implements A2ARequestHandler {
  readonly #deps: AgentDeps;
  readonly #facts: TasksOfRequest;
  readonly #pushes: PushConfigs;
  /** True once a failure of ours, or a refusal that the protocol has no code for, has been answered. */
  failed = false;

  constructor(deps: AgentDeps, facts: TasksOfRequest) {
    this.#deps = deps;
    this.#facts = facts;
    this.#pushes = new PushConfigs(deps, {
      ...facts,
      find: (id, action) => this.#find(id, action),
    });
  }

  getAgentCard(): Promise<AgentCard> {
    return Promise.resolve(this.#facts.card());
  }

  /** The caller is authenticated here. A server that lets everybody in has one card for all. */
  getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    const { a2a } = this.#facts;
    const card = this.#facts.card();
    if (card.capabilities?.extendedAgentCard === true) return Promise.resolve(card);
    return Promise.reject(
      new a2a.errors.UnsupportedOperationError(
        'This server lets everyone in, so it has no extended card.',
      ),
    );
  }

  sendMessage(asked: SendMessageRequest): Promise<Task> {
    return this.#runWithProtocolErrors(async () => {
      const waits = asked.configuration?.returnImmediately !== true;
      const { started, before } = await this.#start(asked, waits ? 'end' : undefined);
      if (before !== undefined)
        return this.#loadTask(waits ? await this.#waitForEnd(before) : before);
      return this.#buildTask(
        waits
          ? await waitForEndFacts(this.#deps, started, this.#facts.assistant_id)
          : buildStartFacts(started),
      );
    });
  }

  getTask({ id }: GetTaskRequest): Promise<Task> {
    return this.#runWithProtocolErrors(async () => this.#loadTask(await this.#find(id, 'read')));
  }

  listTasks(asked: ListTasksRequest): Promise<ListTasksResponse> {
    return this.#runWithProtocolErrors(async () => {
      const { request, assistant_id, a2a } = this.#facts;
      const { status: state } = a2a.ListTasksRequest.toJSON(asked) as { status?: string };
      const { page, tasks } = await loadTaskPage(this.#deps.db, asked, {
        caller: request.caller,
        assistant_id,
        state,
      });
      const listed: Task[] = [];
      for (const task of tasks)
        listed.push(
          asked.includeArtifacts === true
            ? await this.#loadTask(task)
            : this.#buildTask({ ...task, state: undefined }),
        );
      return { ...page, tasks: listed };
    });
  }

  /** Stops the task. One that waits for an answer is given up, and the next message of its context is a new task. */
  cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    return this.#runWithProtocolErrors(async () => {
      const { run, permits } = await this.#find(id, 'cancel');
      const { thread_id, run_id } = run;
      const refused = new this.#facts.a2a.errors.TaskNotCancelableError(
        `The task has already ended: ${id}`,
      );
      if (toTaskState(run) === 'CANCELED') throw refused;
      if (isUnfinished(run.status))
        await cancelRuns(
          this.#deps,
          (tx) => selectActive(tx, { thread_id, run_ids: [run_id], permitted: permits }),
          'interrupt',
        );
      else if (run.waits && (await giveUpTask(this.#deps.db, run))) this.#deps.webhooks.wake();
      const after = await this.#find(id, 'cancel');
      if (toTaskState(after.run) !== 'CANCELED') throw refused;
      return this.#buildTask({ ...after, state: undefined });
    });
  }

  async *sendMessageStream(asked: SendMessageRequest): AsyncGenerator<StreamResponse> {
    const { followed, before } = await this.#runWithProtocolErrors(async () => {
      const begun = await this.#start(asked, 'events');
      if (begun.before !== undefined) return { before: begun.before };
      const { run, first, subscription } = begun.started;
      const events = streamRunEvents(this.#deps, {
        run_id: run.run_id,
        subscription: subscription!,
      });
      return { followed: { facts: buildStartFacts(begun.started), first, events } };
    });
    yield* before === undefined ? this.#streamUpdates(followed) : this.#streamExisting(before);
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse> {
    const { a2a } = this.#facts;
    const task = await this.#runWithProtocolErrors(() => this.#find(id, 'read'));
    if (!task.run.waits && !isUnfinished(task.run.status))
      throw new a2a.errors.UnsupportedOperationError(
        `The task has ended; read it with GetTask: ${id}`,
      );
    yield* this.#streamExisting(task);
  }

  createTaskPushNotificationConfig(
    asked: TaskPushNotificationConfig,
  ): Promise<TaskPushNotificationConfig> {
    return this.#runWithProtocolErrors(() => this.#pushes.create(asked));
  }

  getTaskPushNotificationConfig(
    asked: GetTaskPushNotificationConfigRequest,
  ): Promise<TaskPushNotificationConfig> {
    return this.#runWithProtocolErrors(() => this.#pushes.get(asked));
  }

  listTaskPushNotificationConfigs(
    asked: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.#runWithProtocolErrors(() => this.#pushes.list(asked));
  }

  deleteTaskPushNotificationConfig(asked: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    return this.#runWithProtocolErrors(() => this.#pushes.delete(asked));
  }

  #start(asked: SendMessageRequest, hears: Hears | undefined): Promise<BegunTask> {
    this.#checkConfiguration(asked);
    const given = asked.configuration?.taskPushNotificationConfig;
    const push =
      given && this.#pushes.requireTarget(given, 'configuration.taskPushNotificationConfig');
    const { request, assistant_id } = this.#facts;
    const find = (id: string): Promise<FoundTask> => this.#find(id, 'read');
    const key = buildMessageKey(asked.message!, request.caller.identity, assistant_id);
    return runOnlyOnce<BegunTask>(this.#deps.db, key, {
      make: async () => ({
        started: await startTask(this.#deps, asked, { ...this.#facts, find, push, key, hears }),
      }),
      again: async ([run_id = '', thread_id = '', first = run_id]) => ({
        before: await find(buildTaskId(thread_id, first)),
      }),
    });
  }

  async #waitForEnd(task: FoundTask): Promise<FoundTask> {
    const { run_id, thread_id, status } = task.run;
    if (!isUnfinished(status)) return task;
    const run = { runId: run_id, threadId: thread_id };
    const { progress, subscription } = await this.#deps.readers.followRun(run, {
      signal: this.#facts.request.signal,
      hears: 'end',
    });
    if (isUnfinished(progress.status)) await this.#deps.readers.waitForEnd(progress, subscription);
    else subscription.close();
    return this.#find(task.id, 'read');
  }

  /** Yields a task that was begun before, and its updates from now on. */
  async *#streamExisting(task: FoundTask): AsyncGenerator<StreamResponse> {
    const { a2a, request } = this.#facts;
    if (isUnfinished(task.run.status))
      return yield* this.#streamUpdates(
        await this.#runWithProtocolErrors(() => followTask(this.#deps, task, request.signal)),
      );
    const form = await this.#runWithProtocolErrors(() => this.#loadForm(task));
    const { id: taskId, contextId, status } = form;
    for (const update of [{ task: form }, { statusUpdate: { taskId, contextId, status } }])
      yield a2a.StreamResponse.fromJSON(update);
  }

  async *#streamUpdates(followed: FollowedTask): AsyncGenerator<StreamResponse> {
    const { a2a, assistant_id, request } = this.#facts;
    const updates = streamTaskUpdates(this.#deps, followed, {
      assistant_id,
      signal: request.signal,
    });
    try {
      for await (const update of updates) yield a2a.StreamResponse.fromJSON(update);
    } catch (error) {
      throw this.#toProtocolError(error);
    }
  }

  #checkConfiguration({ configuration }: SendMessageRequest): void {
    const { errors } = this.#facts.a2a;
    const accepted = configuration?.acceptedOutputModes ?? [];
    if (
      accepted.length > 0 &&
      !accepted.some((mode) => GIVEN.includes(mode.split(';')[0]!.trim().toLowerCase()))
    )
      throw new errors.ContentTypeNotSupportedError(
        `The agent answers with ${TEXT_PART} and ${JSON_PART}, none of which acceptedOutputModes has.`,
      );
  }

  async #find(id: string, action: TaskAction): ReturnType<typeof loadTask> {
    const { request, assistant_id, a2a } = this.#facts;
    try {
      return await loadTask(this.#deps, id, { caller: request.caller, assistant_id, action });
    } catch (error) {
      throw error instanceof NotFound ? new a2a.errors.TaskNotFoundError(error.message) : error;
    }
  }

  async #loadTask(task: FoundTask): Promise<Task> {
    return this.#facts.a2a.Task.fromJSON(await this.#loadForm(task));
  }

  async #loadForm({ id, run }: FoundTask): Promise<Record<string, unknown>> {
    const state =
      toTaskState(run) === 'COMPLETED' ? await loadTaskState(this.#deps, run) : undefined;
    return buildTaskForm({ id, run, state });
  }

  #buildTask(facts: TaskFacts): Task {
    return this.#facts.a2a.Task.fromJSON(buildTaskForm(facts));
  }

  /** Answers, or throws the protocol's own error. */
  async #runWithProtocolErrors<T>(answer: () => Promise<T>): Promise<T> {
    try {
      return await answer();
    } catch (error) {
      throw this.#toProtocolError(error);
    }
  }

  #toProtocolError(error: unknown): Error {
    this.failed = true;
    return toTaskError(error, { errors: this.#facts.a2a.errors, log: this.#deps.log });
  }
}

/** Returns the protocol's error for a failure. The details of an internal failure stay in the log. */
function toTaskError(
  error: unknown,
  { errors, log }: { errors: A2aPackage['errors']; log: Log },
): Error {
  if (error instanceof errors.A2AError) return error;
  if (!(error instanceof Problem) || (error.status >= 500 && error.status !== 503)) {
    log.error({ err: error }, 'a request of A2A failed');
    return new errors.A2AError('Internal error');
  }
  const { status, message } = error;
  if (status === 415) return new errors.ContentTypeNotSupportedError(message);
  if (status === 409) return new errors.UnsupportedOperationError(message);
  return [400, 403, 404, 422].includes(status)
    ? new errors.RequestMalformedError(message)
    : new errors.A2AError(message);
}
