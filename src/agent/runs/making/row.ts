import { buildTraceHeaders, getCurrentTrace } from '../../../trace-context.ts';
import type { NewRun } from '../../db/runs/runs.ts';
import { getCurrentContext } from '../../kernel/encryption-context.ts';
import { readStrictAnswer } from '../../kernel/strict-resume.ts';
import type { BudgetedRun } from './answer-budget.ts';
import { mayCreateThread, runKwargs, runMetadata } from './kwargs.ts';
import type { PermittedRequest, PlannedContext, RequestDeps, RunOptions } from './request.ts';

type RowFacts = {
  context: PlannedContext;
  /** The request without the answer to a budget's question. */
  budgeted: BudgetedRun;
  place: NewRun['place'];
  options: RunOptions;
};

/** Returns the row of a run that may be made. Nobody reads it yet. */
export function buildRow(
  { jobs, webhooks, requests }: RequestDeps,
  { call, key, threadId, permits, runId: run_id, ownThreadId: thread_id }: PermittedRequest,
  { context, budgeted, place, options }: RowFacts,
): NewRun {
  const { assistant_id, graph_id } = context;
  const { body } = budgeted;
  const { follow, protocol, answers, keepsWaiting, threadMetadata, task } = options;
  const trace = getCurrentTrace();
  const isAlone = threadId === undefined;
  const from = { ...context, config: { recursion_limit: jobs.recursionLimit, ...context.config } };
  const kwargs = runKwargs(body, from, {
    run_id,
    thread_id,
    temporary: isAlone && body.on_completion !== 'keep',
    protocol,
    answers,
    keepsWaiting,
    ...(key !== undefined && follow !== undefined && { repeatable: true }),
    encryptionContext: getCurrentContext(),
    traced: trace === undefined ? {} : { trace: buildTraceHeaders(trace) },
    origin: {
      requestId: call.requestId,
      headers: { ...requests.pickConfigurable(call.headers), ...call.configurable },
      user: call.caller.guard?.user,
    },
  });
  const answering = budgeted.answering ?? options.answering ?? readStrictAnswer(body);
  return {
    run_id,
    thread_id,
    assistant_id,
    graph_id,
    metadata: runMetadata(body, context),
    kwargs: { ...kwargs, ...budgeted.kwargs },
    webhook: webhooks.resolveTarget(body.webhook),
    task,
    multitask_strategy: body.multitask_strategy ?? 'enqueue',
    ...(place !== undefined && { place }),
    ...(answering !== undefined && { answering }),
    ...(budgeted.raise !== undefined && { raise: budgeted.raise }),
    ...(key !== undefined && { key }),
    // An interval takes no number as small as a double can be, so this is rounded to whole milliseconds.
    after_seconds: Math.round((body.after_seconds ?? 0) * 1000) / 1000,
    readers: [],
    thread: {
      create: isAlone || mayCreateThread(body),
      metadata: {
        // A thread made for a guarded run gets the run's labels, so that its caller sees it.
        ...(permits !== undefined && context.thread_metadata === null && body.metadata),
        graph_id,
        assistant_id,
        ...(isAlone && threadMetadata),
      },
      runs: context.thread_runs,
      ...(permits?.thread !== undefined && { changeable: permits.thread }),
    },
  };
}
