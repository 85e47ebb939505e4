import type { RunError, RunStatus } from '../../schema/agent/run.ts';
import { listInterruptQuestions } from '../runs/making/asked.ts';
import { readLastContent, type ContentPart } from '../runs/making/content-files.ts';
import { type Json, isObject } from '../../schema/json.ts';

/* A run in the form of a task. */

const OF_STATUS = {
  pending: 'SUBMITTED',
  running: 'WORKING',
  success: 'COMPLETED',
  error: 'FAILED',
  interrupted: 'CANCELED',
} as const satisfies Record<RunStatus, string>;

/** The states that tasks here have. The protocol writes them with `TASK_STATE_` before them. */
export type StateOfTask = (typeof OF_STATUS)[RunStatus] | 'INPUT_REQUIRED';

/** The facts about a task: its last run, and the state that it left where it has ended. */
export type TaskFacts = {
  id: string;
  run: {
    run_id: string;
    thread_id: string;
    status: RunStatus;
    updated_at: string;
    error: RunError | null;
    waits: boolean;
    interrupts: Json;
  };
  state: unknown;
};

export const toTaskState = ({ status, waits }: TaskFacts['run']): StateOfTask =>
  waits ? 'INPUT_REQUIRED' : OF_STATUS[status];

type Part = { metadata?: Json } & (
  | { text: string }
  | { data: unknown }
  | ({ mediaType?: string; filename?: string } & ({ raw: string } | { url: string }))
);

/** Returns the task as version 1.0 writes it, from which the package makes that of 0.3. */
export function buildTaskForm({ id, run, state }: TaskFacts): Json {
  const parts = describeState(run);
  const message = {
    messageId: `${run.run_id}-status`,
    contextId: run.thread_id,
    taskId: id,
    role: 'ROLE_AGENT',
    parts,
  };
  const status = {
    state: `TASK_STATE_${toTaskState(run)}`,
    timestamp: new Date(run.updated_at).toISOString(),
  };
  return {
    id,
    contextId: run.thread_id,
    status: { ...status, ...(parts.length > 0 && { message }) },
    artifacts: state === undefined ? [] : [buildArtifact(run.run_id, state)],
  };
}

/** Returns the updates of a stream at the end of a task: its result, and its state. */
export function buildEndUpdates(facts: TaskFacts): Json[] {
  const {
    id: taskId,
    contextId,
    status,
    artifacts,
  } = buildTaskForm(facts) as Json & { artifacts: Json[] };
  const results = artifacts.map((artifact) => ({
    artifactUpdate: { taskId, contextId, artifact, lastChunk: true },
  }));
  return [...results, { statusUpdate: { taskId, contextId, status } }];
}

/** Returns the update of a stream for a task under way. `words` are the agent's own, if it sent any. */
export function updateUnderWay({ id, run }: TaskFacts, words: string | undefined, at: Date): Json {
  const { run_id, thread_id } = run;
  const sent = {
    messageId: `${run_id}-${at.getTime()}`,
    contextId: thread_id,
    taskId: id,
    role: 'ROLE_AGENT',
    parts: [{ text: words }],
  };
  const status = {
    state: 'TASK_STATE_WORKING',
    timestamp: at.toISOString(),
    ...(words !== undefined && { message: sent }),
  };
  return { statusUpdate: { taskId: id, contextId: thread_id, status } };
}

/** Returns the agent's message about the task's state: its questions, or why it failed. */
function describeState({ status, waits, error, interrupts }: TaskFacts['run']): Part[] {
  if (waits) {
    const asked = listInterruptQuestions(interrupts);
    if (asked.length === 0)
      return [{ text: 'The agent has paused, and continues with the next message.' }];
    return asked.flatMap(({ id, value, response_schema }): Part[] => {
      const metadata = {
        interrupt_id: id,
        ...(response_schema !== undefined && { response_schema }),
      };
      if (typeof value === 'string') return [{ text: value, metadata }];
      return [
        { text: JSON.stringify(value), metadata },
        { data: value, metadata },
      ];
    });
  }
  if (status !== 'error') return [];
  return [{ text: error === null ? 'The agent failed.' : `${error.error}: ${error.message}` }];
}

/** Returns the result: text and files of the last message, and the rest of the state as data. */
function buildArtifact(runId: string, state: unknown): Json {
  const named = { artifactId: `${runId}-result`, name: 'result' };
  if (!isObject(state)) return { ...named, parts: [{ data: { value: state } }] };
  const { __interrupt__: _asked, __feedback__: _feedback, ...values } = state;
  const { messages, ...others } = values;
  const parts = readLastContent(messages).map(toPart);
  if (parts.length === 0) return { ...named, parts: [{ data: values }] };
  return { ...named, parts: Object.keys(others).length > 0 ? [...parts, { data: others }] : parts };
}

function toPart(part: ContentPart): Part {
  if ('text' in part) return part;
  if ('other' in part) return { data: part.other };
  const { mediaType, name, ...at } = part.file;
  const facts = {
    ...(mediaType !== undefined && { mediaType }),
    ...(name !== undefined && { filename: name }),
  };
  return 'data' in at ? { raw: at.data, ...facts } : { url: at.url, ...facts };
}
