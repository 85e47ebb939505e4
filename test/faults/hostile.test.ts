import { afterAll, beforeAll, expect, test } from 'vitest';
import { setTimeout as wait } from 'node:timers/promises';
import { NotFound } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../src/kube/kube.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { newDeployment } from '../kit/objects.ts';
import { metricOf, type RunningOperator } from '../kit/operator.ts';
import { until } from '../kit/until.ts';
import { startPlane } from '../control-plane/kit/api-server-plane.ts';
import { faultStage, type FaultStage } from './fault-stage.ts';
import {
  forgedObjects,
  HOSTILE_STATUSES,
  hostileResources,
  loosenDefinitions,
  rawWriter,
  type Hostile,
} from './hostile-objects.ts';

/*
 * Objects that mean harm, of every kind that the operator watches: they cost only themselves. The definitions take
 * everything here, so that the operator alone has to withstand.
 */

/**
 * Seconds within which a change of a deployment is worked on, whatever else is in the cluster. An API server that takes
 * objects of a megabyte from everybody needs seconds for each write of its own.
 */
const WORKED_WITHIN = 15;

let server: ApiServer;
let given: FaultStage;
let writer: Awaited<ReturnType<typeof rawWriter>>;
let operator: RunningOperator;
let round = 0;
beforeAll(async () => {
  server = await startApiServer();
  given = await faultStage('hostile', server.kubeconfig);
  writer = given.endWith(await rawWriter(server.kubeconfig));
  await loosenDefinitions(given.kube);
});
afterAll(async () => {
  await given.stop();
  await server.stop();
});

const start = (identity: string): Promise<RunningOperator> =>
  given.operator(identity, { times: { watch: { relist: 4000 } } });
const write = async (hostile: Hostile[]): Promise<void> =>
  void (await Promise.all(hostile.map((one) => writer.create(one))));
const innocent = (name: string, image = 'agent:1'): DeploymentResource =>
  newDeployment(given.namespace, { metadata: { name }, image });

/** Waits until the operator has worked on the present version of a deployment, and returns the seconds that it took. */
async function workedOn(name: string): Promise<number> {
  const started = performance.now();
  await until(
    `${name} is worked on`,
    async () => {
      const { metadata, status } = await given.see.deployment(name);
      return status?.observedGeneration === metadata.generation;
    },
    60,
  );
  const seconds = (performance.now() - started) / 1000;
  process.stdout.write(`${name} was worked on after ${seconds.toFixed(1)} s\n`);
  return seconds;
}

const readyOf = async (kind: Kind, name: string) => {
  const { status } = await given.kube.get(kind as Kind<DeploymentResource>, {
    namespace: given.namespace,
    name,
  });
  return status?.conditions?.find(({ type }) => type === 'Ready');
};

const eventsOf = async (name: string): Promise<string[]> => {
  const events = await given.kube.listAll(kinds.event, { namespace: given.namespace });
  return events
    .filter(({ regarding }) => (regarding as { name?: string }).name === name)
    .map(({ reason }) => String(reason));
};

const REPORTED: Kind[] = [kinds.deployment, kinds.revision, kinds.listener];
const EVERY: Kind[] = [...REPORTED, kinds.tracingProject];

test('an operator that starts among hostile objects leads, and works on everything else', async () => {
  await given.kube.create(kinds.deployment, innocent('chat'));
  await write(hostileResources(given.namespace, 'first'));
  operator = await start('first');
  expect(await workedOn('chat')).toBeLessThan(WORKED_WITHIN);
  await given.see.untilReady('chat');
});

