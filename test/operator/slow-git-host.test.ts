import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { type DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { RECONCILE_NOW, TENANT } from '../../src/schema/platform/objects/labels.ts';
import { startGitHttp, type GitHttp } from '../kit/git-http.ts';
import { BUILDER, fromGit, newDeployment } from '../kit/objects.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/*
 * Fifty deployments of one tenant are to be built from branches that they follow, on a host that takes connections and
 * never answers. One build is made at a time.
 */
const CROWD = '88888888-8888-4888-8888-888888888888';
const OTHER = '99999999-9999-4999-8999-999999999999';
const MANY = 50;

let host: Server;
let url: string;
/** A host that answers. */
let git: GitHttp;
/** Connections to the host that are open. */
const open = new Set<Socket>();
let [crowd, other, builds]: Stage[] = [];

beforeAll(async () => {
  host = createServer((socket) => {
    open.add(socket);
    // Only a socket that is read notices that it was closed.
    socket
      .resume()
      .on('close', () => open.delete(socket))
      .on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(host, 'listening');
  url = `http://127.0.0.1:${(host.address() as AddressInfo).port}`;
  git = await startGitHttp();
  [crowd, other, builds] = await Promise.all(
    ['slow-git', 'slow-git-other', 'slow-git-builds'].map((name) => openStage(name)),
  );
  other!.startKubelet();
  for (const [tenantId, { namespace: name }] of Object.entries({
    [CROWD]: crowd!,
    [OTHER]: other!,
  })) {
    const label = `/metadata/labels/${TENANT.replace('/', '~1')}`;
    await crowd!.kube.patchJson(kinds.namespace, { name }, [
      { op: 'add', path: label, value: tenantId },
    ]);
    const listener = {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata: { name, namespace: crowd!.namespace },
    };
    await crowd!.kube.create(kinds.listener, {
      ...listener,
      spec: { computeId: name, tenantId, namespaces: [name] },
    });
  }
  const integration = {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: 'slow', namespace: crowd!.namespace },
  };
  const spec = { id: CROWD, tenantId: CROWD, name: 'slow', kind: 'generic' as const, host: url };
  await crowd!.kube.create(kinds.gitIntegration, { ...integration, spec });
  const quick = {
    id: OTHER,
    tenantId: OTHER,
    name: 'quick',
    kind: 'generic' as const,
    host: git.url,
  };
  await crowd!.kube.create(kinds.gitIntegration, {
    ...integration,
    metadata: { name: 'quick', namespace: crowd!.namespace },
    spec: quick,
  });
  const builder = { ...BUILDER, namespace: builds!.namespace, parallel: 1, parallelInAll: 1 };
  await crowd!.startOperator({
    settings: {
      builder,
      gitHosts: [url, git.url],
      pollSeconds: 10,
      agentNamespaces: [crowd!.namespace, other!.namespace],
    },
    config: { namespaces: [crowd!.namespace, other!.namespace] },
  });
}, 600_000);
afterAll(async () => {
  for (const socket of open) socket.destroy();
  for (const stage of [crowd, other, builds]) await stage?.stop();
  host.close();
  await git.stop();
});

/** Creates a deployment of the other tenant. Returns the milliseconds until it is ready. */
async function deployed(name: string): Promise<number> {
  const { kube, namespace, see } = other!;
  const began = performance.now();
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name } }));
  await see.untilReady(name, 120);
  return performance.now() - began;
}

const all = (): Promise<DeploymentResource[]> =>
  crowd!.kube.listAll(kinds.deployment, { namespace: crowd!.namespace });

const follow = (name: string): Promise<unknown> => {
  const sourceConfig = { integrationId: CROWD, repoUrl: `${url}/team/chat`, buildOnPush: true };
  const given = fromGit('main', { metadata: { name }, spec: { source: 'git', sourceConfig } });
  return crowd!.kube.create(kinds.deployment, newDeployment(crowd!.namespace, given));
};

test("another tenant's deployment is served in its usual time", async () => {
  await deployed('first');
  const usual = await deployed('before');
  for (let at = 0; at < MANY; at += 1) await follow(`slow-${at}`);
  const isSeen = ({ status }: DeploymentResource): boolean => status?.latestRevision !== undefined;
  await until('all have their first revision', async () => (await all()).every(isSeen), 120);
  await until('the host is asked for branches', () => open.size >= 4);
  const meanwhile = await deployed('after');
  // Where reconciles ask the host themselves, this takes more than 50 s.
  expect(meanwhile).toBeLessThan(usual + 10_000);
  // Four looks of one tenant at branches are under way at a time, and four before builds. Without a bound there would
  // be a hundred. A connection that the operator has given up may still be open here for a moment.
  await expect.poll(() => open.size).toBeLessThanOrEqual(8);
});

test("another tenant's build begins, though those before it in line wait for their host", async () => {
  const { kube } = crowd!;
  const isAway = async (): Promise<boolean> =>
    (await kube.listAll(kinds.revision, { namespace: crowd!.namespace })).some(
      ({ status }) => status?.reason === 'GitHostAway',
    );
  await until('a build says that its host is away', isAway, 60);
  const commit = git.push('main');
  const sourceConfig = { integrationId: OTHER, repoUrl: `${git.url}/team/chat` };
  const given = fromGit('main', {
    metadata: { name: 'built' },
    spec: { source: 'git', sourceConfig },
  });
  await kube.create(kinds.deployment, newDeployment(other!.namespace, given));
  const jobs = (): Promise<KubeObject[]> =>
    kube.listAll(kinds.job, { namespace: builds!.namespace });
  const [job] = await until(
    'it has its Job',
    async () => ((await jobs()).length > 0 ? jobs() : undefined),
    60,
  );
  expect(JSON.stringify(job)).toContain(commit);
});

test('the condition says that the host is away, and says the same until the next look', async () => {
  const { kube, namespace, see } = crowd!;
  const conditionOf = async (name: string) =>
    (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'FollowsBranch');
  const name = await until(
    'one says so',
    async () => {
      const found = (await all()).find(({ status }) =>
        status?.conditions?.some(({ reason }) => reason === 'GitHostAway'),
      );
      return found?.metadata.name;
    },
    60,
  );
  const before = await conditionOf(name);
  expect(before).toMatchObject({
    status: 'False',
    reason: 'GitHostAway',
    message: expect.stringContaining('does not answer'),
  });
  for (const when of ['one', 'two']) {
    const path = `/metadata/annotations/${RECONCILE_NOW.replace('/', '~1')}`;
    const { metadata } = await see.deployment(name);
    const patch =
      metadata.annotations === undefined
        ? [{ op: 'add' as const, path: '/metadata/annotations', value: { [RECONCILE_NOW]: when } }]
        : [{ op: 'add' as const, path, value: when }];
    await kube.patchJson(kinds.deployment, { namespace, name: name }, patch);
    await until(
      'it was reconciled',
      async () => (await see.deployment(name)).status?.lastHandledReconcileAt === when,
    );
    expect(await conditionOf(name)).toEqual(before);
  }
});
