import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, KubeObject } from '../../src/kube/kube.ts';
import type { DatabaseSpec } from '../../src/schema/platform/spec/database-spec.ts';
import { BUILDER, fromGit, GIT, newDeployment } from '../kit/objects.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { startGitHttp, type GitHttp } from '../kit/git-http.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { stagedStatus } from '../kit/status-of-stages.ts';
import { until } from '../kit/until.ts';
import { BACKUPS, FOUND, SAVED, SOURCE } from '../operator/backup/ended-job.ts';

/*
 * Every kind of Job of ours where a quota or a policy refuses its pods, and where a policy puts a container of a mesh
 * into them. Quota, policies and the controller of Jobs are the cluster's own; a test reports what a node would.
 */
const ADMISSION = 'admissionregistration.k8s.io/v1';
const clusterWide = (kind: string, plural: string): Kind => ({
  apiVersion: ADMISSION,
  kind,
  plural,
  namespaced: false,
});
const MUTATING = clusterWide('MutatingAdmissionPolicy', 'mutatingadmissionpolicies');
const MUTATING_BINDING = clusterWide(
  'MutatingAdmissionPolicyBinding',
  'mutatingadmissionpolicybindings',
);
const VALIDATING = clusterWide('ValidatingAdmissionPolicy', 'validatingadmissionpolicies');
const VALIDATING_BINDING = clusterWide(
  'ValidatingAdmissionPolicyBinding',
  'validatingadmissionpolicybindings',
);
const QUOTA: Kind = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
};

let stage: Stage;
let git: GitHttp;
beforeAll(async () => {
  git = await startGitHttp();
  git.push('main');
  git.push('waits');
  stage = await openStage('company-jobs');
  const { kube, namespace } = stage;
  stage.startKubelet();
  await kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace },
    spec: { computeId: 'test', namespaces: [namespace] },
  });
  await kube.create(kinds.gitIntegration, {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: 'local', namespace },
    spec: { id: GIT.id, name: 'local', kind: 'generic', host: git.url, repositories: ['team/*'] },
  });
  await stage.startOperator({
    settings: {
      backups: { ...BACKUPS, atOnce: 9, verifyDays: 7 },
      builder: { ...BUILDER, namespace, gitNamespace: namespace },
      gitHosts: [git.url],
    },
  });
});
afterAll(async () => {
  await stage.stop();
  await git.stop();
});

const deploy = (name: string, database: DatabaseSpec, more: object = {}): Promise<object> =>
  stage.kube.create(
    kinds.deployment,
    newDeployment(stage.namespace, {
      metadata: { name },
      spec: { database, deletionPolicy: 'Delete', ...more },
    }),
  );
const build = (name: string, repoRef: string): Promise<object> => {
  const sourceConfig = { integrationId: GIT.id, repoUrl: `${git.url}/team/chat` };
  return stage.kube.create(
    kinds.deployment,
    newDeployment(
      stage.namespace,
      fromGit(repoRef, { metadata: { name }, spec: { source: 'git', sourceConfig } }),
    ),
  );
};
const set = (name: string, path: string, value: unknown): Promise<object> =>
  stage.kube.patchJson(kinds.deployment, { namespace: stage.namespace, name }, [
    { op: 'add', path, value },
  ]);
const conditionOf = async (name: string, type: string) =>
  (await stage.see.deployment(name)).status?.conditions?.find(
    (condition) => condition.type === type,
  );
const now = (): string => new Date(Date.now() + 2000).toISOString();

type JobPod = KubeObject & { spec: { containers: { name: string; args?: string[] }[] } };
const podsOf = async (name: string, component: string): Promise<JobPod[]> =>
  (
    (await stage.kube.listAll(kinds.pod, {
      namespace: stage.namespace,
      labelSelector: `gx.dev/deployment=${name},gx.dev/component=${component}`,
    })) as JobPod[]
  ).filter(({ metadata }) => metadata.deletionTimestamp === undefined);

/** Reports that a container of a Job's pod has ended, while one of a mesh runs on. Returns the pod. */
async function endsBesideMesh(
  name: string,
  component: string,
  { container, message }: { container: string; message?: object },
) {
  const pod = await until(
    `${name} has a pod of ${component}`,
    async () =>
      (await podsOf(name, component)).find(
        ({ status }) => (status as { phase?: string }).phase === 'Pending',
      ),
    90,
  );
  const ended = {
    exitCode: 0,
    reason: 'Completed',
    message: JSON.stringify(message),
    startedAt: null,
    finishedAt: null,
  };
  const states = { [container]: { terminated: ended }, [MESH]: { running: { startedAt: null } } };
  const containerStatuses = Object.entries(states).map(([each, state]) => ({
    name: each,
    image: 'x',
    imageID: '',
    ready: each === MESH,
    restartCount: 0,
    state,
  }));
  await stage.kube.patchStatus(
    kinds.pod,
    { namespace: stage.namespace, name: pod.metadata.name },
    { phase: 'Running', containerStatuses },
  );
  return pod;
}

