import type {
  CallToolResult,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';
import { Invalid, NotFound } from '../../errors.ts';
import type { SseEvent } from '../../http/routes/route.ts';
import type { RunCreate } from '../../schema/agent/run.ts';
import type { AgentCall } from '../auth/caller.ts';
import { deleteThreads } from '../db/threads/threads.ts';
import type { AgentDeps } from '../parts/deps.ts';
import type { RequestKey } from '../kernel/request-key.ts';
import { listInterruptQuestions, type AskedQuestion } from '../runs/making/asked.ts';
import { describeProgress } from '../runs/reading/progress.ts';
import { runToEnd } from '../runs/making/run-to-end.ts';
import { buildQuestionForm, mapQuestionsByKey, readResponses } from './questions.ts';
import { parseRunEnd, buildFailedResult, buildStateResult, type Ended } from './results.ts';
import type { WaitingCall } from './waiting-states.ts';

/** The request that a call came in. `key`: set where the call is carried out once. */
export type CallRequest = AgentCall & {
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
export function callAssistant(deps: AgentDeps, call: ToolCall, input: unknown): Promise<Answer> {
  return runCall(deps, call, { threadId: undefined, body: { input }, key: call.request.key });
}

/** Goes on with a run that waits, with the client's responses to its questions: once, whether or not it has a key. */
export async function resumeCall(
  deps: AgentDeps,
  call: ToolCall,
  waiting: WaitingCall,
): Promise<Answer> {
  const { thread_id, assistant_id } = waiting;
  const thread = await deps.batched.threadQuestions(thread_id);
  const asked = thread?.status === 'interrupted' ? listInterruptQuestions(thread.interrupts) : [];
  const questions = asked.filter(({ id }) => waiting.questions.includes(id));
  if (
    questions.length === 0 ||
    questions.length < asked.length ||
    assistant_id !== call.assistantId
  )
    throw new NotFound(
      'Nothing waits for this answer any more; call the tool again without requestState.',
    );
  const responses = readResponses(questions, call.context.mcpReq.inputResponses);
  if (responses.kind === 'missing') return buildInputRequired(call, questions, thread_id);
  if (responses.kind === 'refused') {
    await deleteThreads(deps.db, [thread_id]);
    return buildFailedResult(
      'The question of the agent was not answered in time, so it was dropped.',
    );
  }
  return runCall(deps, call, buildContinuation(thread_id, responses.answers));
}

const buildContinuation = (threadId: string, answers: Map<string, unknown>): Started => ({
  threadId,
  body: { command: { resume: Object.fromEntries(answers) }, multitask_strategy: 'reject' },
});

type Started = {
  threadId: string | undefined;
  body: Partial<RunCreate>;
  key?: RequestKey | undefined;
};

async function runCall(
  deps: AgentDeps,
  call: ToolCall,
  { threadId, body, key }: Started,
): Promise<Answer> {
  const { assistantId, request, context } = call;
  const hears = buildProgressSender(context);
  const modes: RunCreate['stream_mode'] = hears === undefined ? 'values' : [...MODES];
  const end = await runToEnd(
    deps,
    { assistant_id: assistantId, stream_mode: modes, ...body },
    { threadId, request, hears, key },
  );
  // Nobody reads the answer to a client that has left.
  if (end === undefined) return buildFailedResult('The call was cancelled.');
  const ended = parseRunEnd(end.state, end.status);
  if (threadId !== undefined && ended.kind !== 'asks') await deleteThreads(deps.db, [threadId]);
  if (threadId === undefined && ended.kind === 'asks') {
    // A client that knows what is asked brings its responses with the first request.
    const brought = readResponses(ended.questions, context.mcpReq.inputResponses);
    if (brought.kind === 'given')
      return runCall(deps, call, buildContinuation(end.thread_id, brought.answers));
  }
  return buildCallAnswer(call, ended, end.thread_id);
}

async function buildCallAnswer(call: ToolCall, ended: Ended, thread_id: string): Promise<Answer> {
  switch (ended.kind) {
    case 'failed':
      return buildFailedResult(`${ended.error.error}: ${ended.error.message}`);
    case 'asks':
      return call.mint === undefined
        ? buildStateResult({ ...ended.state, thread_id })
        : buildInputRequired(call, ended.questions, thread_id);
    case 'done':
      return buildStateResult(ended.state, ended.text);
  }
}

async function buildInputRequired(
  { mint, assistantId }: ToolCall,
  questions: AskedQuestion[],
  thread_id: string,
): Promise<InputRequiredResult> {
  if (mint === undefined)
    throw new Invalid([
      { loc: ['requestState'], msg: 'Needs the capability elicitation', type: 'value_error' },
    ]);
  const forms = [...mapQuestionsByKey(questions)].map(([key, question]) => [
    key,
    { method: 'elicitation/create' as const, params: buildQuestionForm(question) },
  ]);
  return {
    resultType: 'input_required',
    inputRequests: Object.fromEntries(forms),
    requestState: await mint({
      thread_id,
      assistant_id: assistantId,
      questions: questions.map(({ id }) => id),
    }),
  };
}

/** Returns a function that sends the run's progress to the client, where it asked for that. */
function buildProgressSender({
  mcpReq,
}: ServerContext): ((event: SseEvent) => Promise<void>) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return async (event) => {
    const message = describeProgress(event);
    if (message === undefined) return;
    progress += 1;
    // A client that has left hears nothing, and its run is stopped elsewhere.
    await mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
      .catch(() => undefined);
  };
}
