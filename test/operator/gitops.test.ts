import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import { isRolledOut } from '../../src/operator/pods/workload-state.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { still, until } from '../kit/until.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { newDeployment } from '../kit/objects.ts';
import { look, untilIdle, type RunningOperator } from '../kit/operator.ts';

/* Deployments that are kept in git, applied by kubectl itself on a real API server. */
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let kubectl: Kubectl;
let see: ReturnType<typeof look>;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('gitops');
  ({ kube, namespace, see } = stage);
  const { kubectl: path } = await ensureTools(['kubectl']);
  kubectl = kubectlFor({ kubectl: path, kubeconfig: stage.kubeconfig });
  stage.startKubelet();
  operator = await stage.startOperator();
});
afterAll(() => stage.stop());

const inNamespace = (...args: string[]): Promise<string> =>
  kubectl(...args, '--namespace', namespace);
const waitReady = (name: string, timeout = '60s'): Promise<string> =>
  inNamespace('wait', `gxd/${name}`, '--for=condition=Ready', `--timeout=${timeout}`);

/**
 * The deployment as somebody keeps it in git. It has every list and map of the spec that an operator might fill in,
 * each half filled.
 */
const manifest = (name: string, resourceSpec: object = {}): DeploymentResource =>
  newDeployment(namespace, {
    metadata: {
      name,
      labels: { team: 'a' },
      annotations: { note: 'kept in git', 'gx.dev/api-scaling': 'others' },
    },
    template: {
      resourceSpec: {
        minScale: 1,
        labels: { team: 'a' },
        sidecars: [{ name: 'proxy', image: 'proxy:1', env: [{ name: 'A', value: 'b' }] }],
        volumes: [{ name: 'cache', emptyDir: {} }],
        volumeMounts: [{ name: 'cache', mountPath: '/cache' }],
        ...resourceSpec,
      },
    },
  });

describe.each([
  ['client-side', []],
  ['server-side', ['--server-side', '--field-manager=argocd-controller']],
])('a manifest applied %s', (way, options) => {
  const name = way;

  test('is waited for by `kubectl wait`, and shows no difference once it is ready', async () => {
    await kubectl.apply(manifest(name), ...options);
    await waitReady(name);
    expect(await kubectl.diff(manifest(name), ...options)).toBe('');
    const before = await see.deployment(name);
    await kubectl.apply(manifest(name), ...options);
    expect((await see.deployment(name)).metadata.resourceVersion).toBe(
      before.metadata.resourceVersion,
    );
    expect(before.spec).toEqual(manifest(name).spec);
    expect(before.metadata.labels).toEqual({ team: 'a' });
  });

  test('stays its owner’s: the operator has written status and its finalizer, nothing else', async () => {
    const { metadata } = (await see.deployment(name)) as unknown as {
      metadata: { managedFields: Written[] };
    };
    const operators = metadata.managedFields.filter(({ manager }) => manager === 'gx-operator');
    const fields = operators.flatMap(({ fieldsV1, subresource }) =>
      subresource === 'status' ? [] : topFields(fieldsV1),
    );
    expect(fields).toEqual(['f:finalizers']);
    expect(operators.some(({ subresource }) => subresource === 'status')).toBe(true);
  });

  test('with a field taken away, has it no more, and serves its second revision', async () => {
    const { labels: _labels, ...rest } = manifest(name).spec.template.resourceSpec ?? {};
    const spec = {
      ...manifest(name).spec,
      template: { ...manifest(name).spec.template, resourceSpec: rest },
    };
    await kubectl.apply({ ...manifest(name), spec }, ...options);
    await waitReady(name);
    const { status } = await see.deployment(name);
    expect(status?.activeRevision).toBe(status?.latestRevision);
    const pair = await kube.listAll(kinds.workload, {
      namespace,
      labelSelector: `gx.dev/revision=${status?.activeRevision}`,
    });
    expect(pair.map(({ metadata }) => metadata.labels?.team)).toEqual([undefined, undefined]);
  });
});

type Written = { manager: string; subresource?: string; fieldsV1: Record<string, object> };
/** Turns `f:metadata.f:finalizers` into `f:finalizers`. The fields of spec, and names that others chose, stay whole. */
const topFields = (fields: Record<string, object>): string[] =>
  Object.entries(fields).flatMap(([name, inner]) =>
    name === 'f:metadata' ? Object.keys(inner) : [name],
  );

