import process from 'node:process';
import type { ThreadStart } from './schema/wire/wall/graph-start.ts';
import { WALL_VERSION } from './schema/wire/wall/rules.ts';
import { openWorker } from './agent/graphs/worker.ts';

/*
 * This file runs once when the image is built, with NODE_COMPILE_CACHE set, and loads all that the server and its graph
 * threads load. From then on no process parses TypeScript. That saves each thread the 22 MB of Node's parser, and
 * halves the time of a start.
 */

/** Enough memory to load everything, but no graph. */
const HEAP_MEGABYTES = 512;

const start: ThreadStart = {
  graphs: [],
  partial: false,
  database: { uri: 'postgresql://nowhere', poolSize: 1, statementTimeoutSeconds: 1 },
  logLevel: 'silent',
  env: {},
  sendsLog: false,
};

await Promise.all([
  import('./main.ts'),
  import('./config/agent/agent.ts'),
  import('./agent/process/start.ts'),
]);
const runner = openWorker(
  {
    message: (message) => {
      if (message.kind === 'broken') throw new Error(message.sentence);
      // The exit writes the cache of all that was loaded here; the thread has written its own.
      if (message.kind === 'ready') process.exit();
    },
    crashed: (error) => {
      throw error;
    },
    ended: () => undefined,
  },
  { heapMegabytes: HEAP_MEGABYTES },
);
runner.send({ kind: 'start', version: WALL_VERSION, start });
