import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { NotFound } from '../../src/errors.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import { isRolledOut } from '../../src/operator/pods/workload-state.ts';
import { names } from '../../src/schema/names.ts';
import { REVISION } from '../../src/schema/platform/objects/labels.ts';
import { auditEvents } from '../kit/audit-log.ts';
import { still, until } from '../kit/until.ts';
import { DIGEST } from '../kit/fake-kubelet.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, metricOf, untilIdle, type RunningOperator } from '../kit/operator.ts';
import { setStage, type OperatedStage } from '../kit/stage.ts';

/*
 * The operator runs on a real API server with the cluster's own controllers. A double of the kubelet reports pods as
 * ready or broken.
 */
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('operator');
  ({ kube, namespace, operator, see } = stage);
});
afterAll(() => stage.stop());

const apply = (name: string, given: Parameters<typeof newDeployment>[1] = {}): Promise<object> =>
  kube.create(
    kinds.deployment,
    newDeployment(namespace, { ...given, metadata: { name, ...given.metadata } }),
  );

/** A new image, as `kubectl edit` would write it. */
const change = (name: string, image: string): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: image },
  ]);

const selected = async (name: string): Promise<string | undefined> =>
  ((await see.service(names.service(name))).spec as { selector: Record<string, string> }).selector[
    REVISION
  ];

const replicas = async (name: string): Promise<number> =>
  ((await see.workload(name)).spec as { replicas: number }).replicas;

const ready = (
  object: { status?: { conditions?: { type: string; status: string; reason: string }[] } },
  type = 'Ready',
) => object.status?.conditions?.find((condition) => condition.type === type);

const requests = () =>
  auditEvents(inject('auditLog'), operator.userAgent).filter(
    ({ objectRef }) => !['leases', 'events'].includes(objectRef?.resource ?? ''),
  );
const writes = (): number =>
  requests().filter(({ verb }) => ['create', 'update', 'patch', 'delete'].includes(verb)).length;

describe('a deployment applied with kubectl', () => {
  test('becomes a revision that serves, with database, Service and tracing project', async () => {
    await apply('first');
    await see.untilReady('first');
    const deployment = await see.deployment('first');
    const revision = await see.revision('first-00001');
    expect(deployment.status).toMatchObject({
      phase: 'READY',
      activeRevision: 'first-00001',
      latestRevision: 'first-00001',
      observedGeneration: 1,
      url: `http://first-agent.${namespace}.svc.cluster.local`,
    });
    expect(revision.status).toMatchObject({ phase: 'DEPLOYED', imageDigest: DIGEST });
    expect(await selected('first')).toBe('first-00001');
    expect(
      await kube.get(kinds.statefulSet, { namespace, name: names.database('first') }),
    ).toBeDefined();
    const projects = await kube.listAll(kinds.tracingProject, { namespace });
    expect(projects.map(({ spec }) => spec.projectName)).toContain('first');
  });

  test('costs no write and no read once it has settled', async () => {
    await apply('settled');
    await see.untilReady('settled');
    await still('what Kubernetes makes of it', () => kube.listAll(kinds.workload, { namespace }));
    await untilIdle(operator);
    const before = {
      writes: writes(),
      all: requests().filter(({ verb }) => verb !== 'watch').length,
    };
    const looked = () =>
      metricOf(operator, 'controller_runtime_reconcile_total', 'controller="deployment"');
    const times = await looked();
    // Somebody else's label wakes the deployment and, at the same moment, everything that belongs to it.
    await kube.patchJson(kinds.deployment, { namespace, name: 'settled' }, [
      { op: 'add', path: '/metadata/labels', value: { theirs: 'yes' } },
    ]);
    await until('it was looked at again', async () => (await looked()) > times);
    await untilIdle(operator);
    expect(writes() - before.writes).toBe(0);
    expect(requests().filter(({ verb }) => verb !== 'watch').length - before.all).toBe(0);
  });

  test('takes at most 23 writes, events and the lease apart, and reads nothing but a log', async () => {
    await untilIdle(operator);
    const before = writes();
    await apply('cheap');
    await see.untilReady('cheap');
    expect(writes() - before).toBeLessThanOrEqual(23);
    const reads = requests().filter(
      ({ verb, requestURI }) => ['get', 'list'].includes(verb) && requestURI.includes('cheap'),
    );
    expect(reads.filter(({ objectRef }) => objectRef?.subresource !== 'log')).toEqual([]);
  });
});

