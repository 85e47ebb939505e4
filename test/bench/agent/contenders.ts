import { own, pythonSettings, type Checkout, type ServerSettings } from './checkout.ts';
import type { Databases } from './databases.ts';
import {
  installAegra,
  installJsPeer,
  installPythonPeer,
  installRedis,
  LANGGRAPH_API,
  startAegra,
  startJsPeer,
  startPythonPeer,
} from './peers.ts';
import type { Who } from './scenarios/scenario.ts';
import type { BenchServer } from './servers.ts';

export type Contender = {
  who: Who;
  /** The head of the contender's column. */
  name: string;
  about: string;
  /** The contender gets slower with each run, so it starts anew for each scenario. */
  forgetful: boolean;
  install(): void;
  start(databases: Databases): Promise<BenchServer>;
};

/**
 * How this project's servers are started. `apart`: in two processes. `python`: with graphs in Python. Each server
 * executes `slots` runs at a time.
 */
export type Started = { slots: number; apart: boolean; python: boolean };

/** Returns what a server of this project is told of its graphs. */
const graphsOf = async ({ python }: Started): Promise<Partial<ServerSettings>> =>
  python ? pythonSettings() : {};

const processesOf = ({ apart, python }: Started): string =>
  `${apart ? 'a process that answers and one that executes' : 'one process'}${python ? ', graphs in Python' : ''}`;

/** Returns the servers that can be measured. */
export const contendersOf = (started: Started): Contender[] => [
  {
    who: 'gx',
    name: 'gx',
    about: `this server: ${processesOf(started)}, ${started.slots} runs at a time, Postgres with synchronous commit, default durability`,
    forgetful: false,
    install: () => undefined,
    start: async (databases) =>
      own.start({ database: await databases.fresh(), ...started, ...(await graphsOf(started)) }),
  },
  {
    who: 'encrypted',
    name: 'encrypted',
    about:
      'this server with GX_AES_KEY; the ratio is how many times better it is without, with the least and most of all rounds',
    forgetful: false,
    install: () => undefined,
    start: async (databases) =>
      own.start({
        database: await databases.fresh(),
        ...started,
        env: { GX_AES_KEY: 'a key for benches of 32 bytes ok' },
      }),
  },
  {
    who: 'js',
    name: 'js',
    about: `npm @langchain/langgraph-api 1.5.1, ${started.slots} workers: everything in memory, nothing durable`,
    forgetful: true,
    install: installJsPeer,
    start: () => startJsPeer(started.slots),
  },
  {
    who: 'aegra',
    name: 'aegra',
    about: 'PyPI aegra-api 0.11.0: state in Postgres, runs in the process that was asked',
    forgetful: false,
    install: installAegra,
    start: async (databases) =>
      startAegra({ database: await databases.fresh(), redis: false, slots: started.slots }),
  },
  {
    who: 'aegra-redis',
    name: 'aegra+redis',
    about: 'the same with its Redis queue: the durable peer',
    forgetful: false,
    install: () => {
      installAegra();
      installRedis();
    },
    start: async (databases) =>
      startAegra({ database: await databases.fresh(), redis: true, slots: started.slots }),
  },
  {
    who: 'python',
    name: 'langgraph-api',
    about: `PyPI langgraph-api ${LANGGRAPH_API} as a developer's server, ${started.slots} runs at a time: everything in memory, nothing durable`,
    forgetful: true,
    install: installPythonPeer,
    start: () => startPythonPeer(started.slots),
  },
];

/** Another checkout of this project, measured as this one is. */
export const besideContender = (checkout: Checkout, started: Started): Contender => ({
  who: 'beside',
  name: 'beside',
  about:
    'the checkout that --beside names; the ratio is how many times better this one is, with its least and most of all rounds',
  forgetful: false,
  install: () => undefined,
  start: async (databases) =>
    checkout.start({ database: await databases.fresh(), ...started, ...(await graphsOf(started)) }),
});
