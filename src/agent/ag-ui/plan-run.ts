import { Rejected } from '../../errors.ts';
import type { RunAgentInput } from '../../schema/agent/ag-ui.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import type { Thread } from '../../schema/agent/thread.ts';
import { isObject, type Json } from '../../schema/json.ts';
import type { GraphInputs } from '../graph-types/graph-inputs.ts';
import { resolveAssistantId } from '../kernel/ids.ts';
import type { AgUiDeps, NamedThread } from './deps.ts';
import { loadPinnedThread } from './pinned-thread.ts';
import { planMessages, planPageFields, planState, readFields } from './input.ts';
import { buildResumedRun } from './interrupts.ts';
import { readMessages } from './messages.ts';

/* The run that a request of AG-UI asks for. */

export type RunQuery = {
  on_disconnect?: 'cancel' | 'continue';
  multitask_strategy?: RunCreate['multitask_strategy'];
  assistant_version?: number;
};

/** States of a thread that are read at a time. */
const HISTORY_PAGE = 50;

/** Returns the run that answers the questions of the thread; undefined where the request answers none. */
export function planResume(
  { resume, forwardedProps }: RunAgentInput,
  thread: Thread | undefined,
): Pick<RunCreate, 'command' | 'input'> | undefined {
  if (thread?.status !== 'interrupted') return undefined;
  // Pages from before `resume` answer like this.
  const command = isObject(forwardedProps) ? forwardedProps['command'] : undefined;
  if (isObject(command) && 'resume' in command && !resume?.length)
    return { input: null, command: { resume: command['resume'] } };
  const resumed = buildResumedRun(resume ?? [], thread.interrupts);
  return resumed === undefined ? undefined : { input: null, ...resumed };
}

/** Plans the run that a request asks for, and the fields that its graph gets beside the input. */
export async function planAgUiRun(
  deps: AgUiDeps & { inputs: GraphInputs },
  assistant: string,
  input: RunAgentInput,
  {
    threadId,
    thread,
    resumed,
    query,
  }: NamedThread & { resumed: Pick<RunCreate, 'command' | 'input'> | undefined; query: RunQuery },
): Promise<{ run: RunCreate; configurable: Json }> {
  const assistant_id = resolveAssistantId(assistant, deps.graphs, 'path');
  const fields = deps.graphs.includes(assistant)
    ? readFields(await deps.inputs.readSchema(assistant))
    : undefined;
  const page = planPageFields(input, fields);
  const props = isObject(input.forwardedProps) ? input.forwardedProps : {};
  const config =
    isObject(props['config']) && isObject(props['config']['configurable'])
      ? { configurable: props['config']['configurable'] }
      : null;
  const run: RunCreate = {
    assistant_id,
    ...(query.assistant_version !== undefined && { assistant_version: query.assistant_version }),
    config,
    context: isObject(props['context']) ? props['context'] : null,
    metadata: {
      ...(isObject(props['metadata']) ? props['metadata'] : {}),
      ag_ui_run_id: input.runId,
      ...(input.threadId.toLowerCase() !== threadId && { ag_ui_thread_id: input.threadId }),
    },
    if_not_exists: 'create',
    stream_resumable: true,
    stream_subgraphs: true,
    multitask_strategy: query.multitask_strategy ?? 'enqueue',
  };
  if (resumed !== undefined)
    return {
      run: { ...run, ...resumed, ...(resumed.command && { strict_resume: true }) },
      configurable: page.configurable,
    };
  const change = planMessages(input.messages, readMessages(thread?.values), {
    isBusy: thread?.status === 'busy',
  });
  const checkpoint_id =
    change.before === undefined
      ? undefined
      : await findCheckpointBefore(deps, thread!, change.before);
  const state = planState(input.state, thread?.values, fields);
  return {
    run: {
      ...run,
      input: { ...state, ...page.input, messages: change.messages },
      ...(checkpoint_id && { checkpoint_id }),
    },
    configurable: page.configurable,
  };
}

/** Returns the last checkpoint without a message that the thread has now. Throws `Rejected` where none is kept. */
async function findCheckpointBefore(
  deps: AgUiDeps,
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
