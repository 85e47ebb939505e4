import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ControlPlane } from '../../../../src/control-plane/control-plane.ts';
import type { Line } from '../../../../src/control-plane/logs/best-lines.ts';
import { readPodLogs } from '../../../../src/control-plane/logs/pod-logs.ts';
import type { LogPage } from '../../../../src/control-plane/logs/schema.ts';
import { KubeRefused } from '../../../../src/kube/errors.ts';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube } from '../../../../src/kube/kube.ts';
import type { Deployment } from '../../../../src/schema/platform/deployment/deployment.ts';
import { buildManagedLabels } from '../../../../src/schema/platform/objects/labels.ts';
import { creation, startPlane, type Plane } from '../../kit/api-server-plane.ts';

let plane: Plane;
let made: Deployment;
beforeAll(async () => {
  plane = await startPlane('logs');
  made = (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('chat') })).body;
});
afterAll(() => plane.stop());

test.each([
  ['GET', '/v2/deployments/{id}/logs?limit=5&order=desc&level=ERROR', undefined],
  ['GET', '/v2/deployments/{id}/revisions/{revision}/logs?type=deploy', undefined],
  ['GET', '/v2/deployments/{id}/revisions/{revision}/logs?type=build', undefined],
  ['POST', '/v1/projects/{id}/deploy_logs', { order: 'asc', limit: 50, offset: null }],
  ['POST', '/v1/projects/{id}/revisions/{revision}/deploy_logs', { order: 'desc', limit: 30 }],
  ['POST', '/v1/projects/{id}/revisions/{revision}/build_logs', undefined],
])('%s %s is empty while there are no pods', async (method, path, body) => {
  const at = path.replace('{id}', made.id).replace('{revision}', made.latest_revision_id ?? '');
  const answer = await plane.call(method, at, {
    key: plane.keys.read,
    ...(body !== undefined && { body }),
  });
  expect(answer).toMatchObject({
    status: 200,
    body: { logs: [], next_offset: null, pods_left_out: 0 },
  });
});

test.each([
  ['GET', '/v2/deployments/{id}/revisions/{revision}/logs', 422],
  ['GET', '/v2/deployments/{id}/logs?limit=1001', 422],
  ['GET', '/v2/deployments/{revision}/logs', 404],
  ['POST', '/v1/projects/{revision}/deploy_logs', 404],
])('%s %s is answered with %i', async (method, path, status) => {
  const at = path.replace('{id}', made.id).replace('{revision}', made.latest_revision_id ?? '');
  expect((await plane.call(method, at)).status).toBe(status);
});

test('lines come from the agent containers of the revision, and from before a restart', async () => {
  const { namespace } = plane;
  const pod = async (name: string, revision: string, restarts?: number): Promise<void> => {
    const spec = { containers: [{ name: 'agent', image: 'i' }] };
    await plane.kube.create(kinds.pod, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, labels: buildManagedLabels('chat', 'api', revision) },
      spec,
    });
    const containerStatuses = [
      { name: 'agent', restartCount: restarts ?? 0, ready: true, image: 'i', imageID: '' },
    ];
    if (restarts !== undefined)
      await plane.kube.patchStatus(kinds.pod, { namespace, name }, { containerStatuses });
  };
  await Promise.all([pod('a', 'chat-00001', 1), pod('b', 'chat-00001'), pod('c', 'chat-00002')]);
  const asked: string[] = [];
  const podLog: Kube['readPodLog'] = async ({ name }, { previous }) => {
    asked.push(`${name}${previous === true ? ' before' : ''}`);
    if (name === 'b')
      throw new KubeRefused(400, 'is waiting to start', { reason: 'BadRequest', causes: [] });
    return `2026-01-01T00:00:00Z from ${name}\n`;
  };
  const list = plane.kube.list.bind(plane.kube);
  const doors = { kube: { list }, logs: { readPodLog: podLog } } as unknown as ControlPlane;
  const deployment = await plane.kube.get(kinds.deployment, { namespace, name: 'chat' });
  const revision = await plane.kube.get(kinds.revision, { namespace, name: 'chat-00001' });
  const lines: Line[] = [];
  await readPodLogs(
    doors,
    { deployment, revision, signal: new AbortController().signal },
    (some) => void lines.push(...some),
  );
  expect(asked.toSorted()).toEqual(['a', 'a before', 'b']);
  expect(lines.map(({ message }) => message)).toEqual(['from a', 'from a']);
});

test('of more pods than have a place, each component and revision has some, the newest first, and the others are counted', async () => {
  const { namespace } = plane;
  const many = (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('many') }))
    .body;
  const pods = (component: 'api' | 'queue', revision: string, count: number) =>
    Array.from({ length: count }, (_, at) =>
      plane.kube.create(kinds.pod, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: `${revision}-${component}-${at}`,
          namespace,
          labels: buildManagedLabels('many', component, revision),
        },
        spec: { containers: [{ name: 'agent', image: 'i' }] },
      }),
    );
  await Promise.all([
    ...pods('api', 'many-00001', 20),
    ...pods('api', 'many-00002', 4),
    ...pods('queue', 'many-00002', 3),
  ]);
  const asked: string[] = [];
  const podLog: Kube['readPodLog'] = async ({ name }) => {
    asked.push(name);
    return `2026-01-01T00:00:00Z from ${name}\n`;
  };
  const deployment = await plane.kube.get(kinds.deployment, { namespace, name: 'many' });
  const doors = {
    kube: { list: plane.kube.list.bind(plane.kube) },
    logs: { readPodLog: podLog },
  } as unknown as ControlPlane;
  expect(
    await readPodLogs(doors, { deployment, signal: new AbortController().signal }, () => undefined),
  ).toBe(7);
  const counted = Map.groupBy(asked, (name) => name.replace(/-\d+$/, ''));
  expect(Object.fromEntries([...counted].map(([group, names]) => [group, names.length]))).toEqual({
    'many-00002-api': 4,
    'many-00002-queue': 3,
    'many-00001-api': 13,
  });
  const page = await plane.call<LogPage>('GET', `/v2/deployments/${many.id}/logs`);
  expect(page).toMatchObject({ status: 200, body: { pods_left_out: 7 } });
});
