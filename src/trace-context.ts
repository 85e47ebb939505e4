import { AsyncLocalStorage } from 'node:async_hooks';

/** A place in a trace, as W3C's headers carry it from one process to the next. */
export type TraceContext = {
  traceId: string;
  spanId: string;
  /** Whether the spans of the trace are sent to a collector. */
  sampled: boolean;
  /** The words of other systems about the trace, which go on as they are. */
  state?: string | undefined;
};

type TraceHeaders = Readonly<Record<string, string | string[] | undefined>>;

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const LONGEST_STATE = 512;
const SAMPLED = 1;

/**
 * Returns the place that the headers of a request name. A header that breaks the rules names none; a later version of
 * them is read as far as this one goes.
 */
export function readTraceContext({
  traceparent,
  tracestate,
}: TraceHeaders): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] =
    FORM.exec(String(traceparent)) ?? [];
  const isBroken =
    version === undefined || version === 'ff' || (version === '00' && rest !== undefined);
  if (isBroken || [traceId, spanId].some((id) => /^0+$/.test(id))) return undefined;
  return {
    traceId,
    spanId,
    sampled: (parseInt(flags, 16) & SAMPLED) === SAMPLED,
    ...readTraceState(tracestate),
  };
}

/** Returns the words of other systems, unless they are longer than the rules let them be. */
function readTraceState(given: TraceHeaders[string] = []): { state?: string | undefined } {
  const state = [given].flat().join(',');
  return state === '' || state.length > LONGEST_STATE ? {} : { state };
}

/** Returns the headers that carry a place in a trace on to another process. */
export const buildTraceHeaders = ({
  traceId,
  spanId,
  sampled,
  state,
}: TraceContext): { traceparent: string; tracestate?: string } => ({
  traceparent: `00-${traceId}-${spanId}-0${sampled ? SAMPLED : 0}`,
  ...(state !== undefined && { tracestate: state }),
});

// oxlint-disable-next-line house/module-state -- It holds nothing itself: each piece of work has its own place.
const places = new AsyncLocalStorage<TraceContext>();

/** Returns the place in a trace of the work under way; undefined where it is not traced. */
export const getCurrentTrace = (): TraceContext | undefined => places.getStore();

/** Does the work at that place, so that its requests carry it on. */
export const runInTrace = <T>(place: TraceContext | undefined, work: () => T): T =>
  place === undefined ? work() : places.run(place, work);

/** Returns the headers that carry the place of the work under way on; none where it is not traced. */
export function getCurrentTraceHeaders(): Partial<ReturnType<typeof buildTraceHeaders>> {
  const place = getCurrentTrace();
  return place === undefined ? {} : buildTraceHeaders(place);
}
