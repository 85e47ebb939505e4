import { setTimeout as pause } from 'node:timers/promises';
import { createRun, createThread, streamRun, wait, waitOnFreshThread } from './api.ts';
import type { Checkout } from './checkout.ts';
import { countingWire } from './counting-wire.ts';
import type { Databases } from './databases.ts';
import { oneByOne, together } from './load.ts';

const RUNS = 100;

/** Returns the round trips to the database that one piece of work costs, less those of the idle server. */
export async function measureRoundTrips(
  checkout: Checkout,
  databases: Databases,
): Promise<Record<string, number>> {
  const wire = await countingWire(await databases.fresh());
  const server = await checkout.start({ database: wire.uri });
  const thread = await createThread(server);
  await wait(server, thread);
  const spent = async (work: () => Promise<unknown>): Promise<number> => {
    const [before, at] = [wire.count(), performance.now()];
    await work();
    // The first wait covers the tail of the last run. The second, as long, shows what idleness costs.
    await pause(500);
    const [after, seconds] = [wire.count(), (performance.now() - at) / 1000];
    await pause(3000);
    const idle = (wire.count() - after) / 3;
    return Math.max(0, after - before - idle * seconds) / RUNS;
  };
  const trips = {
    'create a thread': await spent(() => oneByOne(RUNS, () => createThread(server))),
    'thread + run + wait, 1 client': await spent(() =>
      oneByOne(RUNS, () => waitOnFreshThread(server)),
    ),
    'thread + run + wait, 50 clients': await spent(() =>
      together(50, RUNS, () => waitOnFreshThread(server)),
    ),
    'run + wait on one thread': await spent(() => oneByOne(RUNS, () => wait(server, thread))),
    'thread + stream of 50 events': await spent(() =>
      oneByOne(RUNS, async () => streamRun(server, await createThread(server))),
    ),
    'thread + background run, 20 clients': await spent(() =>
      together(20, RUNS, async () => createRun(server, await createThread(server))),
    ),
  };
  await server.stop();
  wire.close();
  return trips;
}
