import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { choose } from '../../dev/cluster/choose.ts';
import { removeCluster, ensureCluster } from '../../dev/cluster/cluster.ts';
import { root } from '../../dev/images/list.ts';
import { parseVersionNotes } from '../../dev/release/changelog.ts';
import { requireCommit, exportCommit } from '../../dev/release/source.ts';
import {
  resolveImages,
  listCurrentImages,
  buildImageValues,
  loadImages,
  startImages,
  type Images,
} from '../../dev/run/images.ts';
import { installPlatform } from '../../dev/run/platform.ts';
import { step } from '../../dev/steps.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { imagesOfRelease, referencesIn } from './first-images.ts';

/** The platform of the first release on a cluster, and what an upgrade to today's takes. */
export type Upgrade = {
  system: SystemUnderTest;
  /** The files of the first release. */
  source: string;
  first: Pick<Images, 'platform' | 'example'>;
  today: Pick<Images, 'platform' | 'example'>;
  /** Values of the chart that name the images of today. */
  values: object;
};

declare module 'vitest' {
  export interface ProvidedContext {
    upgrade: Upgrade;
  }
}

const NAME = process.env.GX_TEST_CLUSTER ?? 'gx-upgrade';
const NAMES = [
  'gx-postgres',
  'gx-valkey',
  'gx-platform',
  'gx-example-echo',
  'gx-builder',
  'gx-agent-server',
];

/** Makes a cluster with the platform of the first release, from its commit. GX_KEEP_CLUSTER keeps it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await (await choose()).require();
  const work = mkdtempSync(join(tmpdir(), 'gx-upgrade-'));
  const source = join(work, 'first');
  const building = startImages(NAMES);
  const commit = await requireCommit(
    root,
    parseVersionNotes(readFileSync('CHANGELOG.md', 'utf8'), '0.1.0').commit,
  );
  await step('files of the first release', (report) => exportCommit(root, commit, source, report));
  const ofToday = await step('images of today', () => building);
  const references = await referencesIn(source);
  const ofFirst = await step('images of the first release', (report) =>
    imagesOfRelease(source, { references, names: NAMES, report }),
  );
  const cluster = await step('cluster', (report) =>
    ensureCluster({ name: NAME, extras: ['registry', 'git'], report }),
  );
  await step('images on the node', (report) =>
    loadImages(cluster, [...ofFirst, ...ofToday], report),
  );
  const first = resolveImages(references, cluster);
  const today = await listCurrentImages(cluster);
  const api = await step('platform of the first release', (report) =>
    installPlatform({ cluster, images: first, report, source }),
  );
  const { kubeconfig, kubectl, kind } = cluster;
  project.provide('upgrade', {
    system: {
      name: NAME,
      controlPlane: api.url,
      key: api.key,
      kubeconfig,
      kubectl,
      image: first.example,
      pythonImage: undefined,
      cluster: kind,
    },
    source,
    first,
    today,
    values: { images: buildImageValues(today) },
  });
  return async () => {
    await rm(work, { recursive: true, force: true });
    if (process.env.GX_KEEP_CLUSTER === undefined)
      await step('cluster down', (report) => removeCluster({ name: NAME, report }));
  };
}
