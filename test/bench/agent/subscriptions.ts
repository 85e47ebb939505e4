import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Checkout } from './checkout.ts';
import { countingWire } from './counting-wire.ts';
import type { Databases } from './databases.ts';
import { holdOpen } from './http.ts';
import { together } from './load.ts';
import { residentMegabytes } from './servers.ts';

/** The seconds in which the round trips to the database are counted. */
const COUNTED = 20;
/** The seconds in which memory and timers settle. */
const SETTLE = 5;

/** The megabytes that the subscriptions add, and the round trips per second without and with them. */
export type Subscriptions = { megabytes: number; without: number; with: number };

/** Opens so many subscriptions to threads on which nothing happens. Some of these threads do not exist yet. */
export async function measureSubscriptions(
  checkout: Checkout,
  databases: Databases,
  count: number,
): Promise<Subscriptions> {
  const wire = await countingWire(await databases.fresh());
  const server = await checkout.start({ database: wire.uri });
  const open = (): Promise<() => void> =>
    holdOpen(`${server.url}/threads/${randomUUID()}/stream/events`, {
      channels: ['messages', 'lifecycle'],
    });
  const tripsPerSecond = async (): Promise<number> => {
    const before = wire.count();
    await pause(COUNTED * 1000);
    return (wire.count() - before) / COUNTED;
  };
  // The first ones load the code that serves them. That memory is not theirs.
  const first = await Promise.all(Array.from({ length: 20 }, open));
  for (const close of first) close();
  await pause(SETTLE * 1000);
  const [resident, without] = [residentMegabytes(server.pid), await tripsPerSecond()];
  const closes: (() => void)[] = [];
  await together(20, count, async () => closes.push(await open()));
  await pause(SETTLE * 1000);
  const loaded = {
    megabytes: residentMegabytes(server.pid) - resident,
    without,
    with: await tripsPerSecond(),
  };
  for (const close of closes) close();
  await server.stop();
  wire.close();
  return loaded;
}
