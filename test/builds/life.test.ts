import { afterEach, expect, inject, test } from 'vitest';
import { requireRunningCluster } from '../../dev/cluster/cluster.ts';
import { call } from '../../dev/run/control-plane.ts';
import { told, type BuiltRevision } from '../kit/git-deployment.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { apiOf, buildLog, deploy, LONG, reaches, removeMade, unique } from './kit.ts';

/* What else a build is good for: quick ones after the first, a way back, a way to stop, and turns. */

const system = inject('system');
const api = apiOf(system);
const kubectl = kubectlFor(system);
afterEach(() => removeMade(system));
const word = (text: string) => ({ 'word.js': `export const WORD = '${text}';\n` });

/** Seconds from a push to DEPLOYED on two cores, if only sources changed. Only a quiet machine can tell. */
const WARM = process.env.GX_QUIET_MACHINE === undefined ? Infinity : 60;

async function layersOf({
  source_revision_config: { image_uri },
}: BuiltRevision): Promise<string[]> {
  const { registry } = await requireRunningCluster({ name: system.name, report: () => undefined });
  const [, name = '', digest = ''] = /^[^/]+\/(.+)@(sha256:.+)$/.exec(image_uri ?? '') ?? [];
  const headers = { accept: 'application/vnd.oci.image.manifest.v1+json' };
  const manifest = await (
    await fetch(`${registry.url}/v2/${name}/manifests/${digest}`, { headers })
  ).json();
  return (manifest as { layers: { digest: string }[] }).layers.map((layer) => layer.digest);
}

test(
  'a change of sources alone is DEPLOYED a minute after its push, on the layers of dependencies that are there',
  async () => {
    const deployment = await deploy(system, { name: unique('warm') });
    const first = await reaches(deployment, 'DEPLOYED');
    const started = performance.now();
    const second = await deployment.ended(await deployment.push(word('warm')));
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(`from the push to DEPLOYED: ${seconds.toFixed(1)} s\n`);
    expect(second.status).toBe('DEPLOYED');
    await until(
      'the new one answers',
      async () => (await told(await deployment.client())) === 'warm 60000',
    );
    const [before, after] = [await layersOf(first), await layersOf(second)];
    expect(after.slice(0, -1)).toEqual(before.slice(0, -1));
    expect(after.at(-1)).not.toBe(before.at(-1));
    expect(seconds).toBeLessThan(WARM);
  },
  LONG,
);

test(
  'a way back takes the image of the earlier revision by its digest, and builds nothing',
  async () => {
    const deployment = await deploy(system, { name: unique('back') });
    const first = await reaches(deployment, 'DEPLOYED');
    await deployment.ended(await deployment.push(word('second')));
    // A pod that ends still answers for a moment.
    await until(
      'the second one answers',
      async () => (await told(await deployment.client())) === 'second 60000',
    );
    await call(api, 'POST', `/v2/deployments/${deployment.id}/revisions/${first.id}/redeploy`);
    await until(
      'the first one answers again',
      async () => (await told(await deployment.client())) === 'first 60000',
      300,
    );
    const newest = await reaches(deployment, 'DEPLOYED');
    expect(newest.id).not.toBe(first.id);
    expect(newest.source_revision_config.image_uri).toBe(first.source_revision_config.image_uri);
    const { items } = await kubectl.json<Jobs>('get', 'jobs', '--namespace', 'gx-builds');
    expect(
      items.filter(({ metadata }) => metadata.labels?.['gx.dev/deployment'] === deployment.name),
    ).toHaveLength(2);
  },
  LONG,
);

type Jobs = { items: { metadata: { name: string; labels?: Record<string, string> } }[] };
type Pods = {
  items: { metadata: { labels?: Record<string, string> }; status: { phase: string } }[];
};

test(
  'an interrupted build ends with its pod, and its log stays',
  async () => {
    const deployment = await deploy(system, {
      name: unique('stopped'),
      config: { build_command: 'sleep 3600' },
    });
    const { id } = await reaches(deployment, 'BUILDING');
    const running = async (): Promise<number> =>
      (await kubectl.json<Pods>('get', 'pods', '--namespace', 'gx-builds')).items.filter(
        ({ metadata, status }) =>
          metadata.labels?.['gx.dev/deployment'] === deployment.name &&
          /Pending|Running/.test(status.phase),
      ).length;
    await until('its pod runs', async () => (await running()) === 1);
    await until('it has said what it is of', async () =>
      (await buildLog(system, deployment, { id })).includes('[clone] commit'),
    );
    await call(api, 'POST', `/v2/deployments/${deployment.id}/revisions/${id}/interrupt`);
    expect(await reaches(deployment, 'INTERRUPTED')).toMatchObject({ id });
    await until('its pod is gone', async () => (await running()) === 0);
    expect(await buildLog(system, deployment, { id })).toMatch(/\[clone\] commit [0-9a-f]{40} of /);
  },
  LONG,
);

test(
  'of several builds two run at once, and each gets its turn',
  async () => {
    const names = ['a', 'b', 'c', 'd'].map((letter) => unique(`turn-${letter}`));
    const deployments = await Promise.all(names.map((name) => deploy(system, { name })));
    let most = 0;
    await until(
      'all are built',
      async () => {
        const { items } = await kubectl.json<Pods>('get', 'pods', '--namespace', 'gx-builds');
        most = Math.max(
          most,
          items.filter(({ status }) => /Pending|Running/.test(status.phase)).length,
        );
        const newest = await Promise.all(
          deployments.map(async (deployment) => (await deployment.revisions())[0]),
        );
        // Their agents need more places than the node has.
        return newest.every(
          (revision) =>
            revision?.status === 'BUILD_FAILED' ||
            revision?.source_revision_config.image_uri != null,
        );
      },
      600,
    );
    for (const deployment of deployments)
      expect(await deployment.revisions()).toMatchObject([
        { source_revision_config: { image_uri: expect.stringContaining('@sha256:') } },
      ]);
    expect(most).toBe(2);
  },
  LONG,
);
