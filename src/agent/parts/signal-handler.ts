import type { Log } from '../../log.ts';
import type { CronClock } from '../crons/clock.ts';
import type { Signal } from '../db/base/signals.ts';
import type { PinnedCalls } from '../graphs/pinned-calls.ts';
import type { Pump } from '../queue/pump.ts';
import type { WorkReports } from '../queue/work-reports.ts';
import type { Executor } from '../runs/executing/executor.ts';
import type { Keeper } from '../runs/executing/keeper.ts';
import type { Readers } from '../runs/reading/readers.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';

type Deps = {
  pump: Pump;
  clock: CronClock;
  readers: Readers;
  executor: Executor;
  keeper: Keeper;
  webhooks: Webhooks;
  reports: WorkReports | undefined;
  pinnedCalls: PinnedCalls;
  log: Log;
};

/** Carries out the request of a signal from another process. */
export function handleSignal(deps: Deps, signal: Signal): void {
  switch (signal.about) {
    case 'ticket':
      deps.pump.wakeForRevisions(signal.revisions);
      return;
    case 'cron':
      deps.clock.wake();
      return;
    case 'webhook':
      deps.webhooks.wake();
      return;
    case 'plan':
      deps.reports?.reportNow();
      return;
    case 'call':
      void deps.pinnedCalls.handleCall(signal);
      return;
    case 'answer':
      deps.pinnedCalls.wake(signal.call_id);
      return;
    default:
      handleSignalOfRun(deps, signal);
  }
}

function handleSignalOfRun(
  { readers, executor, keeper, log }: Deps,
  signal: Exclude<Signal, { about: 'ticket' | 'cron' | 'webhook' | 'plan' | 'call' | 'answer' }>,
): void {
  switch (signal.about) {
    case 'events':
      for (const [at, run_id] of signal.run_ids.entries())
        readers.wakeHere({ run_id, thread_id: signal.thread_ids[at]! });
      return;
    case 'end':
      if (!executor.has(signal.run_id)) readers.endHere(signal.run_id, signal.last);
      return;
    case 'stop':
      keeper
        .renew([signal.run_id])
        .catch((error: unknown) =>
          log.warn({ err: error }, 'a stop could not be read; the next heartbeat will bring it'),
        );
      return;
    case 'reader':
      executor.addReader(signal.run_id, signal.reader);
      return;
    case 'thread-reader':
      executor.addThreadReader(signal.thread_id, signal.reader);
      return;
    case 'thread':
      readers.joinProtocolRun(signal.thread_id, signal.readers);
  }
}

/** Makes each part look at the database, because signals may have been missed. */
export function handleReconnect({
  pump,
  clock,
  readers,
  keeper,
  webhooks,
  log,
}: Omit<Deps, 'executor' | 'reports' | 'pinnedCalls'>): void {
  readers.wakeAllHere();
  pump.wake();
  clock.wake();
  webhooks.wake();
  keeper
    .renew()
    .catch((error: unknown) =>
      log.warn({ err: error }, 'leases could not be renewed; the next heartbeat will renew them'),
    );
}
