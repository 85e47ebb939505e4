import { Forbidden, Unauthorized, Unavailable } from '../../errors.ts';
import type { SseEvent, SseEvents } from '../../http/route.ts';

/** With the time for which a key is trusted, a stream ends within 5 s after its key was revoked. */
const LOOK_MILLISECONDS = 1000;

type WatchedCaller = { signal: AbortSignal; again: () => Promise<unknown>; every?: number };

/**
 * Streams events until `again` refuses the caller, or can't tell for so long that nobody is believed any more. A check
 * that fails for another reason ends nothing.
 */
export async function* whileAllowed(
  events: (signal: AbortSignal) => SseEvents,
  { signal, again, every = LOOK_MILLISECONDS }: WatchedCaller,
): AsyncGenerator<SseEvent | SseEvent[]> {
  const over = new AbortController();
  let reason = '';
  const look = async (): Promise<void> => {
    try {
      await again();
    } catch (error) {
      if (error instanceof Unauthorized || error instanceof Forbidden) reason = 'refused';
      else if (error instanceof Unavailable) reason = 'unchecked';
      else return;
      over.abort();
    }
  };
  const timer = setInterval(() => void look(), every);
  try {
    yield* events(AbortSignal.any([signal, over.signal]));
    if (over.signal.aborted) yield { event: 'end', data: { reason } };
  } finally {
    clearInterval(timer);
  }
}