describe('a changed template', () => {
  test('makes a second revision, switches the Service to it, and scales the first one down', async () => {
    await apply('second');
    await see.untilReady('second');
    await change('second', 'agent:2');
    await see.untilReady('second');
    expect((await see.deployment('second')).status?.activeRevision).toBe('second-00002');
    expect(await selected('second')).toBe('second-00002');
    await until(
      'the first pair is at zero',
      async () =>
        (await replicas('second-00001-api')) + (await replicas('second-00001-queue')) === 0,
    );
    expect((await see.revision('second-00001')).status?.phase).toBe('DEPLOYED');
  });

  test.each([
    ['an image that is missing', 'missing:1', 'ImagePullFailed'],
    ['a server that crashes', 'crash:1', 'CrashLooping'],
    ['a server that needs more memory', 'hungry:1', 'OOMKilled'],
  ])(
    '%s fails with its reason, and the revision that serves is untouched',
    async (_, image, reason) => {
      const name = reason.toLowerCase();
      await apply(name);
      await see.untilReady(name);
      const pair = await see.workload(`${name}-00001-api`);
      await change(name, image);
      await see.untilPhase(`${name}-00002`, 'DEPLOY_FAILED');
      await until(
        'the deployment says so',
        async () => ready(await see.deployment(name), 'Stalled')?.reason === reason,
      );
      const deployment = await see.deployment(name);
      expect(ready(deployment)).toMatchObject({ status: 'False', reason });
      expect(ready(deployment, 'Serving')?.status).toBe('True');
      expect(deployment.status).toMatchObject({ phase: 'READY', activeRevision: `${name}-00001` });
      expect(await selected(name)).toBe(`${name}-00001`);
      expect((await see.workload(`${name}-00001-api`)).metadata.generation).toBe(
        pair.metadata.generation,
      );
      await change(name, 'agent:3');
      await see.untilReady(name);
      expect((await see.deployment(name)).status?.activeRevision).toBe(`${name}-00003`);
    },
  );

  test('a revision that is never ready fails at its deadline, and can be interrupted before', async () => {
    await apply('mute', { image: 'mute:1', spec: { progressDeadlineSeconds: 20 } });
    await apply('stopped', { image: 'mute:1' });
    await see.untilPhase('stopped-00001', 'DEPLOYING');
    await change('stopped', 'agent:2');
    await see.untilPhase('stopped-00002', 'QUEUED');
    await change('stopped', 'agent:3');
    await see.untilPhase('stopped-00002', 'SKIPPED');
    const interrupt = { 'gx.dev/interrupt': 'now' };
    await kube.patchJson(kinds.revision, { namespace, name: 'stopped-00001' }, [
      { op: 'add', path: '/metadata/annotations', value: interrupt },
    ]);
    await see.untilPhase('stopped-00001', 'INTERRUPTED');
    await see.untilPhase('stopped-00003', 'DEPLOYED');
    await see.untilPhase('mute-00001', 'DEPLOY_FAILED');
    expect((await see.revision('mute-00001')).status?.reason).toBe('ProbeFailed');
  });

  test('from git fails with BuilderMissing instead of waiting for ever', async () => {
    const sourceConfig = {
      integrationId: '33333333-3333-4333-8333-333333333333',
      repoUrl: 'https://git.example/a',
    };
    await kube.create(kinds.deployment, {
      ...newDeployment(namespace, { metadata: { name: 'git' } }),
      spec: {
        source: 'git',
        sourceConfig,
        template: { sourceRevisionConfig: { repoRef: 'main', gxConfigPath: 'gx.json' } },
      },
    });
    await see.untilPhase('git-00001', 'BUILD_FAILED');
    expect((await see.revision('git-00001')).status?.reason).toBe('BuilderMissing');
  });
});

