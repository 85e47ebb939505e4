import { setTimeout as pause } from 'node:timers/promises';
import { pythonSettings, type Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import type { Line } from './report.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { proportionalMegabytes } from './servers.ts';

/* Graphs in Python on this server: the same scenarios with goals of their own, and what their pods need. */

const GOALS: Record<string, Scenario['limit']> = {
  'wait-1': { atMost: 12 },
  'wait-50': { atLeast: 180 },
  start: undefined,
  burst: { atLeast: 150 },
  'stream-1': { atMost: 8 },
  'stream-50': { atLeast: 6000 },
  'events-50': undefined,
};
const READY = 4;
const AT_REST = 270;
/** The seconds that the garbage collectors get after the start. */
const BREATHE = 5;

/** Returns the scenarios that graphs in Python take part in, with their goals. Those of JavaScript do not hold. */
export const inPython = (scenarios: Scenario[]): Scenario[] =>
  scenarios
    .filter(({ id }) => Object.hasOwn(GOALS, id))
    .map(({ id, what, unit, sizes, measure }) => {
      const limit = GOALS[id];
      return { id, what, unit, sizes, measure, ...(limit && { limit }) };
    });

type Work = { checkout: Checkout; databases: Databases };

/** Measures how long a server takes until it is ready to run graphs, and its memory at rest with that of its runner. */
export async function measurePythonPod({ checkout, databases }: Work): Promise<Line[]> {
  const settings = { database: await databases.fresh(), ...(await pythonSettings()) };
  const began = performance.now();
  const server = await checkout.start(settings);
  const ready = (performance.now() - began) / 1000;
  await pause(BREATHE * 1000);
  const megabytes = proportionalMegabytes(server.pid).reduce((sum, one) => sum + one, 0);
  await server.stop();
  return [
    {
      what: 'ready after',
      figure: `${ready.toFixed(1)} s`,
      verdict: { goal: `<= ${READY} s`, met: ready <= READY },
    },
    {
      what: 'memory (PSS) at rest, server and runner',
      figure: `${megabytes.toFixed(0)} MB`,
      verdict: { goal: `<= ${AT_REST} MB`, met: megabytes <= AT_REST },
    },
  ];
}
