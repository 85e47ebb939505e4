import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { UsageError } from '../../errors.ts';
import { runMain } from '../../steps.ts';

/*
 * Forwards a port of this machine to the console's Service until it is stopped. `kubectl port-forward` ends with the
 * pod that it leads to, so it is started again.
 */

/** How often in a row it may end at once: some minutes without a cluster. */
const ATTEMPTS = 300;
/** Milliseconds after which a connection to the cluster has worked. */
const WORKED = 5000;

await runMain(async () => {
  const [kubectl, kubeconfig, port] = process.argv.slice(2);
  if (kubectl === undefined || kubeconfig === undefined || port === undefined)
    throw new UsageError('Usage: node dev/run/forward/main.ts KUBECTL KUBECONFIG PORT');
  const way = ['port-forward', '--address', '127.0.0.1', 'service/gx-console', `${port}:80`];
  const flags = ['--kubeconfig', kubeconfig, '--namespace', 'gx-system'];
  let child: ChildProcess | undefined;
  const stop = (): void => {
    child?.kill();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
  for (let failed = 0; failed < ATTEMPTS; failed += 1) {
    const started = performance.now();
    child = spawn(kubectl, [...way, ...flags], { stdio: 'ignore' });
    await once(child, 'exit');
    if (performance.now() - started > WORKED) failed = 0;
    await wait(1000);
  }
});
