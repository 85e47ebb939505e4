import { toError, Problem } from '../../errors.ts';
import type {
  RunnerAnswer,
  RunnerPut,
  RunnerQuestion,
  RunnerWrites,
  StoreOperation,
} from '../../schema/wire/wall/runner.ts';
import type { ItemStorage } from '../run-storage/item-storage.ts';
import type { ListElement } from '../run-storage/lists.ts';
import type { ReadCheckpoint } from '../run-storage/read-checkpoint.ts';
import type { StepStorage } from '../run-storage/step-storage.ts';
import { toFoundCheckpoint } from './stored-values.ts';

type Storage = { steps: StepStorage<ListElement>; items: ItemStorage };

/** The beginning of the types that a runner may store: the name of its language, which is not that of lists. */
const TYPE = /^(?!list:)[a-z]+:/;

function requireAllowed<V extends { type: string }>(value: V): V {
  if (!TYPE.test(value.type))
    throw new Problem(
      400,
      `"${value.type}" is no type of a runner's value: it has no language before a colon.`,
    );
  return value;
}

export async function storeStep({ steps }: Storage, put: RunnerPut): Promise<void> {
  const {
    thread_id,
    namespace,
    parent,
    run_id,
    checkpoint_id,
    checkpoint,
    metadata,
    settings,
    step,
  } = put;
  const all = { ...(!steps.encrypts && settings), ...metadata, ...(run_id !== null && { run_id }) };
  const values = new Map(put.values.map((value) => [value.channel, requireAllowed(value)]));
  await steps.put(
    {
      threadId: thread_id,
      namespace,
      checkpointId: parent ?? undefined,
      runId: run_id ?? undefined,
    },
    {
      id: checkpoint_id,
      checkpoint,
      step,
      versions: Object.fromEntries(put.values.map(({ channel, version }) => [channel, version])),
      valueOf: (channel) => Promise.resolve(values.get(channel)),
      metadataOf: (ofRun) => Promise.resolve(JSON.stringify({ ...ofRun, ...all })),
    },
  );
}

export async function storeWrites(
  { steps }: Storage,
  { task_id, path, replace, writes, ...of }: RunnerWrites,
): Promise<void> {
  const { thread_id, namespace, checkpoint_id, run_id } = of;
  const place = {
    threadId: thread_id,
    namespace,
    checkpointId: checkpoint_id,
    runId: run_id ?? undefined,
  };
  await steps.putWrites(place, () =>
    Promise.resolve({
      taskId: task_id,
      taskPath: path,
      replace,
      writes: writes.map(requireAllowed),
    }),
  );
}

/** Answers a question of the runner, also where it is refused. Never fails. */
export async function answerRunner(
  storage: Storage,
  question: RunnerQuestion,
): Promise<RunnerAnswer> {
  try {
    return await answer(storage, question);
  } catch (thrown) {
    return buildRefusedAnswer(question.ask_id, thrown);
  }
}

export function buildRefusedAnswer(ask_id: number, thrown: unknown): RunnerAnswer {
  const { message } = toError(thrown);
  return {
    kind: 'refused',
    ask_id,
    status: thrown instanceof Problem ? thrown.status : 500,
    message,
  };
}

async function answer({ steps, items }: Storage, question: RunnerQuestion): Promise<RunnerAnswer> {
  const { ask_id } = question;
  switch (question.kind) {
    case 'begin':
      return { kind: 'begun', ask_id, begins: await steps.begin(question) };
    case 'store':
      return {
        kind: 'results',
        ask_id,
        json: JSON.stringify((await runOperation(items, question.operation)) ?? null),
      };
    case 'read':
      return buildFoundAnswer(ask_id, await read(steps, question));
    default:
      await applyChange(steps, question);
      return { kind: 'saved', ask_id };
  }
}

function buildFoundAnswer(
  ask_id: number,
  checkpoints: ReadCheckpoint<ListElement>[],
): RunnerAnswer {
  const lists = checkpoints.flatMap(({ listRows }) => listRows);
  return {
    kind: 'found',
    ask_id,
    ...(lists.length > 0 && { lists }),
    checkpoints: checkpoints.map(toFoundCheckpoint),
  };
}

function applyChange(
  steps: Storage['steps'],
  question: Extract<
    RunnerQuestion,
    { kind: 'delete_thread' | 'delete_runs' | 'copy_thread' | 'prune' }
  >,
): Promise<void> {
  switch (question.kind) {
    case 'delete_thread':
      return steps.deleteThread(question.thread_id);
    case 'delete_runs':
      return steps.deleteRuns(question.run_ids);
    case 'copy_thread':
      return steps.copyThread(question.from, question.to);
    case 'prune':
      return steps.prune(question.thread_ids, question.strategy);
  }
}

/** Reads the last checkpoint of a graph without a statement where the run knows that there is none. */
async function read(
  steps: Storage['steps'],
  {
    thread_id,
    namespace,
    checkpoint_id,
    known,
    ...which
  }: Extract<RunnerQuestion, { kind: 'read' }>,
) {
  const at = { threadId: thread_id, checkpointId: checkpoint_id };
  if (
    which.limit !== 1 ||
    namespace === undefined ||
    which.before !== undefined ||
    which.metadata !== undefined
  )
    return steps.loadCheckpoints({ ...at, namespace, known, ...which }, { looks: false });
  const one = await steps.loadCheckpoint({ ...at, namespace }, { looks: false, known });
  return one === undefined ? [] : [one];
}

function runOperation(items: ItemStorage, operation: StoreOperation): Promise<unknown> {
  switch (operation.does) {
    case 'get':
      return items.get(operation);
    case 'put':
      return items.put(operation);
    case 'delete':
      return items.delete(operation);
    case 'search':
      return items.search(operation.search);
    case 'namespaces':
      return items.listNamespaces(operation.search);
  }
}