test('`kubectl wait` is not satisfied by what was ready before the change', async () => {
  await kubectl.apply(manifest('stale'));
  await waitReady('stale');
  await operator.stop();
  await inNamespace(
    'patch',
    'gxd',
    'stale',
    '--type=merge',
    '--patch={"spec":{"template":{"sourceRevisionConfig":{"imageUri":"agent:9"}}}}',
  );
  await expect(waitReady('stale', '1s')).rejects.toThrow('timed out');
  operator = await stage.startOperator();
  await waitReady('stale');
});

describe('hands of others', () => {
  const replicas = async (name: string): Promise<number> =>
    ((await see.workload(name)).spec as { replicas: number }).replicas;
  const settle = async (name: string): Promise<void> => {
    await until('the pods are out', async () => isRolledOut(await see.workload(name)));
    await still(name, () => see.workload(name));
    await untilIdle(operator);
  };
  const versionOf = async (name: string): Promise<string | undefined> =>
    (await see.workload(name)).metadata.resourceVersion;

  test('may scale within the range of the spec, as an autoscaler does, and are brought back from beyond it', async () => {
    await kubectl.apply(manifest('scaled', { minScale: 2, maxScale: 5 }));
    await waitReady('scaled');
    const api = 'scaled-00001-api';
    for (const size of [4, 3, 2, 5]) {
      await inNamespace('scale', `deployment.apps/${api}`, `--replicas=${size}`);
      await settle(api);
      expect(await replicas(api)).toBe(size);
      await waitReady('scaled');
    }
    const before = await versionOf(api);
    await inNamespace('annotate', 'gxd/scaled', 'gx.dev/reconcile-requested-at=now');
    await until(
      'it is obeyed',
      async () => (await see.deployment('scaled')).status?.lastHandledReconcileAt === 'now',
    );
    expect([await replicas(api), await versionOf(api)]).toEqual([5, before]);
    await inNamespace('scale', `deployment.apps/${api}`, '--replicas=9');
    await until('it is back in its range', async () => (await replicas(api)) === 2);
    await inNamespace('scale', `deployment.apps/${api}`, '--replicas=1');
    await until('it is back in its range', async () => (await replicas(api)) === 2);
  });

  test('may scale up from none within the range, as an autoscaler by events does, and back', async () => {
    await kubectl.apply(manifest('none', { minScale: 0, maxScale: 3 }));
    await waitReady('none');
    const api = 'none-00001-api';
    expect(await replicas(api)).toBe(0);
    for (const size of [2, 0, 3]) {
      await inNamespace('scale', `deployment.apps/${api}`, `--replicas=${size}`);
      await settle(api);
      expect(await replicas(api)).toBe(size);
      await waitReady('none');
    }
    await kubectl.apply(manifest('none', { minScale: 0, maxScale: 3, cpu: 0.2 }));
    await until('the former pair is taken down', async () => (await replicas(api)) === 0);
    await until(
      'the next one serves',
      async () => (await see.deployment('none')).status?.activeRevision === 'none-00002',
    );
  });

  test('scale by a HorizontalPodAutoscaler, which alone moves the workload between its bounds', async () => {
    await kubectl.apply(manifest('auto', { minScale: 1, maxScale: 5 }));
    await waitReady('auto');
    const api = 'auto-00001-api';
    const autoscaler = (minReplicas: number, maxReplicas: number): object => ({
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'auto', namespace },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: api },
        minReplicas,
        maxReplicas,
      },
    });
    // Metrics need a kubelet. Without them it only acts when the size is outside its own bounds.
    for (const [least, most, size] of [
      [3, 5, 3],
      [1, 2, 2],
      [4, 5, 4],
    ] as const) {
      await kubectl.apply(autoscaler(least, most));
      await until(`it has made it ${size}`, async () => (await replicas(api)) === size);
      await settle(api);
      expect(await replicas(api)).toBe(size);
      await waitReady('auto');
    }
    await inNamespace('annotate', 'gxd/auto', 'gx.dev/reconcile-requested-at=now');
    await until(
      'it is obeyed',
      async () => (await see.deployment('auto')).status?.lastHandledReconcileAt === 'now',
    );
    expect(await replicas(api)).toBe(4);
  });

  test('do not keep the pods of a replaced revision, and the next one begins with as many as served', async () => {
    await inNamespace('scale', 'deployment.apps/scaled-00001-api', '--replicas=4');
    await kubectl.apply(manifest('scaled', { minScale: 2, maxScale: 5, cpu: 0.2 }));
    await waitReady('scaled');
    await until(
      'the former pair is at zero',
      async () =>
        (await replicas('scaled-00001-api')) + (await replicas('scaled-00001-queue')) === 0,
    );
    expect(await replicas('scaled-00002-api')).toBe(4);
  });

  test('restart by `kubectl rollout restart`, which ends well and stays', async () => {
    await kubectl.apply(manifest('restarted'));
    await waitReady('restarted');
    await inNamespace('rollout', 'restart', 'deployment.apps/restarted-00001-api');
    await inNamespace('rollout', 'status', 'deployment.apps/restarted-00001-api', '--timeout=60s');
    await waitReady('restarted');
    const { spec } = (await see.workload('restarted-00001-api')) as unknown as {
      spec: { template: { metadata: { annotations: object } } };
    };
    expect(spec.template.metadata.annotations).toHaveProperty([
      'kubectl.kubernetes.io/restartedAt',
    ]);
  });

  test('may label and annotate what the operator made', async () => {
    await inNamespace('label', 'service/restarted-agent', 'theirs=yes');
    await inNamespace('annotate', 'statefulset/restarted-db', 'theirs=yes');
    await inNamespace('annotate', 'gxd/restarted', 'gx.dev/reconcile-requested-at=now');
    await until(
      'it is obeyed',
      async () => (await see.deployment('restarted')).status?.lastHandledReconcileAt === 'now',
    );
    expect((await see.service('restarted-agent')).metadata.labels).toMatchObject({ theirs: 'yes' });
    const database = await kube.get(kinds.statefulSet, { namespace, name: 'restarted-db' });
    expect(database.metadata.annotations).toMatchObject({ theirs: 'yes' });
  });
});

