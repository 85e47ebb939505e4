import { Unhealthy, UsageError } from '../errors.ts';
import { locked } from '../lock.ts';
import { secondsSince } from '../steps.ts';
import { available, choose } from './choose.ts';
import type { Cluster, ClusterOptions, Extra } from './provider.ts';

export type { Cluster } from './provider.ts';

/** Returns a healthy cluster with these extras, and makes a broken one again. */
export async function clusterUp({ extras, ...options }: ClusterOptions & { extras: readonly Extra[] }): Promise<Cluster> {
  const cluster = await clusterStart(options);
  return cluster.with(extras, options.report);
}

/** Returns a healthy cluster that can run an agent; `with` gives it the rest. Makes a broken one again. */
export async function clusterStart(options: ClusterOptions): Promise<Cluster> {
  requireName(options.name);
  const provider = await choose();
  return oneAtATime(options, async () => (await provider.find(options)) ?? provider.up(options));
}

/** Returns the cluster of this name as it is. Throws `Unhealthy` if there is none that answers. */
export async function runningCluster(options: ClusterOptions): Promise<Cluster> {
  const cluster = await (await choose()).find(options);
  if (cluster === undefined) throw new Unhealthy(`There is no cluster ${options.name} that answers.`);
  return cluster;
}

/** Removes everything of the cluster. It is no error if there is none. */
export async function clusterDown(options: ClusterOptions): Promise<void> {
  requireName(options.name);
  const { name, report } = options;
  const providers = await available();
  await oneAtATime(options, async () => {
    const started = performance.now();
    let found = false;
    for (const provider of providers) found = (await provider.down(options)) || found;
    report(found ? `cluster ${name} is removed after ${secondsSince(started)}` : `there is no cluster ${name}`);
  });
}

// The name becomes part of paths, host names, cgroups and nftables tables.
function requireName(name: string): void {
  if (/^[a-z][a-z0-9-]{0,29}$/.test(name)) return;
  throw new UsageError(`A cluster name is lower case letters, digits and dashes, at most 30: "${name}" is not.`);
}

function oneAtATime<T>({ name, report }: ClusterOptions, work: () => Promise<T>): Promise<T> {
  const onWait = (): void => report(`waiting for another process that works on cluster ${name}`);
  return locked(`cluster-${name}`, onWait, work);
}
