import { Problem, Unauthorized, Unavailable } from '../../errors.ts';
import { LOST_WAIT } from '../../schema/wire/lost-right.ts';
import type { Reply, SseEvent, SseEvents } from './route.ts';
import { USUAL_DIALECT } from './sse.ts';

/** With the time for which the control plane trusts a key, its streams end within 5 s after the key was revoked. */
const LOOK_MILLISECONDS = 1000;

type EndReason = 'refused' | 'unchecked';
type WatchedCaller = {
  signal: AbortSignal;
  again: () => Promise<unknown>;
  every?: number;
  /** Aborted when the stream ends for this reason, for sources that have another signal than `events` gets. */
  over?: AbortController;
  /** Returns the last event of a stream; without one, the stream goes on. */
  ending?: (reason: EndReason) => SseEvent | undefined;
};

const buildEndEvent = (reason: EndReason): SseEvent => ({ event: 'end', data: { reason } });

/** Statuses by which a server says that it can't check now, and not that the caller is refused. */
const UNCHECKED = [408, 429];

/** Returns true for a refusal of the caller, and not of the check itself. A handler of a user may choose its status. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof Problem && error.status < 500 && !UNCHECKED.includes(error.status);

/**
 * Calls `refuse` once `again` refuses the caller, with the answer's refusal. A check that fails for another reason ends
 * nothing. Returns the function that ends the checks. `every`: milliseconds between two.
 */
export function watchRefusal(
  { again, every }: Pick<Checking, 'again' | 'every'>,
  refuse: (refusal: Unauthorized) => void,
): () => void {
  const look = async (): Promise<void> => {
    try {
      await again();
    } catch (error) {
      if (!isRefusal(error)) return;
      clearInterval(timer);
      refuse(new Unauthorized(LOST_WAIT));
    }
  };
  const timer = setInterval(() => void look(), every).unref();
  return () => clearInterval(timer);
}

/**
 * Waits for the text of an answer until `again` refuses the caller. Then it throws `Unauthorized` in place of the text,
 * and aborts the signal with which the text is made.
 */
async function waitForText(
  text: (signal: AbortSignal) => Promise<string>,
  { signal, over, ...checking }: Checking & WatchedCaller,
): Promise<string> {
  const { promise: refused, reject } = Promise.withResolvers<never>();
  const unwatch = watchRefusal(checking, (refusal) => {
    // First, because the text may be there as soon as the signal is aborted.
    reject(refusal);
    over.abort();
  });
  try {
    return await Promise.race([refused, text(AbortSignal.any([signal, over.signal]))]);
  } finally {
    unwatch();
  }
}

/**
 * Streams events until `again` refuses the caller, or can't tell for so long that nobody is believed any more. A check
 * that fails for another reason ends nothing.
 */
export async function* streamWhileAllowed(
  events: (signal: AbortSignal) => SseEvents,
  {
    signal,
    again,
    every = LOOK_MILLISECONDS,
    ending = buildEndEvent,
    over = new AbortController(),
  }: WatchedCaller,
): AsyncGenerator<SseEvent | SseEvent[]> {
  let last: SseEvent | undefined;
  const look = async (): Promise<void> => {
    try {
      await again();
    } catch (error) {
      if (!isRefusal(error) && !(error instanceof Unavailable)) return;
      last ??= ending(isRefusal(error) ? 'refused' : 'unchecked');
      if (last !== undefined) over.abort();
    }
  };
  const timer = setInterval(() => void look(), every);
  try {
    for await (const event of events(AbortSignal.any([signal, over.signal]))) {
      // A source that is slow to obey its signal says no more.
      if (last !== undefined) break;
      yield event;
    }
    if (last !== undefined) yield last;
  } finally {
    clearInterval(timer);
  }
}

type Checking = { again: () => Promise<unknown>; over: AbortController; every: number };

/** Returns a stream, or a slow answer, that ends once its credentials are refused; other answers stay as they are. */
export function limitReply(reply: Reply, checking: Checking): Reply {
  if (reply.kind === 'sse') {
    const { lostRight } = reply.dialect ?? USUAL_DIALECT;
    // A check that can't be made ends nothing.
    const buildLastEvent = (reason: EndReason): SseEvent | undefined =>
      reason === 'refused' ? lostRight : undefined;
    return {
      ...reply,
      events: (signal) =>
        streamWhileAllowed(reply.events, { ...checking, signal, ending: buildLastEvent }),
    };
  }
  if (reply.kind === 'slow-json')
    return { ...reply, text: (signal) => waitForText(reply.text, { ...checking, signal }) };
  return reply;
}