test('all that a deployment and its revision have is found by label, and by owner', async () => {
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'mine', namespace },
    stringData: { A: 'b' },
  });
  const of = manifest('family');
  await kubectl.apply({
    ...of,
    spec: { ...of.spec, template: { ...of.spec.template, secretName: 'mine' } },
  });
  await waitReady('family');
  const list = async (selector: string): Promise<string[]> => {
    const all =
      'revisions.gx.dev,deployments.apps,replicasets,statefulsets,services,networkpolicies,poddisruptionbudgets,secrets,pods,persistentvolumeclaims';
    const { items } = await kubectl.json<{ items: KubeObject[] }>(
      'get',
      all,
      '--namespace',
      namespace,
      '--selector',
      selector,
    );
    return items
      .map(({ kind, metadata }) => `${kind} ${metadata.labels?.['gx.dev/component'] ?? ''}`.trim())
      .toSorted();
  };
  const ofRevision = [
    'Deployment api',
    'Deployment queue',
    'Pod api',
    'Pod queue',
    'ReplicaSet api',
    'ReplicaSet queue',
    'Secret',
  ];
  expect(await list('gx.dev/revision=family-00001')).toEqual(ofRevision);
  const ofDeployment = [
    'NetworkPolicy',
    'NetworkPolicy',
    'PersistentVolumeClaim',
    'Pod',
    'Secret',
    'Secret',
    'Service',
    'StatefulSet',
  ].map((kind) => `${kind} database`);
  expect(await list('gx.dev/deployment=family')).toEqual(
    [
      ...ofRevision,
      ...ofDeployment,
      'NetworkPolicy agent',
      'Revision',
      'Secret key',
      'Secret tls',
      'Secret tls',
      'Service agent',
    ].toSorted(),
  );
  const { metadata } = await see.revision('family-00001');
  expect(metadata.ownerReferences).toMatchObject([
    { kind: 'Deployment', name: 'family', controller: true },
  ]);
  for (const kind of [kinds.workload, kinds.secret]) {
    const owners = (
      await kube.listAll(kind, { namespace, labelSelector: 'gx.dev/revision=family-00001' })
    ).map((child) => child.metadata.ownerReferences);
    expect(owners.every((owner) => owner?.[0]?.uid === metadata.uid)).toBe(true);
  }
});
