import { createThread, streamRun } from '../api.ts';
import { EVENTS } from '../graphs/define.ts';
import { median, together } from '../load.ts';
import type { Scenario } from './scenario.ts';

const firstEvent: Scenario = {
  id: 'stream-1',
  what: "stream of 50 events, 1 client: the graph's first event, p50",
  unit: 'ms',
  sizes: { gx: 100, js: 8, aegra: 30, 'aegra-redis': 20, python: 20 },
  limit: { atMost: 3.5 },
  measure: async (server, size) => {
    const times: number[] = [];
    for (let index = 0; index < size; index += 1)
      times.push((await streamRun(server, await createThread(server))).first);
    return median(times);
  },
};

const fiftyStreams: Scenario = {
  id: 'stream-50',
  what: 'streams of 50 events, 50 at once: events',
  unit: 'per s',
  sizes: { gx: 1000, js: 150, aegra: 150, 'aegra-redis': 100, python: 100 },
  times: [{ of: ['js', 'aegra', 'aegra-redis'], atLeast: 4.5 }],
  measure: async (server, size) => {
    let events = 0;
    const milliseconds = await together(50, size, async () => {
      const streamed = await streamRun(server, await createThread(server));
      events += streamed.events;
    });
    if (events !== size * EVENTS) throw new Error(`${events} events of ${size * EVENTS} came`);
    return (events / milliseconds) * 1000;
  },
};

export const streamScenarios = [firstEvent, fiftyStreams];
