import { available, choose } from './choose.ts';
import { locked } from './lock.ts';
import type { Cluster, ClusterOptions } from './provider.ts';
import { seconds } from './report.ts';

export type { Cluster, ClusterOptions } from './provider.ts';
export type { Report } from './report.ts';

/** A healthy cluster is returned at once; a broken one is made anew. */
export async function clusterUp(options: ClusterOptions): Promise<Cluster> {
  requireName(options.name);
  const provider = await choose();
  return alone(options, async () => (await provider.find(options)) ?? provider.up(options));
}

/** Leaves nothing of the cluster behind; no cluster is no error. */
export async function clusterDown(options: ClusterOptions): Promise<void> {
  requireName(options.name);
  const { name, report } = options;
  const providers = await available();
  await alone(options, async () => {
    const started = Date.now();
    let found = false;
    for (const provider of providers) found = (await provider.down(options)) || found;
    report(found ? `cluster ${name} is removed after ${seconds(started)}` : `there is no cluster ${name}`);
  });
}

/** The cluster if it is there and healthy. */
export async function clusterStatus(options: ClusterOptions): Promise<Cluster | undefined> {
  requireName(options.name);
  return (await choose()).find(options);
}

// The name becomes part of paths, host names, cgroups and nftables tables.
function requireName(name: string): void {
  if (/^[a-z][a-z0-9-]{0,29}$/.test(name)) return;
  throw new Error(`A cluster name is lower case letters, digits and dashes, at most 30: "${name}" is not.`);
}

function alone<T>({ name, report }: ClusterOptions, work: () => Promise<T>): Promise<T> {
  const onWait = () => report(`waiting for another process that works on cluster ${name}`);
  return locked(`cluster-${name}`, onWait, work);
}
