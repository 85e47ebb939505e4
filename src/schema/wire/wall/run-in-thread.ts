import { Type, type Static } from 'typebox';
import { RunError, RunKwargs } from '../../agent/run.ts';
import { buildEnumSchema, buildOptionalFields } from '../../types.ts';
import { buildJsonTextSchema } from './forms.ts';

/* The parts of messages on a run, to and from a graph thread. */

export const RunSpec = Type.Object({
  run_id: Type.String(),
  thread_id: Type.String(),
  graph_id: Type.String(),
  /** 1 for the first attempt; a later one goes on from the run's last checkpoint. */
  attempt: Type.Integer(),
  kwargs: RunKwargs,
  /** True when the thread has no checkpoint. */
  empty: Type.Boolean(),
  /** True when the run must not share a graph thread with other runs. */
  alone: Type.Boolean(),
  /** True while nobody reads the run's events, which need not be made then. */
  unheard: Type.Boolean(),
  ...buildOptionalFields({
    /** The trace that the run's parts are of, and the span above them. Absent when they are not to be sent. */
    trace: Type.Object({ trace_id: Type.String(), span_id: Type.String() }),
    /** The headers of its place in a trace, which requests of the graph carry. Absent where no trace is passed on. */
    passed_on: Type.Object({
      traceparent: Type.String(),
      tracestate: Type.Optional(Type.String()),
    }),
    /** True when it reports the calls of its models. */
    measures_usage: Type.Boolean(),
    /** True when it asks before each call of a model. */
    bounded: Type.Boolean(),
  }),
});
export type RunSpec = Static<typeof RunSpec>;

/** Characters of JSON above which a state with fields is long. */
const LONG = 16_000;

/** Returns true for a state that is stored as text beside its plain fields. */
export const isLong = (values: string): boolean => values.length > LONG && values.startsWith('{');

/** Where a graph failed, for the log: neither part holds a value of the run, which an error's message may do. */
const FailurePlace = Type.Object({
  ...buildOptionalFields({
    node: Type.String(),
    /** `file:line` in the user's own code. */
    at: Type.String(),
    /** Its frames, the user's own ones first. */
    stack: Type.String(),
  }),
  /** Name and message of each error below it, which may hold values. */
  causes: Type.Array(RunError),
});
export type FailurePlace = Static<typeof FailurePlace>;

/** How a run ended in its graph thread. */
export const Outcome = Type.Object({
  status: buildEnumSchema(['success', 'error', 'interrupted']),
  /** The last state; absent when it is unchanged. */
  values: Type.Optional(buildJsonTextSchema<unknown>()),
  /** Of a long state, the fields that are neither objects nor lists. Searches find threads by them. */
  plain: Type.Optional(buildJsonTextSchema<unknown>()),
  /** Task id -> its interrupts; absent when they are unchanged. */
  interrupts: Type.Optional(buildJsonTextSchema<Record<string, unknown[]>>()),
  /** True when the last checkpoint has nodes left to do. */
  waiting: Type.Boolean(),
  error: Type.Optional(RunError),
  failure: Type.Optional(FailurePlace),
  /** True when the database under the checkpoints failed, and not the graph: another try may succeed. */
  retry: Type.Optional(Type.Boolean()),
  /** True when it stopped between two steps because the server asked for that. */
  drained: Type.Optional(Type.Boolean()),
  /** True when the run is another attempt's by now. */
  lost: Type.Optional(Type.Boolean()),
});
export type Outcome = Static<typeof Outcome>;

const AttributeValue = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
export type AttributeValue = Static<typeof AttributeValue>;

/** One piece of work in a trace. Times are milliseconds since 1970, with fractions; ids are hex. */
export const Span = Type.Object({
  traceId: Type.String(),
  spanId: Type.String(),
  parentSpanId: Type.Optional(Type.String()),
  name: Type.String(),
  start: Type.Number(),
  end: Type.Number(),
  attributes: Type.Record(Type.String(), AttributeValue),
  error: Type.Optional(Type.String()),
});
export type Span = Static<typeof Span>;
