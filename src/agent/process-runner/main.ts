import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadStart } from '../../schema/wire/wall/graph-start.ts';
import { WALL_VERSION } from '../../schema/wire/wall/rules.ts';
import type { FromRunner, ToRunner } from '../../schema/wire/wall/runner.ts';
import { RunnerProcess } from '../kernel/runner-process.ts';
import { startWhenAsked } from '../kernel/worker-start.ts';

/*
 * This thread stores for a runner in another process, by the protocol of schema/wire/wall/runner.ts. It runs nothing of
 * the user's. To the server it is a graph thread. It starts the runner first, and loads the rest of its own code while
 * the runner loads its packages: runs wait for both after a kill.
 */

const port = parentPort!;

/** Returns the settings that a runner needs: neither the database nor a key is among them. */
const pickRunnerSettings = ({
  graphs,
  partial,
  logLevel,
  logFields,
  env,
  spanContents,
  sendsLog,
  index,
  ...more
}: ThreadStart) =>
  ({
    graphs,
    partial,
    logLevel,
    logFields,
    env,
    spanContents,
    sendsLog,
    index: index?.language === 'python' ? index : undefined,
    serde: more.serde,
    storeLife: more.storeLife,
    isolatedLoops: more.isolatedLoops,
    development: more.development,
  }) satisfies Extract<ToRunner, { kind: 'start' }>['start'];

async function start(given: ThreadStart): Promise<void> {
  const child = new RunnerProcess<ToRunner, FromRunner>(given.runner ?? { command: [] });
  // The server ends the process together with this thread, and finds it here.
  const pid = new Int32Array(workerData as SharedArrayBuffer);
  Atomics.store(pid, 0, child.pid);
  child.send({ kind: 'start', version: WALL_VERSION, start: pickRunnerSettings(given) });
  const { serveRunner } = await import('./serve.ts');
  await serveRunner(child, { given, port, ended: () => Atomics.store(pid, 0, 0) });
}

startWhenAsked(port, start);
