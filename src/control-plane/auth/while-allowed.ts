import { Forbidden, Unauthorized } from '../../errors.ts';
import type { SseEvent, SseEvents } from '../../http/route.ts';

/** A revoked key is noticed at the first check after the ten seconds for which it is trusted. */
const LOOK_MILLISECONDS = 5000;

type WatchedCaller = { signal: AbortSignal; again: () => Promise<unknown>; every?: number };

/**
 * Streams events until `again` refuses the caller. A check that fails for another reason, such as an API server that is
 * away, ends nothing.
 */
export async function* whileAllowed(
  events: (signal: AbortSignal) => SseEvents,
  { signal, again, every = LOOK_MILLISECONDS }: WatchedCaller,
): AsyncGenerator<SseEvent | SseEvent[]> {
  const over = new AbortController();
  const look = async (): Promise<void> => {
    try {
      await again();
    } catch (error) {
      if (error instanceof Unauthorized || error instanceof Forbidden) over.abort();
    }
  };
  const timer = setInterval(() => void look(), every);
  try {
    yield* events(AbortSignal.any([signal, over.signal]));
    if (over.signal.aborted) yield { event: 'end', data: { reason: 'refused' } };
  } finally {
    clearInterval(timer);
  }
}
