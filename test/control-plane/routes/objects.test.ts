import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import type {
  DeploymentKubeEvent,
  DeploymentPod,
} from '../../../src/schema/platform/objects/deployment-objects.ts';
import { buildManagedLabels } from '../../../src/schema/platform/objects/labels.ts';
import type { RevisionDetails } from '../../../src/schema/platform/deployment/revision.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

/* Pods and events of a deployment, and one revision in full, on a real API server. */

let plane: Plane;
let [chat, second]: Deployment[] = [];

beforeAll(async () => {
  plane = await startPlane('objects');
  const create = async (name: string): Promise<Deployment> => {
    const body = creation(name, {
      secrets: [{ name: 'TOKEN', value: 'hidden' }],
      source_config: { resource_spec: { cpu: 0.5 } },
    });
    return (await plane.call<Deployment>('POST', '/v2/deployments', { body })).body;
  };
  chat = await create('chat');
  second = await create('chat-2');
});
afterAll(() => plane.stop());

const path = (deployment: Deployment | undefined, rest: string): string =>
  `/v2/deployments/${deployment?.id}${rest}`;
const read = async <T>(at: string): Promise<T> =>
  (await plane.call<T>('GET', at, { key: plane.keys.read })).body;

async function pod(name: string, labels: Record<string, string>, status: object): Promise<void> {
  const ref = { namespace: plane.namespace, name };
  const spec = {
    containers: [{ name: 'agent', image: 'agent:1' }],
    tolerations: [{ operator: 'Exists' }],
  };
  await plane.kube.create(kinds.pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...ref, labels },
    spec,
  });
  await plane.kube.patchStatus(kinds.pod, ref, status);
}

const container = (more: object) => ({
  name: 'agent',
  image: 'agent:1',
  imageID: '',
  ready: false,
  restartCount: 0,
  ...more,
});

test('pods are shown with their part, their revision and the reason of their trouble', async () => {
  const revision = 'chat-00001';
  await pod('chat-00001-api-1-a', buildManagedLabels('chat', 'api', revision), {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [container({ ready: true, restartCount: 2, state: { running: {} } })],
  });
  await pod('chat-00001-queue-1-a', buildManagedLabels('chat', 'queue', revision), {
    phase: 'Running',
    containerStatuses: [
      container({
        restartCount: 3,
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
        lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } },
      }),
    ],
  });
  await pod('chat-db-0', buildManagedLabels('chat', 'database'), {
    phase: 'Pending',
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: '0/1 nodes are available.',
      },
    ],
  });
  await pod('chat-2-00001-api-1-a', buildManagedLabels('chat-2', 'api', 'chat-2-00001'), {
    phase: 'Pending',
  });

  const { resources } = await read<{ resources: DeploymentPod[] }>(path(chat, '/pods'));
  expect(resources).toMatchObject([
    {
      name: 'chat-00001-api-1-a',
      component: 'api',
      revision_id: chat?.latest_revision_id,
      phase: 'Running',
      ready: true,
      restarts: 2,
      reason: null,
    },
    {
      name: 'chat-00001-queue-1-a',
      component: 'queue',
      ready: false,
      restarts: 3,
      reason: 'OOMKilled',
    },
    {
      name: 'chat-db-0',
      component: 'database',
      revision_id: null,
      reason: 'Unschedulable',
      message: '0/1 nodes are available.',
    },
  ]);
  expect(await read(path(second, '/pods'))).toMatchObject({
    resources: [{ name: 'chat-2-00001-api-1-a', phase: 'Pending' }],
  });
});

