import type { TestProject } from 'vitest/node';
import { choose } from '../../dev/cluster/choose.ts';
import { removeCluster, ensureCluster, type Cluster } from '../../dev/cluster/cluster.ts';
import type { Extra } from '../../dev/cluster/provider.ts';
import {
  FIRST_IMAGES,
  listCurrentImages,
  LATER_IMAGES,
  loadImages,
  startImages,
  type FurtherImage,
} from '../../dev/run/images.ts';
import { installPlatform } from '../../dev/run/platform.ts';
import { step } from '../../dev/steps.ts';

export type SystemUnderTest = {
  /** Of the cluster. */
  name: string;
  controlPlane: string;
  key: string;
  kubeconfig: string;
  kubectl: string;
  image: string;
  /** An example with a graph in Python, for the project `system`. */
  pythonImage: string | undefined;
  cluster: Cluster['kind'];
};

declare module 'vitest' {
  export interface ProvidedContext {
    system: SystemUnderTest;
  }
}

/** Two checkouts that test at the same time need clusters of different names. */
const NAME = process.env.GX_TEST_CLUSTER ?? 'gx-test';

/** Images that only the tests of one project need. That of Dockerfiles takes minutes to compile once. */
const FURTHER: Readonly<Record<string, readonly FurtherImage[]>> = {
  builds: ['gx-buildkit'],
  restore: ['gx-postgres-18'],
  system: ['gx-example-python'],
};

/** Extras that the tests of one project need. Those of builds use a git host that others use. */
const EXTRAS_OF: Readonly<Record<string, readonly Extra[]>> = {
  builds: ['registry', 'gitea'],
  scale: ['registry', 'git', 'metrics'],
};

/**
 * Makes a cluster with the platform on it, for the tests in real pods. It is removed afterwards unless GX_KEEP_CLUSTER
 * is set.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await (await choose()).require();
  const further = FURTHER[project.name] ?? [];
  const building = startImages([...FIRST_IMAGES, ...LATER_IMAGES, ...further]);
  const cluster = await step('cluster', (report) =>
    ensureCluster({ name: NAME, extras: EXTRAS_OF[project.name] ?? ['registry', 'git'], report }),
  );
  await step('images', async (report) => loadImages(cluster, await building, report));
  const images = await listCurrentImages(cluster, further);
  const api = await step('platform', (report) => installPlatform({ cluster, images, report }));
  project.provide('system', {
    name: NAME,
    controlPlane: api.url,
    key: api.key,
    kubeconfig: cluster.kubeconfig,
    kubectl: cluster.kubectl,
    image: images.example,
    pythonImage: images.pythonExample,
    cluster: cluster.kind,
  });
  return async () => {
    if (process.env.GX_KEEP_CLUSTER === undefined)
      await step('cluster down', (report) => removeCluster({ name: NAME, report }));
  };
}
