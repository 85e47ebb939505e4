import type { RunKwargs } from '../../../schema/agent/run.ts';
import { deriveTraceId } from '../../../log.ts';
import type { RunSpec } from '../../../schema/wire/wall/run-in-thread.ts';
import { buildTraceHeaders } from '../../../trace-context.ts';
import type { OpenSpan, Tracing } from '../../../tracing/spans.ts';
import type { Claimed } from '../../db/runs/leases.ts';
import { readRequestTrace } from '../../kernel/run-fields.ts';
import { buildContentAttribute } from '../../tracing/span.ts';
import type { End } from './end.ts';

const NAMES: Record<Exclude<End['kind'], 'finish'>, string> = {
  'roll-back': 'rolled back',
  'hand-back': 'handed back',
  forget: 'lost',
};

/**
 * Begins the span of one attempt of a run. It is below the request that made the run where that is traced, and else the
 * root of a trace that has the run's id, as have all of its attempts.
 */
export function beginRunSpan(
  tracing: Tracing | undefined,
  { run_id, thread_id, graph_id, attempt, kwargs }: Claimed,
): OpenSpan | undefined {
  return tracing?.begin(`run ${graph_id}`, {
    parent: readRequestTrace(kwargs),
    traceId: deriveTraceId(run_id),
    attributes: {
      'gx.run_id': run_id,
      'gx.thread_id': thread_id,
      'gx.graph_id': graph_id,
      'gx.attempt': attempt,
    },
  });
}

/**
 * Returns the place of the run's span for its graph thread: that of further spans, where they are sent, and that which
 * requests of the graph carry on, where it `passesOn`.
 */
export const buildSpanTrace = (
  span: OpenSpan | undefined,
  passesOn: boolean,
): Pick<RunSpec, 'trace' | 'passed_on'> =>
  span === undefined
    ? {}
    : {
        ...(span.place.sampled && {
          trace: { trace_id: span.place.traceId, span_id: span.place.spanId },
        }),
        ...(passesOn && { passed_on: buildTraceHeaders(span.place) }),
      };

/** Returns the facts of a run's span at its end: with `contents`, its input and the state that it left, too. */
export function buildRunSpanEnd(
  { kwargs }: { kwargs: RunKwargs },
  end: End,
  contents: boolean,
): Parameters<OpenSpan['end']>[0] {
  const error = end.kind === 'finish' ? end.error : null;
  return {
    attributes: {
      'gx.run_end': end.kind === 'finish' ? end.status : NAMES[end.kind],
      ...(contents && buildContents(kwargs, end)),
      ...(error !== null && { 'error.type': error.error }),
    },
    ...(error !== null && { error: error.message }),
  };
}

const buildContents = (
  { input, command }: Claimed['kwargs'],
  end: End,
): Record<string, string> => ({
  ...buildContentAttribute('input', JSON.stringify(command ?? input ?? null)),
  ...(end.kind === 'finish' &&
    end.values !== undefined &&
    buildContentAttribute('output', end.values)),
});
