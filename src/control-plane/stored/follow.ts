import type { Stored } from './stored.ts';
import { skipNotFound } from '../../errors.ts';
import type { SseEvent } from '../../http/routes/route.ts';
import { formatCanonicalJson } from '../../schema/canonical-json.ts';

type Changes = { stored: Stored; stopping: AbortSignal };

/**
 * Streams a value: reads it at each change of its deployment, which has the `uid`, and sends it when it differs. The
 * stream ends when `ended` says so or the value is gone.
 */
export async function* follow<T>(
  plane: Changes,
  { signal }: { signal: AbortSignal },
  view: {
    event: string;
    uid: string | undefined;
    read: () => Promise<T>;
    ended: (value: T) => boolean;
  },
): AsyncGenerator<SseEvent> {
  const leaving = AbortSignal.any([signal, plane.stopping]);
  let last = '';
  while (!leaving.aborted) {
    // The wait begins before the read, so that a change during the read is not missed.
    const changed = plane.stored.waitForChange(leaving, view.uid);
    const value = await view.read().catch(skipNotFound);
    if (value === undefined) return yield { event: 'end', data: { reason: 'gone' } };
    const text = formatCanonicalJson(value);
    if (text !== last) yield { event: view.event, data: value };
    if (view.ended(value)) return yield { event: 'end', data: { reason: 'ended' } };
    last = text;
    await changed;
  }
}

/** Waits until a value is as wanted or the time is up, and returns the value as it is then. */
export async function waitFor<T>(
  plane: Changes,
  options: { signal: AbortSignal; seconds: number },
  view: { uid: string | undefined; read: () => Promise<T>; done: (value: T) => boolean },
): Promise<T> {
  const timeout = AbortSignal.any([
    options.signal,
    plane.stopping,
    AbortSignal.timeout(options.seconds * 1000),
  ]);
  for (;;) {
    const changed = plane.stored.waitForChange(timeout, view.uid);
    const value = await view.read();
    if (view.done(value) || timeout.aborted) return value;
    await changed;
  }
}
