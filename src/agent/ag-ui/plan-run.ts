import { Rejected } from '../../errors.ts';
import type { RunAgentInput } from '../../schema/agent/ag-ui.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import type { Thread } from '../../schema/agent/thread.ts';
import { isObject, type Json } from '../../schema/json.ts';
import type { GraphInputs } from '../graph-types/graph-inputs.ts';
import { resolveAssistantId } from '../kernel/ids.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { NamedThread } from './pinned-thread.ts';
import { loadPinnedThread, loadThreadState } from './pinned-thread.ts';
import { planMessages, planPageFields, planState, readFields } from './input.ts';
import { buildAnswers, isBreakpointAnswered } from './interrupts.ts';
import { listInterruptQuestions } from '../runs/making/asked.ts';
import { readMessages } from './messages.ts';

/* The run that a request of AG-UI asks for. */

export type RunQuery = {
  on_disconnect?: 'cancel' | 'continue';
  multitask_strategy?: RunCreate['multitask_strategy'];
  assistant_version?: number;
};

/** States of a thread that are read at a time. */
const HISTORY_PAGE = 50;

/** A run of a request. `isAnswer`: it is made only where the thread is still as it was when the request came. */
export type PlannedRequest = { run: Partial<RunCreate>; isAnswer: boolean };

/** Answers no question, so it is refused, except where the same request has made a run before. */
const LATE_ANSWER: PlannedRequest = {
  run: { input: null, command: { resume: {} }, strict_resume: true },
  isAnswer: false,
};

/** Returns the answer as pages from before `resume` give it; undefined where the request has none. */
export function readOldAnswer({
  resume,
  forwardedProps,
}: RunAgentInput): { resume: unknown } | undefined {
  const command = isObject(forwardedProps) ? forwardedProps['command'] : undefined;
  return isObject(command) && 'resume' in command && !resume?.length
    ? { resume: command['resume'] }
    : undefined;
}

/** Returns the run that answers a thread which waits; undefined where the request answers none of its questions. */
export async function planResume(
  deps: AgentDeps,
  input: RunAgentInput,
  thread: Thread | undefined,
): Promise<PlannedRequest | undefined> {
  if (thread?.status !== 'interrupted') return undefined;
  const old = readOldAnswer(input);
  if (listInterruptQuestions(thread.interrupts).length > 0) {
    const command = old ?? buildAnswers(input.resume ?? [], thread.interrupts);
    return command && { run: { input: null, command, strict_resume: true }, isAnswer: false };
  }
  const { next } = await loadThreadState(deps, thread.thread_id);
  const isAnswered = old !== undefined || isBreakpointAnswered(input.resume ?? [], next);
  // Of two who let a graph go on at the same time, the second would let it pass the next breakpoint, too.
  return isAnswered ? { run: { input: null }, isAnswer: true } : undefined;
}

/** Plans the run that a request asks for, and the fields that its graph gets beside the input. */
export async function planAgUiRun(
  deps: AgentDeps & { inputs: GraphInputs },
  assistant: string,
  input: RunAgentInput,
  {
    threadId,
    thread,
    resumed,
    query,
  }: NamedThread & { resumed: PlannedRequest | undefined; query: RunQuery },
): Promise<{ run: RunCreate; isAnswer: boolean; configurable: Json }> {
  const fields = deps.graphs.includes(assistant)
    ? readFields(await deps.inputs.readSchema(assistant))
    : undefined;
  const page = planPageFields(input, fields);
  const run: RunCreate = {
    assistant_id: resolveAssistantId(assistant, deps.graphs, 'path'),
    ...(query.assistant_version !== undefined && { assistant_version: query.assistant_version }),
    ...readForwardedFields(input),
    if_not_exists: 'create',
    stream_resumable: true,
    stream_subgraphs: true,
    multitask_strategy: query.multitask_strategy ?? 'enqueue',
  };
  run.metadata = {
    ...run.metadata,
    ag_ui_run_id: input.runId,
    ...(input.threadId.toLowerCase() !== threadId && { ag_ui_thread_id: input.threadId }),
  };
  const state = { ...planState(input.state, thread?.values, fields), ...page.input };
  const more = resumed ?? (await planInput(deps, input, { thread, state }));
  return { ...more, run: { ...run, ...more.run }, configurable: page.configurable };
}

/** Returns the fields of a run that `forwardedProps` may set; all else in it is passed over. */
function readForwardedFields({ forwardedProps }: RunAgentInput): Partial<RunCreate> {
  const { config, context, metadata }: Json = isObject(forwardedProps) ? forwardedProps : {};
  const configurable = isObject(config) ? config['configurable'] : undefined;
  return {
    config: isObject(configurable) ? { configurable } : null,
    context: isObject(context) ? context : null,
    metadata: isObject(metadata) ? metadata : {},
  };
}

/** Returns the fields of a run that brings new messages or state, and does not answer. */
async function planInput(
  deps: AgentDeps,
  input: RunAgentInput,
  { thread, state }: { thread: Thread | undefined; state: Json },
): Promise<PlannedRequest> {
  const isBusy = thread?.status === 'busy';
  const known = readMessages(thread?.values);
  const { messages, before, answer } = planMessages(input.messages, known, { isBusy });
  const resumes = Boolean(input.resume?.length) || readOldAnswer(input) !== undefined;
  const isNew = messages.length > 0 && before === undefined;
  if (answer === 'late' || (resumes && (isBusy || !isNew))) return LATE_ANSWER;
  return {
    run: {
      input: { ...state, messages },
      ...(before !== undefined && {
        checkpoint_id: await findCheckpointBefore(deps, thread!, before),
      }),
    },
    isAnswer: answer === 'awaited',
  };
}

/** Returns whether a request may answer a call of the page, or a question. Answers come behind the agent's messages. */
export function mayAnswer(input: RunAgentInput): boolean {
  const { messages, resume } = input;
  const fresh = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  return (
    Boolean(resume?.length) ||
    readOldAnswer(input) !== undefined ||
    fresh.some(({ role }) => role === 'tool')
  );
}

/** Returns the last checkpoint without a message that the thread has now. Throws `Rejected` where none is kept. */
async function findCheckpointBefore(
  deps: AgentDeps,
  { thread_id }: Thread,
  messageId: string,
): Promise<string> {
  const head = await loadPinnedThread(deps, thread_id);
  let before: { configurable: { checkpoint_id: string } } | undefined;
  for (;;) {
    const { json: text } = await deps.pinnedCalls.call(head, 'history', {
      limit: HISTORY_PAGE,
      ...(before && { before }),
    });
    const states = JSON.parse(text) as {
      values: unknown;
      checkpoint: { checkpoint_id?: string } | null;
    }[];
    const found = states.find(
      ({ values }) => !readMessages(values).some(({ id }) => id === messageId),
    );
    if (found?.checkpoint?.checkpoint_id) return found.checkpoint.checkpoint_id;
    const last = states.at(-1)?.checkpoint?.checkpoint_id;
    if (states.length < HISTORY_PAGE || last === undefined)
      throw new Rejected(
        'messages: the state before the message that was changed is no longer kept; start a new thread.',
      );
    before = { configurable: { checkpoint_id: last } };
  }
}
