import { NotFound } from '../../errors.ts';
import { feedbackUrls } from '../db/feedback.ts';
import { addReader, type RunProgress } from '../db/runs.ts';
import { getThread } from '../db/threads.ts';
import type { AgentDeps } from '../deps.ts';
import type { Outcome } from '../threads/protocol.ts';
import type { Subscription } from '../stream/bus.ts';
import { cancelRuns } from './cancel.ts';
import { selectActive } from '../db/runs.ts';
import { isUnfinished } from './status.ts';

type Json = Record<string, unknown>;

/** Puts this process among the run's readers, and tells the process that runs it. */
export async function follow(
  deps: AgentDeps,
  run: { runId: string; threadId: string | undefined },
  signal: AbortSignal,
): Promise<{ progress: RunProgress; subscription: Subscription }> {
  const { db, bus, signals } = deps;
  const subscription = bus.follow(run.runId, signal);
  const progress = await addReader(db, run.runId, signals.processId);
  if (progress === undefined || (run.threadId !== undefined && progress.thread_id !== run.threadId)) {
    subscription.close();
    throw new NotFound(`Run with ID ${run.runId} not found`);
  }
  if (progress.worker !== null && progress.worker !== signals.processId && isUnfinished(progress.status))
    await signals.send({ about: 'reader', run_id: run.runId, reader: signals.processId }, progress.worker);
  return { progress, subscription };
}

/** The body of `wait`: the final state, with what the graph waits for, or its error. */
export async function waitForEnd(
  deps: AgentDeps,
  { run_id, thread_id, subscription, cancel }: { run_id: string; thread_id: string; subscription: Subscription; cancel: boolean },
): Promise<unknown> {
  try {
    for (;;) {
      const heard = await subscription.next();
      if (heard === undefined) break;
      if (heard.kind === 'end' || heard.kind === 'too-slow')
        return await resultOf(deps, { run_id, thread_id, outcome: heard.kind === 'end' ? heard.outcome : undefined });
    }
  } finally {
    subscription.close();
  }
  if (cancel) await cancelRuns(deps, (tx) => selectActive(tx, { run_ids: [run_id] }), 'interrupt');
  return {};
}

type Ended = { run_id: string; thread_id: string; outcome: Outcome | undefined };

/** The result where the run ended in this process, else as it was written down. */
export async function resultOf(deps: AgentDeps, { run_id, thread_id, outcome }: Ended): Promise<unknown> {
  if (outcome?.error !== undefined) return { __error__: outcome.error };
  if (outcome?.values !== undefined)
    return together(JSON.parse(outcome.values), JSON.parse(outcome.interrupts ?? '{}') as Json, outcome.feedback);
  const progress = await addReader(deps.db, run_id, deps.signals.processId);
  if (progress?.error) return { __error__: progress.error };
  const thread = await getThread(deps.db, thread_id);
  return together(thread?.values ?? {}, thread?.interrupts ?? {}, await feedbackUrls(deps.db, run_id));
}

function together(values: unknown, interrupts: Json, feedback: Record<string, string> = {}): unknown {
  const waiting = Object.values(interrupts).flat();
  const more = {
    ...(waiting.length > 0 && { __interrupt__: waiting }),
    ...(Object.keys(feedback).length > 0 && { __feedback__: feedback }),
  };
  return Object.keys(more).length === 0 ? values : { ...(values as Json), ...more };
}
