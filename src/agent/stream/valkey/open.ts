import type { StreamSettings } from '../../../config/agent/streams.ts';
import type { Log } from '../../../log.ts';
import type { Db } from '../../db/base/pool.ts';
import type { Signals } from '../../db/base/signals.ts';
import { EventLog, type StreamLog } from '../log.ts';
import type { RunPart } from './frames.ts';
import { StoreLog } from './log.ts';
import { openStore } from './store.ts';

/** Calls for readers in this process when others sent events. */
type Hearing = { publishEventsHere(part: RunPart): void; lookAgainHere(): void };

/** `listen` begins to hear the events that other processes send here. */
export type OpenedLog = {
  eventLog: StreamLog;
  counts: StoreLog | undefined;
  listen(readers: Hearing): Promise<void>;
  close(): Promise<void>;
};

/** Opens the bus between processes: through the table alone, or through a key-value store with the table behind it. */
export async function openEventLog({
  db,
  settings,
  signals,
  log,
}: {
  db: Db;
  settings: StreamSettings;
  signals: Signals;
  log: Log;
}): Promise<OpenedLog> {
  const table = new EventLog({ db, lifeSeconds: settings.resumableSeconds, log });
  const skip = async (): Promise<void> => undefined;
  if (settings.store === undefined)
    return { eventLog: table, counts: undefined, listen: skip, close: skip };
  const store = await openStore(settings.store);
  const wake = async ({ run_id, thread_id }: RunPart, readers: string[]): Promise<void> => {
    for (const reader of readers)
      await signals.send({ about: 'events', run_ids: [run_id], thread_ids: [thread_id] }, reader);
  };
  const eventLog = new StoreLog({ db, store, table, wake, log });
  const listen = async (readers: Hearing): Promise<void> => {
    const handleMissed = (): void => readers.lookAgainHere();
    store.listen(
      signals.processId,
      {
        heard: (parts) => eventLog.forwardParts(parts, (part) => readers.publishEventsHere(part)),
        lost: () => eventLog.moveAllToTable(),
        missed: handleMissed,
      },
      log,
    );
    await store.waitUntilUp();
  };
  return { eventLog, counts: eventLog, listen, close: () => eventLog.close() };
}
