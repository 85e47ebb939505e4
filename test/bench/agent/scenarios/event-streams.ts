import { createThread, streamByEvents, streamResumable } from '../api.ts';
import { EVENTS } from '../graphs/define.ts';
import type { Streamed } from '../http.ts';
import { median, together } from '../load.ts';
import type { BenchServer } from '../servers.ts';
import type { Scenario } from './scenario.ts';

type Door = (server: BenchServer, thread: string) => Promise<Streamed>;

/** Says how many times longer event streaming takes than the older door with resumable streams. The two take turns. */
async function besideOlderDoor(server: BenchServer, size: number, part: 'first' | 'whole'): Promise<number> {
  const times: Record<'older' | 'events', number[]> = { older: [], events: [] };
  const measured = async (door: Door): Promise<number> => (await door(server, await createThread(server)))[part];
  for (let index = 0; index < size; index += 1) {
    times.older.push(await measured(streamResumable));
    times.events.push(await measured(streamByEvents));
  }
  return median(times.events) / median(times.older);
}

const first: Scenario = {
  id: 'events-first',
  what: 'event streaming, 1 client: first event, against the older door with resumable streams',
  unit: 'times',
  sizes: { gx: 200 },
  limit: { atMost: 1.15 },
  measure: (server, size) => besideOlderDoor(server, size, 'first'),
};

const whole: Scenario = {
  id: 'events-whole',
  what: 'the same: the run of 50 events, until its end is told',
  unit: 'times',
  sizes: { gx: 200 },
  limit: { atMost: 1.15 },
  measure: (server, size) => besideOlderDoor(server, size, 'whole'),
};

const fifty: Scenario = {
  id: 'events-50',
  what: 'event streaming of 50 threads at once, 50 events each: events',
  unit: 'per s',
  sizes: { gx: 1000, js: 150 },
  times: [{ of: ['js'], atLeast: 3 }],
  measure: async (server, size) => {
    let events = 0;
    const milliseconds = await together(50, size, async () => {
      const streamed = await streamByEvents(server, await createThread(server));
      events += streamed.events;
    });
    if (events !== size * EVENTS) throw new Error(`${events} events of ${size * EVENTS} came`);
    return (events / milliseconds) * 1000;
  },
};

export const eventStreamScenarios = [first, whole, fifty];