test('events of its objects are shown, the last one first, and none of another deployment', async () => {
  const { namespace } = plane;
  const write = (name: string, note: string, second_: number, regarding: object) =>
    plane.kube.create(kinds.event, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace, name },
      eventTime: `2026-01-01T00:00:${String(second_).padStart(2, '0')}.000000Z`,
      reportingController: 'test',
      reportingInstance: 'test',
      action: 'Test',
      type: second_ % 2 === 0 ? 'Normal' : 'Warning',
      reason: 'Tested',
      note,
      regarding: { namespace, ...regarding },
    });
  const stored = await plane.kube.get(kinds.deployment, { namespace, name: 'chat' });
  const { apiVersion } = stored;
  await write('a', 'its resource', 1, {
    apiVersion,
    kind: 'Deployment',
    name: 'chat',
    uid: stored.metadata.uid,
  });
  await write('b', 'its pod', 2, {
    apiVersion: 'v1',
    kind: 'Pod',
    name: 'chat-00001-api-6bc9-x2x4z',
  });
  await write('c', 'its database', 3, { apiVersion: 'v1', kind: 'Pod', name: 'chat-db-0' });
  await write('d', 'its Service', 4, { apiVersion: 'v1', kind: 'Service', name: 'chat-agent' });
  await write('e', 'a pod of the other', 5, {
    apiVersion: 'v1',
    kind: 'Pod',
    name: 'chat-2-00001-api-6bc9-x2x4z',
  });
  await write('f', 'the former one of its name', 6, {
    apiVersion,
    kind: 'Deployment',
    name: 'chat',
    uid: plane.keys.read,
  });
  await write('g', 'of one that is called chat-db', 7, {
    apiVersion: 'v1',
    kind: 'Service',
    name: 'chat-db-agent',
  });

  const { resources, complete } = await read<{
    resources: DeploymentKubeEvent[];
    complete: boolean;
  }>(path(chat, '/kube-events'));
  expect(complete).toBe(true);
  expect(resources.map(({ note }) => note)).toEqual([
    'its Service',
    'its database',
    'its pod',
    'its resource',
  ]);
  expect(resources[1]).toEqual({
    type: 'Warning',
    reason: 'Tested',
    note: 'its database',
    object: { kind: 'Pod', name: 'chat-db-0' },
    count: 1,
    last_seen_at: '2026-01-01T00:00:03.000Z',
  });
  const other = await read<{ resources: DeploymentKubeEvent[] }>(path(second, '/kube-events'));
  expect(other.resources.map(({ note }) => note)).toEqual(['a pod of the other']);
});

test('a revision in full names who made it, its secrets and its times, and shows no value', async () => {
  const at = path(chat, `/revisions/${chat?.latest_revision_id}`);
  const endedAt = '2026-01-01T00:01:00.000Z';
  await plane.kube.patchStatus(
    kinds.revision,
    { namespace: plane.namespace, name: 'chat-00001' },
    {
      phase: 'DEPLOYED',
      startedAt: '2026-01-01T00:00:00.000Z',
      endedAt,
      serverVersion: '1.2.3',
      guard: 'key',
    },
  );
  const full = await expect
    .poll(() => read<RevisionDetails>(`${at}?view=full`), { timeout: 5000 })
    .toMatchObject({ ended_at: endedAt })
    .then(() => read<RevisionDetails>(`${at}?view=full`));
  expect(full).toMatchObject({
    id: chat?.latest_revision_id,
    number: 1,
    made_by: expect.stringMatching(/^key .* writer$/) as string,
    rollback_of: null,
    push: null,
    resource_spec: { cpu: 0.5 },
    secrets: [{ name: 'TOKEN', digest: null }],
    started_at: '2026-01-01T00:00:00.000Z',
    built_at: null,
    server_version: '1.2.3',
    guard: 'key',
  });
  expect(JSON.stringify(full)).not.toContain('hidden');
  const written = (await plane.call<RevisionDetails>('GET', `${at}?view=full`)).body;
  expect(written.secrets).toEqual([
    { name: 'TOKEN', digest: expect.stringMatching(/^[0-9a-f]{16}$/) as string },
  ]);
  expect(Object.keys(await read<object>(at))).not.toContain('made_by');
  expect((await plane.call('GET', `${at}?view=all`)).status).toBe(422);
});

test.each(['/pods', '/kube-events'])(
  '%s of a deployment of another tenant is not found',
  async (rest) => {
    expect((await plane.call('GET', path(chat, rest), { key: plane.keys.other })).status).toBe(404);
    expect((await plane.call('GET', path(chat, rest), { key: null })).status).toBe(401);
  },
);
