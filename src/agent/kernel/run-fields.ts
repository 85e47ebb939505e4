import type { RunKwargs } from '../../schema/agent/run.ts';
import { readTraceContext, type TraceContext } from '../../trace-context.ts';

/** The call of a run, as far as lines about the run need it. */
export type TracedCall = Pick<RunKwargs, 'config' | 'trace'>;

/** A run that lines of the log are about. `kwargs` is undefined where its call can't be read. */
export type RunInLog = { run_id: string; thread_id: string; kwargs?: TracedCall | undefined };

/** Returns the trace of the request that made a run, where both are traced. */
export const readRequestTrace = ({ trace }: Pick<RunKwargs, 'trace'>): TraceContext | undefined =>
  trace && readTraceContext(trace);

/**
 * Returns the ids that a line of the log about a run has: those of the run and its thread, of the request that made it,
 * and of its trace where that is not the run's own.
 */
export function runFields({ run_id, thread_id, kwargs }: RunInLog): Record<string, string> {
  if (kwargs === undefined) return { run_id, thread_id };
  const { langgraph_request_id: request } = (kwargs.config['configurable'] ?? {}) as {
    langgraph_request_id?: unknown;
  };
  const trace_id = readRequestTrace(kwargs)?.traceId;
  return {
    run_id,
    thread_id,
    ...(typeof request === 'string' && { request_id: request }),
    ...(trace_id !== undefined && { trace_id }),
  };
}
