import type { SseEvent } from '../../http/route.ts';
import type { RunCreate } from '../../schema/run.ts';
import { selectActive } from '../db/runs.ts';
import type { BusMessage, Subscription } from '../stream/bus.ts';
import type { JsonText } from '../threads/json-text.ts';
import { cancelRuns, type CancelDeps } from './cancel.ts';
import { createRun, type CreateDeps } from './create.ts';
import type { RequestFacts } from './plan.ts';
import type { Readers } from './readers.ts';

/* Protocols in which a request is a run: it ends with the run, and whoever leaves stops it. */

export type RunToEndDeps = CreateDeps & CancelDeps & { readers: Pick<Readers, 'eventsFromStart' | 'waitForEnd'> };

type Options = {
  /** Undefined means a thread of its own, which stays if the run waits for an answer. */
  threadId: string | undefined;
  request: RequestFacts & { signal: AbortSignal };
  /** Hears what happens meanwhile. The run's `stream_mode` says what that is. */
  hears: ((event: SseEvent) => Promise<void>) | undefined;
};

/** `state`: see `finalState`. */
export type RunEnd = { thread_id: string; run_id: string; state: JsonText };

/**
 * Makes a run and returns its end. If the caller leaves before that, the run is stopped, and the result is undefined.
 * Throws what `createRun` throws.
 */
export async function runToEnd(deps: RunToEndDeps, body: RunCreate, options: Options): Promise<RunEnd | undefined> {
  const { threadId, request, hears } = options;
  const keepsWaiting = threadId === undefined ? ({ keepsWaiting: true } as const) : {};
  const follow = { signal: request.signal, hears: hears === undefined ? ('end' as const) : ('events' as const) };
  const { run, subscription } = await createRun(deps, body, { threadId, request, follow, ...keepsWaiting });
  const { run_id, thread_id } = run;
  const last = hears === undefined ? subscription! : await followed(deps, { run_id, subscription: subscription! }, hears);
  const ended = await deps.readers.waitForEnd({ run_id, thread_id }, last);
  if (ended !== undefined) return { thread_id, run_id, ...ended };
  await cancelRuns(deps, (tx) => selectActive(tx, { run_ids: [run_id] }), 'interrupt');
  return undefined;
}

type Followed = { run_id: string; subscription: Subscription };

/** Passes on the events of a run, and returns a subscription that begins with the run's end. */
async function followed(
  { readers }: Pick<RunToEndDeps, 'readers'>,
  { run_id, subscription }: Followed,
  hears: NonNullable<Options['hears']>,
): Promise<Subscription> {
  let end: BusMessage | undefined;
  const next = async (): Promise<BusMessage | undefined> => {
    const message = await subscription.next();
    if (message?.kind === 'end') end = message;
    return message;
  };
  const close = (): void => subscription.close();
  const wanted = { modes: undefined, namespaces: undefined };
  for await (const events of readers.eventsFromStart({ run_id, subscription: { next, close }, resumable: false, wanted }))
    for (const event of events) await hears(event);
  return { next: () => Promise.resolve(end), close };
}
