import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import { Invalid, NotFound } from '../../errors.ts';
import type { Request, SseEvent } from '../../http/route.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { deleteThreads } from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { RequestKey } from '../kernel/request-key.ts';
import type { AskedQuestion } from '../runs/asked.ts';
import { progressOf } from '../runs/progress.ts';
import { runToEnd, type RunToEndDeps } from '../runs/run-to-end.ts';
import { questionForm, questionsByKey, responsesTo } from './questions.ts';
import { endedAs, failedResult, stateResult, type Ended } from './results.ts';
import type { WaitingCall } from './waiting-states.ts';

export type CallDeps = RunToEndDeps & Pick<AgentDeps, 'batched'>;

/** The request that a call came in. `key`: set where the call is carried out once. */
export type CallRequest = Pick<
  Request<unknown, unknown, unknown, AgentCaller>,
  'requestId' | 'headers' | 'forwarded' | 'caller' | 'signal'
> & {
  key?: RequestKey | undefined;
};

/** `mint` signs where a run waits; undefined for a client that can't be asked. */
export type ToolCall = {
  request: CallRequest;
  context: ServerContext;
  assistantId: string;
  mint: ((waiting: WaitingCall) => Promise<string>) | undefined;
};

type Answer = CallToolResult | InputRequiredResult;

const MODES = ['values', 'updates', 'custom'] as const;

/** Calls the assistant, and answers when its run has ended. */
export function callAssistant(deps: CallDeps, call: ToolCall, input: unknown): Promise<Answer> {
  return answered(deps, call, { threadId: undefined, body: { input }, key: call.request.key });
}

/** Goes on with a run that waits, with the client's responses to its questions: once, whether or not it has a key. */
export async function continueCall(deps: CallDeps, call: ToolCall, waiting: WaitingCall): Promise<Answer> {
  const { thread_id, assistant_id } = waiting;
  const thread = await deps.batched.threadQuestions(thread_id);
  const asked = thread?.status === 'interrupted' ? Object.values(thread.interrupts).flat() : [];
  const questions = (asked as AskedQuestion[]).filter(({ id }) => waiting.questions.includes(id));
  if (questions.length === 0 || questions.length < asked.length || assistant_id !== call.assistantId)
    throw new NotFound('Nothing waits for this answer any more; call the tool again without requestState.');
  const responses = responsesTo(questions, call.context.mcpReq.inputResponses);
  if (responses.kind === 'missing') return inputRequired(call, questions, thread_id);
  if (responses.kind === 'refused') {
    await deleteThreads(deps.db, [thread_id]);
    return failedResult('The question of the agent was not answered, so it was given up.');
  }
  return answered(deps, call, goingOn(thread_id, responses.answers));
}

const goingOn = (threadId: string, answers: Map<string, unknown>): Started => ({
  threadId,
  body: { command: { resume: Object.fromEntries(answers) }, multitask_strategy: 'reject' },
});

type Started = { threadId: string | undefined; body: Partial<RunCreate>; key?: RequestKey | undefined };

async function answered(deps: CallDeps, call: ToolCall, { threadId, body, key }: Started): Promise<Answer> {
  const { assistantId, request, context } = call;
  const hears = hearing(context);
  const modes: RunCreate['stream_mode'] = hears === undefined ? 'values' : [...MODES];
  const end = await runToEnd(deps, { assistant_id: assistantId, stream_mode: modes, ...body }, { threadId, request, hears, key });
  // Nobody reads the answer to a client that has left.
  if (end === undefined) return failedResult('The call was cancelled.');
  const ended = endedAs(end.state, end.status);
  if (threadId !== undefined && ended.kind !== 'asks') await deleteThreads(deps.db, [threadId]);
  if (threadId === undefined && ended.kind === 'asks') {
    // A client that knows what is asked brings its responses with the first request.
    const brought = responsesTo(ended.questions, context.mcpReq.inputResponses);
    if (brought.kind === 'given') return answered(deps, call, goingOn(end.thread_id, brought.answers));
  }
  return answerOf(call, ended, end.thread_id);
}

async function answerOf(call: ToolCall, ended: Ended, thread_id: string): Promise<Answer> {
  switch (ended.kind) {
    case 'failed':
      return failedResult(`${ended.error.error}: ${ended.error.message}`);
    case 'asks':
      return call.mint === undefined ? stateResult({ ...ended.state, thread_id }) : inputRequired(call, ended.questions, thread_id);
    case 'done':
      return stateResult(ended.state, ended.text);
  }
}

async function inputRequired({ mint, assistantId }: ToolCall, questions: AskedQuestion[], thread_id: string): Promise<InputRequiredResult> {
  if (mint === undefined) throw new Invalid([{ loc: ['requestState'], msg: 'Needs the capability elicitation', type: 'value_error' }]);
  const forms = [...questionsByKey(questions)].map(([key, question]) => [
    key,
    { method: 'elicitation/create' as const, params: questionForm(question) },
  ]);
  return {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(forms),
    requestState: await mint({ thread_id, assistant_id: assistantId, questions: questions.map(({ id }) => id) }),
  };
}

/** Returns a function that sends the run's progress to the client, where it asked for that. */
function hearing({ mcpReq }: ServerContext): ((event: SseEvent) => Promise<void>) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return async (event) => {
    const message = progressOf(event);
    if (message === undefined) return;
    progress += 1;
    // A client that has left hears nothing, and its run is stopped elsewhere.
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };
}
