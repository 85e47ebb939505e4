import process from 'node:process';
import { Worker } from 'node:worker_threads';
import type { FromThread, ThreadStart } from './threads/protocol.ts';

/*
 * Run once when the image is built, with NODE_COMPILE_CACHE set: loads all that the server and its graph threads load. From then on no
 * process parses TypeScript, which saves each thread the 22 MB of Node's parser, and the start half of its time.
 */

const start: ThreadStart = {
  graphs: [],
  index: undefined,
  database: { uri: 'postgresql://nowhere', poolSize: 1, statementTimeoutSeconds: 1 },
  logLevel: 'silent',
  env: {},
  traced: false,
};

await Promise.all([import('../main.ts'), import('../config/agent.ts'), import('./start.ts')]);
const worker = new Worker(new URL('./graph-thread/main.ts', import.meta.url), { workerData: start, execArgv: [] });
worker.on('message', (message: FromThread) => {
  if (message.kind === 'broken') throw new Error(message.sentence);
  // Leaving writes what was loaded here; the thread has written its own.
  if (message.kind === 'ready') process.exit();
});
