import { PLAIN, type Place } from '../../encryption/codec.ts';
import { toFieldText } from '../base/json-field.ts';
import type { Db } from '../base/pool.ts';
import { runUnderContext, type EncryptionContext } from '../../kernel/encryption-context.ts';

export const buildEventPlace = (run_id: string): Place => ({ kind: 'event.data', of: run_id });

/** Data of an event of a run; `context`: that of the run. */
type NewEventData = { run_id: string; json: string; context?: EncryptionContext | undefined };

/** Returns the same for many events. */
export const sealEvents = (db: Db, events: NewEventData[]): string[] | Promise<string[]> =>
  db.codec === PLAIN
    ? events.map(({ json }) => toFieldText(json))
    : Promise.all(
        events.map((event) =>
          runUnderContext(event.context, () =>
            db.codec.seal(buildEventPlace(event.run_id), toFieldText(event.json)),
          ),
        ),
      );

/** Opens rows of events. */
export const openEvents = <E extends { json: string }>(
  { codec }: Db,
  events: (E & { run_id: string })[],
): Promise<(E & { run_id: string })[]> =>
  codec === PLAIN
    ? Promise.resolve(events)
    : Promise.all(
        events.map(async (event) => ({
          ...event,
          json: await codec.openText(buildEventPlace(event.run_id), event.json),
        })),
      );