test('each fault is told by a metric, an event and, where it can be written, a condition', async () => {
  for (const kind of REPORTED) {
    for (const [name, reason] of [
      ['first-deep', 'TooDeep'],
      ['first-wide', 'TooLarge'],
      ['first-labels', 'TooLarge'],
    ] as const)
      await until(`the fault of ${kind.kind} ${name} is told`, async () => {
        const ready = await readyOf(kind, name);
        return (
          ready?.status === 'False' &&
          ready.reason === reason &&
          (await eventsOf(name)).includes(reason)
        );
      });
  }
  for (const kind of EVERY) {
    expect(
      await metricOf(operator, 'gx_faulty_objects', `kind="${kind.kind}",reason="TooDeep"`),
    ).toBeGreaterThan(0);
    expect(
      await metricOf(operator, 'gx_faulty_objects', `kind="${kind.kind}",reason="TooLarge"`),
    ).toBeGreaterThan(0);
  }
  await expect.poll(() => eventsOf('first-shapeless')).toContain('Unreadable');
  await expect.poll(() => eventsOf('first-deep')).toContain('TooDeep');
});

test('hostile objects that come while it works cost only themselves', async () => {
  const { kube, namespace } = given;
  const victim = await given.see.deployment('chat');
  await Promise.all([
    write(hostileResources(namespace, 'second')),
    write(forgedObjects(namespace, { victim: 'chat', uid: victim.metadata.uid ?? '' })),
    kube.create(kinds.deployment, innocent('second')),
  ]);
  expect(await workedOn('second')).toBeLessThan(WORKED_WITHIN);
  await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
    { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: 'agent:2' },
  ]);
  expect(await workedOn('chat')).toBeLessThan(WORKED_WITHIN);
  await given.see.untilReady('chat');
  await given.see.untilReady('second');
  expect((await given.see.deployment('chat')).status?.activeRevision).toBe('chat-00002');
});

test('lists that find the hostile objects again end nothing', async () => {
  const lists = () => metricOf(operator, 'informer_relists_total', 'kind="Deployment"');
  const before = await lists();
  await until('each kind is listed again twice', async () => (await lists()) >= before + 4);
  await given.kube.create(kinds.deployment, innocent('third'));
  expect(await workedOn('third')).toBeLessThan(WORKED_WITHIN);
  await given.see.untilReady('third');
});

test.each(HOSTILE_STATUSES)('a status %s costs only the object that has it', async (_, status) => {
  const { kube, namespace } = given;
  const ref = { namespace, name: 'third' };
  const replicas = async (): Promise<unknown> =>
    ((await given.see.workload('third-00001-api')).spec as { replicas?: number }).replicas;
  const before = await replicas();
  for (const kind of [kinds.revision, kinds.listener] as Kind[])
    await writer.merge(kind, { namespace, name: 'first-status' }, { status }, 'status');
  await writer.merge(kinds.revision, { namespace, name: 'third-00001' }, { status }, 'status');
  await writer.merge(kinds.deployment, ref, { status }, 'status');
  const name = `beside-${(round += 1)}`;
  await kube.create(kinds.deployment, innocent(name));
  expect(await workedOn(name)).toBeLessThan(WORKED_WITHIN);
  await given.see.untilReady(name);
  expect(await replicas()).toBe(before);
});

test('a deployment goes on when its owner takes such a status away', async () => {
  const { namespace } = given;
  await writer.merge(
    kinds.revision,
    { namespace, name: 'third-00001' },
    { status: null },
    'status',
  );
  await writer.merge(kinds.deployment, { namespace, name: 'third' }, { status: null }, 'status');
  await given.see.untilReady('third');
  expect((await given.see.deployment('third')).status?.activeRevision).toBe('third-00001');
});

test('a deployment that serves goes on serving while its resource is out of bounds, and works again afterwards', async () => {
  const { kube, namespace } = given;
  const ref = { namespace, name: 'second' };
  await writer.merge(kinds.deployment, ref, { spec: { extra: '@deep' } });
  await until(
    'the fault is told',
    async () => (await readyOf(kinds.deployment, 'second'))?.reason === 'TooDeep',
  );
  expect((await given.see.deployment('second')).status?.activeRevision).toBe('second-00001');
  const size = ({ spec }: KubeObject): unknown => (spec as { replicas: number }).replicas;
  expect(size(await given.see.workload('second-00001-api'))).toBe(1);
  await writer.merge(kinds.deployment, ref, { spec: { extra: null } });
  await given.see.untilReady('second');
  expect(
    (await kube.listAll(kinds.revision, { namespace })).filter(({ metadata }) =>
      metadata.name.startsWith('second-0'),
    ),
  ).toHaveLength(1);
});

