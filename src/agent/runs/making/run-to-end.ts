import { NotFound } from '../../../errors.ts';
import type { SseEvent } from '../../../http/routes/route.ts';
import { isUnfinished, type RunCreate, type RunStatus } from '../../../schema/agent/run.ts';
import type { JsonText } from '../../../schema/wire/wall/json-text.ts';
import { runProgress, selectActive, type RunProgress } from '../../db/runs/runs.ts';
import type { RequestKey } from '../../kernel/request-key.ts';
import type { BusMessage, Subscription } from '../../stream/bus.ts';
import { cancelRuns, type CancelDeps } from '../executing/cancel.ts';
import { createRunOnce, type CreateDeps } from './create-run.ts';
import type { RequestFacts } from './request.ts';
import { refuseGone } from './only-once.ts';
import type { Readers } from '../reading/readers.ts';

/* Protocols in which a request is a run: it ends with the run, and a client that leaves stops it. */

export type RunToEndDeps = CreateDeps &
  CancelDeps & {
    readers: Readers;
  };

type Options = {
  /** Undefined means a thread of its own, which stays if the run waits for an answer. */
  threadId: string | undefined;
  request: RequestFacts & { signal: AbortSignal };
  /** Gets the events meanwhile, of the kinds in the run's `stream_mode`. */
  hears: ((event: SseEvent) => Promise<void>) | undefined;
  /** That of the request, where it is carried out once. */
  key?: RequestKey | undefined;
};

/** `state`: see `loadFinalState`. `status`: unfinished where this server stops first; undefined: it is gone. */
export type RunEnd = {
  thread_id: string;
  run_id: string;
  state: JsonText;
  status: RunStatus | undefined;
};

/**
 * Makes a run, or finds the one that the same request made before, and returns its end. If the caller leaves before
 * that, the run is stopped, and the result is undefined. Throws the errors of `createRunOnce`.
 */
export async function runToEnd(
  deps: RunToEndDeps,
  body: RunCreate,
  options: Options,
): Promise<RunEnd | undefined> {
  const { threadId, request, hears, key } = options;
  const keepsWaiting = threadId === undefined ? ({ keepsWaiting: true } as const) : {};
  const follow = {
    signal: request.signal,
    hears: hears === undefined ? ('end' as const) : ('events' as const),
  };
  const { run, subscription, before } = await createRunOnce(
    deps,
    { body, threadId, call: request, key },
    { follow, ...keepsWaiting },
  );
  const { run_id, thread_id } = run;
  if (before !== undefined && !isUnfinished(before.status)) {
    subscription!.close();
    const state = await deps.readers.loadFinalState(run).catch((error: unknown) => {
      if (error instanceof NotFound) return refuseGone('The run');
      throw error;
    });
    return { thread_id, run_id, state, status: before.status };
  }
  const ending = new Ending(subscription!);
  if (hears !== undefined) await passOn(deps, { run_id, subscription: ending, before }, hears);
  const ended = await deps.readers.waitForEnd({ run_id, thread_id }, ending);
  if (ended !== undefined)
    return {
      thread_id,
      run_id,
      ...ended,
      status: ending.status ?? (await runProgress(deps.db, run_id))?.status,
    };
  await cancelRuns(deps, (tx) => selectActive(tx, { run_ids: [run_id] }), 'interrupt');
  return undefined;
}

/** A subscription that tells the end of its run to each of two readers, one after the other. */
class Ending implements Subscription {
  readonly #subscription: Subscription;
  #end: Extract<BusMessage, { kind: 'end' }> | undefined;

  constructor(subscription: Subscription) {
    this.#subscription = subscription;
  }

  /** The status of the run at its end, where it ended in this process. */
  get status(): RunStatus | undefined {
    return this.#end?.result?.status;
  }

  async readNext(): Promise<BusMessage | undefined> {
    if (this.#end !== undefined) return this.#end;
    const message = await this.#subscription.readNext();
    if (message?.kind === 'end') this.#end = message;
    return message;
  }

  close(): void {
    this.#subscription.close();
  }
}

async function passOn(
  { readers }: RunToEndDeps,
  {
    before,
    ...run
  }: { run_id: string; subscription: Subscription; before: RunProgress | undefined },
  hears: NonNullable<Options['hears']>,
): Promise<void> {
  const wanted = { modes: undefined, namespaces: undefined };
  const all =
    before === undefined
      ? readers.readEventsFromStart({ ...run, wanted })
      : (await readers.readEventsAfter(undefined, { ...run, progress: before }, wanted)).events;
  for await (const events of all) for (const event of events) await hears(event);
}
