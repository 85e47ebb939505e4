import { traceIdOf } from '../../log.ts';
import type { Span } from '../../schema/wire/wall/run-in-thread.ts';
import type { Claimed } from '../db/runs/leases.ts';
import { contentAttribute, rootSpanId } from '../tracing/span.ts';
import type { End } from './end.ts';

const NAMES: Record<Exclude<End['kind'], 'finish'>, string> = {
  'roll-back': 'rolled back',
  'hand-back': 'handed back',
  forget: 'lost',
};

/**
 * Returns the span of one attempt of a run, the root of its trace. Times are milliseconds since 1970. With `contents`,
 * it holds the run's input and the state that it left.
 */
export function runSpan(
  { run_id, thread_id, graph_id, attempt, kwargs }: Pick<Claimed, 'run_id' | 'thread_id' | 'graph_id' | 'attempt' | 'kwargs'>,
  runEnd: End,
  { start, end, contents = false }: { start: number; end: number; contents?: boolean },
): Span {
  const error = runEnd.kind === 'finish' ? runEnd.error : null;
  return {
    traceId: traceIdOf(run_id),
    spanId: rootSpanId(run_id, attempt),
    name: `run ${graph_id}`,
    start,
    end,
    attributes: {
      'gx.run_id': run_id,
      'gx.thread_id': thread_id,
      'gx.graph_id': graph_id,
      'gx.attempt': attempt,
      'gx.run_end': runEnd.kind === 'finish' ? runEnd.status : NAMES[runEnd.kind],
      ...(contents && contentsOf(kwargs, runEnd)),
      ...(error !== null && { 'error.type': error.error }),
    },
    ...(error !== null && { error: error.message }),
  };
}

const contentsOf = ({ input, command }: Claimed['kwargs'], end: End): Record<string, string> => ({
  ...contentAttribute('input', JSON.stringify(command ?? input ?? null)),
  ...(end.kind === 'finish' && end.values !== undefined && contentAttribute('output', end.values)),
});
