import type { Checkout } from './checkout.ts';
import type { Databases } from './databases.ts';
import { measureFloors } from './floors.ts';
import { measureGrowingPython } from './growing-python.ts';
import { measureGrowingThread } from './growing-thread.ts';
import { measureGuarded } from './guarded.ts';
import { measureGuardedPython } from './guarded-python.ts';
import { measureKilledPython } from './killed-python.ts';
import { measureKeyed } from './keyed.ts';
import { measureMcp } from './mcp.ts';
import { measureA2a, measureA2aStreams } from './a2a.ts';
import { measureAgUi } from './ag-ui.ts';
import { measureMemory } from './memory.ts';
import { measurePods } from './pods.ts';
import { measurePythonPod } from './python.ts';
import type { Line } from './report.ts';
import { measureRoundTrips } from './round-trips.ts';
import { measureSearches } from './searches.ts';
import { measureSubscriptions } from './subscriptions.ts';
import { measureStoppedPython } from './stopped-python.ts';
import { measureStreamsElsewhere } from './streams-elsewhere.ts';
import { measureTraced } from './traced.ts';
import { measureWebhooks } from './webhooks.ts';

type Work = { checkout: Checkout; databases: Databases; scale: number };

/** A measurement that the peers do not take part in. */
export type Part = {
  id: string;
  head: (checkout: Checkout) => string;
  /** Describes the machine and the libraries, whichever checkout is measured. */
  isOfMachine?: boolean;
  /** The measurement is made only with --full, or by name. */
  isLong?: boolean;
  /** The measurement is about graphs in Python, so it is made with --python, or by name. */
  ofPython?: boolean;
  measure: (work: Work) => Promise<Line[]>;
};

async function searchLines(
  { checkout, databases }: Work,
  threads: number,
  limit: number,
): Promise<Line[]> {
  const searched = await measureSearches(checkout, databases, threads);
  return searched.map(({ what, p50, goal }) => ({
    what,
    figure: `${p50.toFixed(1)} ms`,
    ...(goal && { verdict: { goal: `<= ${limit} ms`, met: p50 <= limit } }),
  }));
}

async function memoryLines({ checkout, databases, scale }: Work): Promise<Line[]> {
  const runs = Math.round(5000 * scale);
  const { apiOnly, idle, loaded, after, drained } = await measureMemory(checkout, databases, runs);
  const megabytes = (value: number): string => `${value.toFixed(0)} MB`;
  return [
    {
      what: 'RSS of an idle process that only answers',
      figure: megabytes(apiOnly),
      verdict: { goal: '<= 130 MB', met: apiOnly <= 130 },
    },
    {
      what: 'RSS of an idle server',
      figure: megabytes(idle),
      verdict: { goal: '<= 150 MB', met: idle <= 150 },
    },
    {
      what: 'at most under 50 clients',
      figure: megabytes(loaded),
      verdict: { goal: '<= 260 MB', met: loaded <= 260 },
    },
    {
      what: `the same after ${runs} runs`,
      figure: megabytes(after),
      verdict: { goal: '<= 1.3x', met: after <= 1.3 * idle },
    },
    {
      what: 'those runs drained',
      figure: `${drained.toFixed(0)} per s`,
      verdict: { goal: '>= 300 per s', met: drained >= 300 },
    },
  ];
}

async function subscriptionLines({ checkout, databases }: Work): Promise<Line[]> {
  const {
    megabytes,
    without,
    with: loaded,
  } = await measureSubscriptions(checkout, databases, 1000);
  const perSecond = (value: number): string => `${value.toFixed(2)} per s`;
  return [
    {
      what: 'RSS of 1,000',
      figure: `${megabytes.toFixed(0)} MB`,
      verdict: { goal: '<= 60 MB', met: megabytes <= 60 },
    },
    { what: 'SQL round trips without them', figure: perSecond(without) },
    {
      what: 'with them',
      figure: perSecond(loaded),
      verdict: { goal: 'at most 0.1 more', met: loaded <= without + 0.1 },
    },
  ];
}

export const PARTS: Part[] = [
  {
    id: 'growing-thread',
    head: () => '1,000 runs on one thread, 2,000 messages',
    measure: measureGrowingThread,
  },
  {
    id: 'memory',
    head: ({ memory }) =>
      `memory (${Object.entries(memory)
        .map((pair) => pair.join('='))
        .join(' ')})`,
    measure: memoryLines,
  },
  {
    id: 'round-trips',
    head: () => 'SQL round trips',
    measure: async ({ checkout, databases }) => {
      const trips = await measureRoundTrips(checkout, databases);
      return Object.entries(trips).map(([what, count]) => ({ what, figure: count.toFixed(1) }));
    },
  },
  {
    id: 'subscriptions',
    head: () => 'event streaming: idle subscriptions',
    measure: subscriptionLines,
  },
  {
    id: 'guarded',
    head: () => 'calls beside those of an open server in turns, p50',
    measure: measureGuarded,
  },
  {
    id: 'keyed',
    head: () => 'waits with an Idempotency-Key beside waits without one in turns, p50',
    measure: measureKeyed,
  },
  {
    id: 'traced',
    head: () => 'a server that sends traces, in turns with one that does not',
    measure: measureTraced,
  },
  {
    id: 'mcp',
    head: () => 'calls of a tool beside waits for the same run in turns, p50',
    measure: measureMcp,
  },
  {
    id: 'a2a',
    head: () => 'tasks beside waits for the same run in turns, p50',
    measure: measureA2a,
  },
  { id: 'a2a-streams', head: () => 'streams of tasks', measure: measureA2aStreams },
  { id: 'ag-ui', head: () => 'a model that speaks, by AG-UI', measure: measureAgUi },
  {
    id: 'webhooks',
    head: () => '1,000 runs whose ends are told',
    isLong: true,
    measure: measureWebhooks,
  },
  {
    id: 'streams-elsewhere',
    head: () => '50 streams read from another process, through Valkey beside Postgres, in pairs',
    isLong: true,
    measure: measureStreamsElsewhere,
  },
  {
    id: 'searches',
    head: () => 'searches in 10,000 threads, p50',
    measure: (work) => searchLines(work, 10_000, 5),
  },
  {
    id: 'searches-million',
    head: () => 'searches in 1,000,000 threads, p50',
    isLong: true,
    measure: (work) => searchLines(work, 1_000_000, 20),
  },
  {
    id: 'growing-python',
    head: () => '1,000 runs on one thread of a graph in Python',
    ofPython: true,
    measure: measureGrowingPython,
  },
  {
    id: 'killed-python',
    head: () => 'processes of graphs in Python that are killed',
    ofPython: true,
    measure: measureKilledPython,
  },
  {
    id: 'stopped-python',
    head: () => 'stops of runs of graphs in Python',
    ofPython: true,
    measure: measureStoppedPython,
  },
  {
    id: 'python-pod',
    head: () => 'a pod with graphs in Python',
    ofPython: true,
    measure: measurePythonPod,
  },
  {
    id: 'guarded-python',
    head: () => 'handlers and routes in Python in turns with others, p50',
    ofPython: true,
    measure: measureGuardedPython,
  },
  {
    id: 'pods',
    head: () => 'memory (PSS) of a pod of each kind',
    isLong: true,
    measure: measurePods,
  },
  {
    id: 'floors',
    head: () => 'floors',
    isOfMachine: true,
    measure: ({ databases }) => measureFloors(databases),
  },
];