test('after a restart among all of them nothing is made again or taken down', async () => {
  const { namespace } = given;
  await writer.merge(kinds.deployment, { namespace, name: 'third' }, { spec: { extra: '@deep' } });
  await until(
    'the fault is told',
    async () => (await readyOf(kinds.deployment, 'third'))?.reason === 'TooDeep',
  );
  const before = await given.see.workload('third-00001-api');
  await operator.stop();
  operator = await start('second');
  await given.kube.create(kinds.deployment, innocent('fourth'));
  expect(await workedOn('fourth')).toBeLessThan(WORKED_WITHIN);
  await wait(500);
  expect((await given.see.workload('third-00001-api')).metadata.generation).toBe(
    before.metadata.generation,
  );
});

test('lists of the control plane have everything else, and a resource out of bounds with parts cut', async () => {
  const plane = await startPlane('hostile-plane', {}, { kubeconfig: server.kubeconfig });
  try {
    const { kube, namespace } = plane;
    await Promise.all(hostileResources(namespace, 'x').map((one) => writer.create(one)));
    const body = {
      name: 'fine',
      source: 'external_container',
      source_config: {},
      source_revision_config: { image_uri: 'agent:1' },
      secrets: [],
    };
    expect((await plane.call('POST', '/v2/deployments', { body })).status).toBe(201);
    type Shown = { id: string; name: string; status: string };
    const list = async () =>
      (await plane.call<{ resources: Shown[] }>('GET', '/v2/deployments')).body.resources;
    await expect
      .poll(async () => (await list()).map(({ name }) => name).toSorted())
      .toEqual(['fine', 'x-deep', 'x-labels', 'x-odd', 'x-status', 'x-wide']);
    for (const path of ['/v2/listeners', '/v1/tracing-projects'])
      expect((await plane.call('GET', path)).status).not.toBe(500);
    const deep = (await list()).find(({ name }) => name === 'x-deep') as Shown;
    expect((await plane.call('GET', `/v2/deployments/${deep.id}`)).status).toBe(200);
    const patch = await plane.call<{ detail: string }>('PATCH', `/v2/deployments/${deep.id}`, {
      body: { source_revision_config: { image_uri: 'agent:2' } },
    });
    expect([patch.status, patch.body.detail]).toEqual([
      409,
      expect.stringContaining('nested more than 64 levels deep'),
    ]);
    expect((await plane.call('DELETE', `/v2/deployments/${deep.id}`)).status).toBe(204);
    expect((await kube.get(kinds.deployment, { namespace, name: 'fine' })).metadata.name).toBe(
      'fine',
    );
    expect(await (await fetch(plane.metricsUrl)).text()).toContain(
      'gx_faulty_objects{kind="Deployment",reason="TooLarge"} 2',
    );
  } finally {
    await plane.stop();
  }
});

test('a hostile deployment goes when it is deleted, and so does what it had', async () => {
  const { kube, namespace } = given;
  for (const name of ['third', 'first-deep', 'first-wide', 'first-labels', 'first-odd']) {
    await kube.delete(kinds.deployment, { namespace, name });
    await until(`${name} is gone`, () =>
      given.see.deployment(name).then(
        () => false,
        (error: unknown) => error instanceof NotFound,
      ),
    );
  }
  expect(
    (await kube.listAll(kinds.workload, { namespace })).filter(({ metadata }) =>
      metadata.name.startsWith('third'),
    ),
  ).toEqual([]);
});
