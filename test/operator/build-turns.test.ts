import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { TENANT } from '../../src/schema/platform/objects/labels.ts';
import { startGitHttp, type GitHttp } from '../kit/git-http.ts';
import { BUILDER, fromGit, newDeployment } from '../kit/objects.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { stagedStatus } from '../kit/status-of-stages.ts';
import { until } from '../kit/until.ts';

/* Two tenants share one place for builds. Jobs are the cluster's own, the test ends the pods. */
const CROWD = '88888888-8888-4888-8888-888888888888';
const OTHER = '99999999-9999-4999-8999-999999999999';
let git: GitHttp;
let [crowd, other, builds]: Stage[] = [];

beforeAll(async () => {
  git = await startGitHttp();
  git.push('main');
  [crowd, other, builds] = await Promise.all(
    ['turns-crowd', 'turns-other', 'turns-builds'].map((name) => openStage(name)),
  );
  const tenants = { [CROWD]: crowd!, [OTHER]: other! };
  for (const stage of [crowd!, other!]) stage.startKubelet();
  for (const [tenantId, { namespace: name }] of Object.entries(tenants)) {
    await crowd!.kube.patchJson(kinds.namespace, { name }, [
      { op: 'add', path: `/metadata/labels/${TENANT.replace('/', '~1')}`, value: tenantId },
    ]);
    const metadata = { name, namespace: crowd!.namespace };
    const spec = { computeId: name, tenantId, namespaces: [name] };
    await crowd!.kube.create(kinds.listener, {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata,
      spec,
    });
    const integration = { id: tenantId, tenantId, name, kind: 'generic' as const, host: git.url };
    await crowd!.kube.create(kinds.gitIntegration, {
      apiVersion: API_VERSION,
      kind: 'GitIntegration',
      metadata,
      spec: integration,
    });
  }
  const builder = { ...BUILDER, namespace: builds!.namespace, parallel: 1, parallelInAll: 1 };
  await crowd!.startOperator({
    settings: { builder, gitHosts: [git.url] },
    config: { namespaces: [crowd!.namespace, other!.namespace] },
  });
}, 600_000);
afterAll(async () => {
  for (const stage of [crowd, other, builds]) await stage?.stop();
  await git.stop();
});

const apply = ({ kube, namespace }: Stage, integrationId: string, name: string) =>
  kube.create(
    kinds.deployment,
    newDeployment(
      namespace,
      fromGit('main', {
        metadata: { name },
        spec: { source: 'git', sourceConfig: { integrationId, repoUrl: `${git.url}/team/chat` } },
      }),
    ),
  );
const pods = (): Promise<KubeObject[]> =>
  builds!.kube.listAll(kinds.pod, {
    namespace: builds!.namespace,
    labelSelector: 'gx.dev/component=build',
  });
const revisionOf = ({ metadata }: KubeObject): string =>
  metadata.annotations?.['gx.dev/revision'] ?? '';

test('a tenant with one build goes next, not behind the many that another asked for before', async () => {
  const begun: string[] = [];
  const next = () =>
    until('another build has a pod', async () =>
      (await pods()).find((pod) => !begun.includes(revisionOf(pod))),
    );
  const end = async (pod: KubeObject) => {
    begun.push(revisionOf(pod));
    await crowd!.kube.patchStatus(
      kinds.pod,
      { namespace: builds!.namespace, name: pod.metadata.name },
      stagedStatus({
        failed: 'build',
        message: JSON.stringify({ reason: 'BuildFailed', message: 'no' }),
      }),
    );
  };
  const many = ['many-a', 'many-b', 'many-c'];
  for (const name of many) await apply(crowd!, CROWD, name);
  const first = await next();
  const waiting = many.map((name) => `${name}-00001`).filter((name) => name !== revisionOf(first));
  for (const name of waiting)
    await until(
      `${name} is in line`,
      async () => (await crowd!.see.revision(name)).status?.reason === 'BuildQueued',
    );
  await apply(other!, OTHER, 'single');
  await until(
    'it is in line',
    async () => (await other!.see.revision('single-00001')).status?.reason === 'BuildQueued',
  );
  await end(first);
  while (begun.length < 4) await end(await next());
  expect(begun[1]).toBe('single-00001');
  expect(begun.toSorted()).toEqual([...many, 'single'].map((name) => `${name}-00001`));
}, 600_000);
