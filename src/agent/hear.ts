import type { Signal } from './db/signals.ts';
import type { AgentDeps } from './deps.ts';
import type { Keeper } from './runs/keeper.ts';
import { threadKey } from './stream/bus.ts';

/** What a signal of another process means here. */
export function hear(deps: AgentDeps, keeper: Keeper, signal: Signal): void {
  switch (signal.about) {
    case 'ticket':
      deps.pump.poke();
      return;
    case 'events':
      for (const [at, run_id] of signal.run_ids.entries())
        for (const key of [run_id, threadKey(signal.thread_ids[at]!)]) deps.bus.say(key, { kind: 'wake', run_id });
      return;
    case 'end':
      if (!deps.executor.has(signal.run_id)) deps.bus.say(signal.run_id, { kind: 'end', outcome: undefined });
      return;
    case 'stop':
      keeper
        .renew([signal.run_id])
        .catch((error: unknown) => deps.log.warn({ err: error }, 'stop could not be read; the next heartbeat brings it'));
      return;
    case 'reader':
      deps.executor.addReader(signal.run_id, signal.reader);
      return;
    case 'thread-reader':
      deps.executor.addThreadReader(signal.thread_id, signal.reader);
  }
}
