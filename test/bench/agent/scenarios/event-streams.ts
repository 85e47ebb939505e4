import {
  ALL_CHANNELS,
  ALL_MODES,
  createThread,
  streamByAgUi,
  streamByEvents,
  streamResumable,
} from '../api.ts';
import { EVENTS } from '../graphs/define.ts';
import { median, together } from '../load.ts';
import type { BenchServer } from '../servers.ts';
import type { Scenario } from './scenario.ts';

const CUSTOM = ['custom', 'lifecycle'];

type Asked = { modes: string[]; channels: string[] };

/** How many times longer event streaming takes than the older door, whose streams are resumable; they take turns. */
async function besideOlderDoor(
  server: BenchServer,
  size: number,
  part: 'first' | 'whole',
  { modes, channels }: Asked,
): Promise<number> {
  const times: Record<'older' | 'events', number[]> = { older: [], events: [] };
  for (let index = 0; index < size; index += 1) {
    times.older.push((await streamResumable(server, await createThread(server), modes))[part]);
    times.events.push((await streamByEvents(server, await createThread(server), channels))[part]);
  }
  return median(times.events) / median(times.older);
}

const all: Asked = { modes: ALL_MODES, channels: ALL_CHANNELS };

const beside = (id: string, part: 'first' | 'whole', what: string): Scenario => ({
  id,
  what,
  unit: 'times',
  sizes: { gx: 200 },
  limit: { atMost: 1.15 },
  measure: (server, size) => besideOlderDoor(server, size, part, all),
});

const asked =
  'event streaming, 1 client: the first custom event, against the older door with the same modes, resumable';
const first = beside('events-first', 'first', asked);
const whole = beside(
  'events-whole',
  'whole',
  'the same: the run of 50 events, until its end is told',
);

/** The older door makes only what is asked for; event streaming makes everything, for those who come later. */
const firstOfOneMode: Scenario = {
  id: 'events-one-mode',
  what: 'the first custom event again, against the older door with that mode alone',
  unit: 'times',
  sizes: { gx: 200 },
  measure: (server, size) =>
    besideOlderDoor(server, size, 'first', { modes: ['custom'], channels: CUSTOM }),
};

const fifty: Scenario = {
  id: 'events-50',
  what: 'event streaming of 50 threads at once, 50 events each: events',
  unit: 'per s',
  sizes: { gx: 1000, js: 150, python: 100 },
  times: [{ of: ['js'], atLeast: 3 }],
  measure: async (server, size) => {
    let events = 0;
    const milliseconds = await together(50, size, async () => {
      const streamed = await streamByEvents(server, await createThread(server), CUSTOM);
      events += streamed.events;
    });
    if (events !== size * EVENTS) throw new Error(`${events} events of ${size * EVENTS} came`);
    return (events / milliseconds) * 1000;
  },
};

/** The run is the same one; AG-UI folds its events into those of its protocol, and compares the end with the thread. */
const firstByAgUi: Scenario = {
  id: 'ag-ui-first',
  what: 'AG-UI, 1 client: how much later the first custom event comes than by event streaming',
  unit: 'ms',
  sizes: { gx: 200 },
  limit: { atMost: 3 },
  measure: async (server, size) => {
    const times: Record<'agUi' | 'events', number[]> = { agUi: [], events: [] };
    for (let index = 0; index < size; index += 1) {
      times.events.push((await streamByEvents(server, await createThread(server), CUSTOM)).first);
      times.agUi.push((await streamByAgUi(server, await createThread(server))).first);
    }
    return median(times.agUi) - median(times.events);
  },
};

const fiftyByAgUi: Scenario = {
  id: 'ag-ui-50',
  what: 'AG-UI, 50 threads at once: runs per second, against event streaming',
  unit: 'times',
  sizes: { gx: 500 },
  limit: { atLeast: 0.92 },
  measure: async (server, size) => {
    const byAgUi = await together(50, size, async () => {
      const { events } = await streamByAgUi(server, await createThread(server));
      if (events !== EVENTS) throw new Error(`${events} events of ${EVENTS} came`);
    });
    const byEvents = await together(50, size, async () => {
      await streamByEvents(server, await createThread(server), CUSTOM);
    });
    return byEvents / byAgUi;
  },
};

export const eventStreamScenarios = [first, whole, firstOfOneMode, fifty, firstByAgUi, fiftyByAgUi];