describe('drift', () => {
  test('a foreign change of a field we own is undone, a foreign field stays', async () => {
    await apply('drift');
    await see.untilReady('drift');
    const service = names.service('drift');
    await kube.patchJson(kinds.service, { namespace, name: service }, [
      { op: 'replace', path: '/spec/selector/gx.dev~1revision', value: 'hijacked' },
      { op: 'add', path: '/metadata/labels/theirs', value: 'stays' },
    ]);
    await until('the selector is back', async () => (await selected('drift')) === 'drift-00001');
    expect((await see.service(service)).metadata.labels).toMatchObject({ theirs: 'stays' });
    await kube.delete(kinds.workload, { namespace, name: 'drift-00001-queue' });
    await until('the workload is back', async () => (await replicas('drift-00001-queue')) === 1);
  });

  test('`kubectl scale` is undone; `kubectl rollout restart` and a label of somebody else stay, and no write is spent on them', async () => {
    await apply('hands');
    await see.untilReady('hands');
    const ref = { namespace, name: 'hands-00001-api' };
    await kube.patchJson(kinds.workload, ref, [
      { op: 'replace', path: '/spec/replicas', value: 3 },
    ]);
    await until('the size is back', async () => (await replicas(ref.name)) === 1);
    await see.untilReady('hands');
    const restartedAt = { 'kubectl.kubernetes.io/restartedAt': '2026-01-01T00:00:00Z' };
    await kube.patchJson(kinds.workload, ref, [
      {
        op: 'test',
        path: '/spec/template/metadata/annotations/gx.dev~1deployment',
        value: 'hands',
      },
      {
        op: 'add',
        path: '/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt',
        value: '2026-01-01T00:00:00Z',
      },
      { op: 'add', path: '/metadata/labels/theirs', value: 'stays' },
      { op: 'add', path: '/metadata/annotations/theirs', value: 'stays' },
    ]);
    await until('the restarted pods are out', async () =>
      isRolledOut(await see.workload(ref.name)),
    );
    await see.untilReady('hands');
    const { metadata, spec } = await see.workload(ref.name);
    expect(metadata).toMatchObject({
      labels: { theirs: 'stays' },
      annotations: { theirs: 'stays' },
    });
    expect(spec).toMatchObject({
      replicas: 1,
      template: { metadata: { annotations: restartedAt } },
    });
    const written = requests().filter(
      ({ verb, objectRef }) => verb === 'patch' && objectRef?.name === ref.name,
    );
    expect(written).toHaveLength(2);
  });
});

describe('secrets', () => {
  test("a user's own mutable Secret is waited for and copied once", async () => {
    await apply('secretive', { template: { secretName: 'mine' } });
    await until(
      'it is said to be missing',
      async () => (await see.revision('secretive-00001')).status?.reason === 'SecretMissing',
    );
    const head = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'mine', namespace } };
    await kube.create(kinds.secret, { ...head, stringData: { TOKEN: 'canary-value' } });
    await see.untilReady('secretive');
    const revision = await see.revision('secretive-00001');
    const copy = await see.secret(revision.status?.secretName ?? '');
    expect(copy).toMatchObject({
      immutable: true,
      data: { TOKEN: Buffer.from('canary-value').toString('base64') },
    });
    const everything = [
      revision,
      await see.deployment('secretive'),
      await kube.listAll(kinds.event, { namespace }),
    ];
    expect(JSON.stringify(everything)).not.toContain('canary-value');
  });
});

describe('deletion', () => {
  const gone = (name: string): Promise<true> =>
    until(`${name} is gone`, async () =>
      see.deployment(name).then(
        () => false,
        (error: unknown) => error instanceof NotFound,
      ),
    );
  const claims = async (name: string): Promise<KubeObject[]> =>
    (await kube.listAll(kinds.volumeClaim, { namespace })).filter(({ metadata }) =>
      metadata.name.includes(`-${name}-db-0`),
    );

  test('with Retain leaves the volume and its credential, and nothing else', async () => {
    await apply('kept');
    await see.untilReady('kept');
    const { metadata } = await see.deployment('kept');
    await kube.delete(kinds.deployment, { namespace, name: 'kept' });
    await gone('kept');
    expect(await claims('kept')).toHaveLength(1);
    expect(await see.secret(names.databaseSecret('kept', metadata.uid ?? ''))).toBeDefined();
    const selector = { namespace, labelSelector: 'gx.dev/deployment=kept' };
    for (const kind of [
      kinds.workload,
      kinds.statefulSet,
      kinds.service,
      kinds.networkPolicy,
      kinds.disruptionBudget,
    ])
      expect(await kube.listAll(kind, selector)).toEqual([]);
    await apply('kept');
    await see.untilReady('kept');
    expect(await claims('kept')).toHaveLength(2);
  });

  test('with Delete leaves nothing', async () => {
    await apply('dropped', { spec: { deletionPolicy: 'Delete', deleteTracingProject: true } });
    await see.untilReady('dropped');
    const { metadata } = await see.deployment('dropped');
    await kube.delete(kinds.deployment, { namespace, name: 'dropped' });
    await gone('dropped');
    expect(await claims('dropped')).toEqual([]);
    await expect(
      see.secret(names.databaseSecret('dropped', metadata.uid ?? '')),
    ).rejects.toBeInstanceOf(NotFound);
    const projects = await kube.listAll(kinds.tracingProject, { namespace });
    expect(projects.map(({ spec }) => spec.projectName)).not.toContain('dropped');
  });
});
