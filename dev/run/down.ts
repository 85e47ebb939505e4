import { rmSync } from 'node:fs';
import { removeCluster } from '../cluster/cluster.ts';
import { runMain, step } from '../steps.ts';
import { stopForwarding } from './console.ts';
import { ENV_FILE } from './env-file.ts';

/** Removes all that `make run` made; the caches of built parts stay. */
async function main(): Promise<void> {
  await stopForwarding();
  await step('cluster', (report) => removeCluster({ name: 'gx', report }));
  rmSync(ENV_FILE, { force: true });
}

await runMain(main);
