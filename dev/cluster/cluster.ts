import { Unhealthy, UsageError } from '../errors.ts';
import { runLocked } from '../lock.ts';
import { formatSecondsSince } from '../steps.ts';
import { listProviders, choose } from './choose.ts';
import type { Cluster, ClusterOptions, Extra } from './provider.ts';

export type { Cluster } from './provider.ts';

/** Returns a healthy cluster with these extras, and makes a broken one again. */
export async function ensureCluster({
  extras,
  ...options
}: ClusterOptions & { extras: readonly Extra[] }): Promise<Cluster> {
  const cluster = await startCluster(options);
  return cluster.with(extras, options.report);
}

/** Returns a healthy cluster that can run an agent; `with` gives it the rest. Makes a broken one again. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  requireName(options.name);
  const provider = await choose();
  return runExclusively(
    options,
    async () => (await provider.find(options)) ?? provider.up(options),
  );
}

/** Returns the cluster of this name as it is. Throws `Unhealthy` if there is none that answers. */
export async function requireRunningCluster(options: ClusterOptions): Promise<Cluster> {
  const cluster = await (await choose()).find(options);
  if (cluster === undefined)
    throw new Unhealthy(`There is no cluster ${options.name} that answers.`);
  return cluster;
}

/** Removes everything of the cluster. It is no error if there is none. */
export async function removeCluster(options: ClusterOptions): Promise<void> {
  requireName(options.name);
  const { name, report } = options;
  const providers = await listProviders();
  await runExclusively(options, async () => {
    const started = performance.now();
    let found = false;
    for (const provider of providers) found = (await provider.down(options)) || found;
    report(
      found
        ? `cluster ${name} is removed after ${formatSecondsSince(started)}`
        : `there is no cluster ${name}`,
    );
  });
}

// The name becomes part of paths, host names, cgroups and nftables tables.
function requireName(name: string): void {
  if (/^[a-z][a-z0-9-]{0,29}$/.test(name)) return;
  throw new UsageError(
    `A cluster name is lower case letters, digits and dashes, at most 30: "${name}" is not.`,
  );
}

function runExclusively<T>({ name, report }: ClusterOptions, work: () => Promise<T>): Promise<T> {
  const reportWait = (): void =>
    report(`waiting for another process that works on cluster ${name}`);
  return runLocked(`cluster-${name}`, reportWait, work);
}