const MESH = 'mesh-proxy';
const match = (operations: string[]) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': stage.namespace } },
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations }],
});

/** Puts a container of a mesh that asks nobody into every pod of the namespace, and the status of none. */
async function injectMesh(): Promise<void> {
  const { kube, namespace } = stage;
  const metadata = { name: `mesh-${namespace}` };
  await kube.create(MUTATING, {
    apiVersion: ADMISSION,
    kind: 'MutatingAdmissionPolicy',
    metadata,
    spec: {
      matchConstraints: match(['CREATE']),
      matchConditions: [{ name: 'jobs', expression: `object.spec.restartPolicy != 'Always'` }],
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: {
            expression: `[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{name: "${MESH}", image: "silent-mesh",
              securityContext: Object.spec.containers.securityContext{allowPrivilegeEscalation: false}}}]`,
          },
        },
      ],
    },
  });
  await kube.create(MUTATING_BINDING, {
    apiVersion: ADMISSION,
    kind: 'MutatingAdmissionPolicyBinding',
    metadata,
    spec: { policyName: metadata.name },
  });
}

const good = { ...SAVED, from: now(), until: now() };

test('a quota that refuses the pods of Jobs is reported where each kind of Job reports, and they go on when it is gone', async () => {
  const { kube, namespace, see } = stage;
  const backup = { target: 'main' };
  await deploy('password', {});
  await deploy('backup', { backup });
  await deploy('verified', { backup });
  await deploy('look', { backup });
  await deploy('deletes', { backup: { ...backup, beforeDeletion: true } });
  for (const name of ['password', 'backup', 'verified', 'look', 'deletes'])
    await see.untilReady(name, 60);
  await kube.create(QUOTA, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'none', namespace },
    spec: { hard: { pods: '0' } },
  });
  await until(
    'the quota counts',
    async () => (await kube.get(QUOTA, { namespace, name: 'none' })).status !== undefined,
  );

  await set('password', '/spec/database/passwordRequestedAt', now());
  await set('backup', '/spec/database/backup/requestedAt', now());
  await set('look', '/spec/database/restore', {
    deployment: SOURCE,
    target: 'main',
    replaceRequestedAt: now(),
  });
  await kube.delete(kinds.deployment, { namespace, name: 'deletes' });
  await build('built', 'main');
  const words = "The namespace's quota leaves no room for a pod: ";
  const told = {
    status: expect.any(String),
    reason: 'QuotaExceeded',
    message: expect.stringContaining(words),
  };
  const poll = { timeout: 75_000 };
  await expect.poll(() => conditionOf('password', 'PasswordRotated'), poll).toMatchObject(told);
  await expect.poll(() => conditionOf('backup', 'BackedUp'), poll).toMatchObject(told);
  await expect.poll(() => conditionOf('look', 'Restored'), poll).toMatchObject(told);
  await expect.poll(() => conditionOf('deletes', 'BackedUp'), poll).toMatchObject(told);
  await expect
    .poll(async () => (await see.revision('built-00001')).status, poll)
    .toMatchObject({
      phase: 'AWAITING_BUILD',
      conditions: expect.arrayContaining([
        expect.objectContaining({
          reason: 'QuotaExceeded',
          message: expect.stringContaining(words),
        }),
      ]),
    });

  await kube.delete(QUOTA, { namespace, name: 'none' });
  await until(
    'the password is changed',
    async () => (await conditionOf('password', 'PasswordRotated')) === undefined,
    150,
  );
  for (const [name, component] of [
    ['backup', 'backup'],
    ['look', 'restore'],
    ['deletes', 'backup'],
  ] as const)
    await until(
      `${name} has a pod of ${component}`,
      async () => (await podsOf(name, component)).length > 0,
      150,
    );
  await until(
    'the build goes on',
    async () =>
      !['AWAITING_BUILD'].includes((await see.revision('built-00001')).status?.phase ?? ''),
    150,
  );
});

test('a policy that refuses pods of verifications and restores is reported, and so is a clone that waits for it', async () => {
  const { kube, namespace } = stage;
  const metadata = { name: `refuse-${namespace}` };
  await kube.create(VALIDATING, {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicy',
    metadata,
    spec: {
      matchConstraints: match(['CREATE']),
      validations: [
        {
          expression: `!(object.metadata.?labels[?'gx.dev/component'].orValue('') in ['verify', 'restore'])`,
          message: 'The platform team approves pods that restore.',
        },
      ],
    },
  });
  const spec = { policyName: metadata.name, validationActions: ['Deny'] };
  await kube.create(VALIDATING_BINDING, {
    apiVersion: ADMISSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata,
    spec,
  });
  await until('the policy is in force', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'probe', namespace, labels: { 'gx.dev/component': 'verify' } },
    };
    const asked = kube.create(
      kinds.pod,
      { ...pod, spec: { containers: [{ name: 'a', image: 'a' }] } },
      { dryRun: true },
    );
    return asked.then(
      () => false,
      () => true,
    );
  });
  await set('verified', '/spec/database/backup/requestedAt', now());
  await endsBesideMesh('verified', 'backup', { container: 'send', message: good });
  await deploy('clone', { restore: { deployment: SOURCE, target: 'main' } });
  const poll = { timeout: 75_000 };
  const message = expect.stringContaining('The platform team approves pods that restore.');
  await expect
    .poll(() => conditionOf('verified', 'BackedUp'), poll)
    .toMatchObject({ reason: 'VerificationWaits', message });
  await expect
    .poll(() => conditionOf('clone', 'Restored'), poll)
    .toMatchObject({ status: 'Unknown', reason: 'Refused', message });
  await kube.delete(VALIDATING_BINDING, metadata);
  await kube.delete(VALIDATING, metadata);
  await endsBesideMesh('verified', 'verify', { container: 'send', message: { verified: 'x' } });
  // One looks at the backup, and the next restores it.
  for (let pods = 0; pods < 2; pods += 1)
    await endsBesideMesh('clone', 'restore', { container: 'send', message: FOUND });
  await expect
    .poll(() => conditionOf('verified', 'BackedUp'), poll)
    .toMatchObject({ status: 'True', reason: 'BackedUp' });
  await expect
    .poll(() => conditionOf('clone', 'Restored'), poll)
    .toMatchObject({ status: 'True', reason: 'Restored' });
});

test('a container of a mesh that runs on keeps no Job open, and pods ask meshes to leave them out', async () => {
  const { kube, namespace, see } = stage;
  await injectMesh();
  await until('the policy is in force', async () => {
    const metadata = { name: 'probe', namespace };
    const spec = { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] };
    const pod = await kube.create(
      kinds.pod,
      { apiVersion: 'v1', kind: 'Pod', metadata, spec },
      { dryRun: true },
    );
    return JSON.stringify(pod.spec).includes(MESH);
  });
  await deploy('meshed', { backup: { target: 'main' } });
  await see.untilReady('meshed', 60);
  await set('meshed', '/spec/database/backup/requestedAt', now());
  const pod = await endsBesideMesh('meshed', 'backup', { container: 'send', message: good });
  expect(pod.spec.containers.map(({ name }) => name)).toContain(MESH);
  expect(pod.metadata.labels).toMatchObject({
    'sidecar.istio.io/inject': 'false',
    'istio.io/dataplane-mode': 'none',
    'kuma.io/sidecar-injection': 'disabled',
  });
  expect(pod.metadata.annotations).toMatchObject({
    'linkerd.io/inject': 'disabled',
    'consul.hashicorp.com/connect-inject': 'false',
  });
  const poll = { timeout: 60_000 };
  await endsBesideMesh('meshed', 'verify', { container: 'send', message: { verified: 'x' } });
  await expect
    .poll(() => conditionOf('meshed', 'BackedUp'), poll)
    .toMatchObject({ status: 'True', message: expect.stringContaining('verified') });

  await set('meshed', '/spec/database/passwordRequestedAt', now());
  await endsBesideMesh('meshed', 'password', { container: 'psql' });
  // The first sets the new password, and the second ends the former one.
  await endsBesideMesh('meshed', 'password', { container: 'psql' });
  await until(
    'the password is changed',
    async () => (await conditionOf('meshed', 'PasswordRotated')) === undefined,
    60,
  );

  await build('waits', 'waits');
  const pushed = await until(
    'the build has a pod',
    async () => (await podsOf('waits', 'build'))[0],
    60,
  );
  const image = `registry.example/agents/${namespace}/waits@sha256:${'a'.repeat(64)}`;
  const { initContainerStatuses, containerStatuses } = stagedStatus({
    succeeded: { clone: { commit: 'c'.repeat(40) }, push: { image, commit: 'c'.repeat(40) } },
  }) as { initContainerStatuses: object[]; containerStatuses: object[] };
  const mesh = {
    name: MESH,
    image: 'x',
    imageID: '',
    ready: true,
    restartCount: 0,
    state: { running: { startedAt: null } },
  };
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: pushed.metadata.name },
    { phase: 'Running', initContainerStatuses, containerStatuses: [...containerStatuses, mesh] },
  );
  await until(
    'it is built',
    async () => (await see.revision('waits-00001')).status?.imageDigest !== undefined,
    60,
  );
  await until(
    'its Job is gone',
    async () =>
      (await kube.listAll(kinds.job, { namespace, labelSelector: 'gx.dev/deployment=waits' }))
        .length === 0,
    60,
  );
});
