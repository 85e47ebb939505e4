import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { idOf, renderer } from '../charts/render.ts';
import { digestFor } from '../kit/fake-kubelet.ts';
import { startGitHttp, type GitHttp } from '../kit/git-http.ts';
import { BUILDER, fromGit, newDeployment } from '../kit/objects.ts';
import { bindings, policies } from '../kit/policy.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { stagedStatus } from '../kit/status-of-stages.ts';
import { until } from '../kit/until.ts';

/* Builds that go on with BuildKit, in a second namespace that takes no other pods. The test reports what stages do. */
const ID = '44444444-4444-4444-8444-444444444444';
const DIGEST = digestFor('built');
const IMAGE = 'registry.example/gx-buildkit:1';
const NEEDS = { reason: 'NeedsDockerfile', message: '"dockerfile_lines" needs BuildKit.' };
let git: GitHttp;
let stage: Stage;
let kube: Kube;
let namespace: string;
let builds: Stage;
let buildkit: Stage;
let head: string;
let removePolicy: () => Promise<void>;

beforeAll(async () => {
  git = await startGitHttp();
  head = git.push('main');
  stage = await openStage('buildkit-agents');
  builds = await openStage('buildkit-first');
  buildkit = await openStage('buildkit-second');
  ({ kube, namespace } = stage);
  stage.startKubelet();
  const listener = {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace },
  };
  await kube.create(kinds.listener, {
    ...listener,
    spec: { computeId: 'test', namespaces: [namespace] },
  });
  await kube.create(kinds.gitIntegration, {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: 'local', namespace },
    spec: { id: ID, name: 'local', kind: 'generic', host: git.url, repositories: ['team/*'] },
  });
  const account = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'gx-build', namespace: buildkit.namespace },
  };
  await kube.create(serviceAccounts, account);
  const docker = {
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': '{"auths":{}}' },
  };
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'push', namespace: builds.namespace },
    ...docker,
  });
  removePolicy = await installPolicy();
  const places = {
    namespace: builds.namespace,
    buildkit: { namespace: buildkit.namespace, image: IMAGE },
  };
  const builder = {
    ...BUILDER,
    ...places,
    serviceAccountName: 'gx-build',
    registrySecretName: 'push',
  };
  await stage.startOperator({ settings: { builder, gitHosts: [git.url] } });
}, 1_200_000);
afterAll(async () => {
  await removePolicy();
  await stage.stop();
  await builds.stop();
  await buildkit.stop();
  await git.stop();
});

const serviceAccounts: Kind = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};
/** Applies the chart's own policy to the second namespace, and waits until it is obeyed. */
async function installPolicy(): Promise<() => Promise<void>> {
  const { chart } = await renderer();
  const objects = (await chart({
    images: { buildkit: { registry: 'registry.example', repository: 'gx-buildkit', tag: '1' } },
    builds: {
      registry: 'registry.example/x',
      buildkit: { enabled: true, namespace: buildkit.namespace },
    },
  })) as unknown as KubeObject[];
  const find = (id: string): KubeObject => objects.find((object) => idOf(object as never) === id)!;
  const [rule, bound] = [
    find('ValidatingAdmissionPolicy/gx-buildkit.gx-system'),
    find('ValidatingAdmissionPolicyBinding/gx-buildkit.gx-system'),
  ];
  await kube.apply(policies, rule);
  await kube.apply(bindings, bound);
  await until('the policy is obeyed', () =>
    kube.create(kinds.pod, podOf({}), { dryRun: true }).then(
      () => false,
      (error: Error) => error.message.includes('ValidatingAdmissionPolicy'),
    ),
  );
  return async () => {
    await kube.delete(bindings, bound.metadata);
    await kube.delete(policies, rule.metadata);
  };
}

const podOf = (spec: object): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'tried', namespace: buildkit.namespace },
  spec: { containers: [{ name: 'build', image: 'x' }], ...spec },
});

const apply = (name: string) =>
  kube.create(
    kinds.deployment,
    newDeployment(
      namespace,
      fromGit('main', {
        metadata: { name },
        spec: {
          source: 'git',
          sourceConfig: { integrationId: ID, repoUrl: `${git.url}/team/chat` },
        },
      }),
    ),
  );
const of = (kind: Kind, name: string, where: Stage): Promise<KubeObject[]> =>
  kube.listAll(kind, {
    namespace: where.namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component=build`,
  });
const podIn = async (name: string, where: Stage): Promise<KubeObject> => {
  await until(
    `the build of ${name} has a pod`,
    async () => (await of(kinds.pod, name, where)).length === 1,
  );
  return (await of(kinds.pod, name, where))[0]!;
};
const tell = async (name: string, where: Stage, status: object): Promise<void> => {
  const { metadata } = await podIn(name, where);
  await kube.patchStatus(kinds.pod, { namespace: where.namespace, name: metadata.name }, status);
};
const remove = async (name: string): Promise<void> => {
  await kube.delete(kinds.deployment, { namespace, name });
  await until(
    `${name} is gone`,
    async () => (await kube.find(kinds.deployment, { namespace, name })) === undefined,
  );
};

test('a build that needs a Dockerfile goes on in the second namespace, at the same commit, and takes all of it along', async () => {
  await apply('lines');
  await tell('lines', builds, stagedStatus({ failed: 'restore', message: JSON.stringify(NEEDS) }));
  const { spec } = await podIn('lines', buildkit);
  expect(spec).toMatchObject({
    hostUsers: false,
    automountServiceAccountToken: false,
    serviceAccountName: 'gx-build',
  });
  expect((await stage.see.revision('lines-00001')).status).toMatchObject({
    buildsWith: 'buildkit',
    commitSha: head,
  });
  const [secret] = await of(kinds.secret, 'lines', buildkit);
  expect(secret?.type).toBe('Opaque');
  git.push('main');
  const image = `registry.example/agents/${namespace}/lines@${DIGEST}`;
  const push = { image, commit: head, digest: DIGEST, builder: '1.0.0' };
  await tell('lines', buildkit, stagedStatus({ succeeded: { clone: { commit: head }, push } }));
  await stage.see.untilPhase('lines-00001', 'DEPLOYED');
  expect((await stage.see.revision('lines-00001')).status).toMatchObject({
    image,
    commitSha: head,
  });
  await remove('lines');
  await until(
    'nothing is left',
    async () =>
      (
        await Promise.all(
          [kinds.job, kinds.secret].flatMap((kind) => [
            of(kind, 'lines', builds),
            of(kind, 'lines', buildkit),
          ]),
        )
      ).flat().length === 0,
  );
});

describe('where no node can give a pod users of its own', () => {
  test('the build has failed before anything of it starts', async () => {
    await apply('off');
    await podIn('off', builds);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'without-users' } };
    await kube.create(kinds.node, node);
    try {
      const conditions = [
        {
          type: 'Ready',
          status: 'True',
          lastHeartbeatTime: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
        },
      ];
      await kube.patchStatus(
        kinds.node,
        { name: 'without-users' },
        { conditions, runtimeHandlers: [{ name: '', features: {} }] },
      );
      await tell(
        'off',
        builds,
        stagedStatus({ failed: 'restore', message: JSON.stringify(NEEDS) }),
      );
      await stage.see.untilPhase('off-00001', 'BUILD_FAILED');
      expect((await stage.see.revision('off-00001')).status).toMatchObject({
        reason: 'UserNamespacesOff',
        message: expect.stringContaining('hostUsers: false'),
      });
      expect(await of(kinds.job, 'off', buildkit)).toEqual([]);
    } finally {
      await kube.delete(kinds.node, { name: 'without-users' });
    }
    await remove('off');
  });
});

describe('the policy of the second namespace', () => {
  type Container = {
    name: string;
    securityContext?: object;
    volumeMounts?: object[];
    env?: object[];
  };
  type Spec = { containers: Container[]; initContainers: Container[]; volumes: object[] };

  /** Returns the spec of a pod that was taken, as it was asked for. */
  async function right(): Promise<Spec> {
    await apply('shape');
    await tell(
      'shape',
      builds,
      stagedStatus({ failed: 'restore', message: JSON.stringify(NEEDS) }),
    );
    await podIn('shape', buildkit);
    const [job] = await of(kinds.job, 'shape', buildkit);
    return (job!.spec as { template: { spec: Spec } }).template.spec;
  }
  let shape: Spec;
  beforeAll(async () => {
    shape = await right();
  }, 600_000);
  afterAll(() => remove('shape'));

  const tried = (spec: object): Promise<KubeObject> =>
    kube.create(kinds.pod, podOf({ ...spec, tolerations: undefined }), { dryRun: true });
  const build = (change: object) => ({
    initContainers: shape.initContainers.map((one) =>
      one.name === 'build' ? { ...one, ...change } : one,
    ),
  });
  const others = (change: object) => ({
    containers: shape.containers.map((one) => ({ ...one, ...change })),
  });

  // Kubernetes itself refuses a whole /proc to the users of the node, before it asks a policy.
  const plain = () => build({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } });

  test('takes the pods of builds', async () => {
    expect((await tried(shape)).spec).toMatchObject({ hostUsers: false });
  });

  test.each<[string, () => object]>([
    ['the users of the node', () => ({ ...plain(), hostUsers: undefined })],
    ['the network of the node', () => ({ ...plain(), hostNetwork: true, hostUsers: undefined })],
    ['processes that all containers see', () => ({ shareProcessNamespace: true })],
    [
      'files of the node',
      () => ({ volumes: [...shape.volumes, { name: 'host', hostPath: { path: '/' } }] }),
    ],
    [
      'a token in a volume',
      () => ({
        volumes: [
          ...shape.volumes,
          { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
        ],
      }),
    ],
    ['a token', () => ({ automountServiceAccountToken: true })],
    ['another account', () => ({ serviceAccountName: 'default' })],
    ['another image', () => others({ image: 'docker.io/library/busybox' })],
    [
      'a container besides',
      () => ({ containers: [...shape.containers, { name: 'more', image: IMAGE }] }),
    ],
    ['a privileged build', () => build({ securityContext: { privileged: true } })],
    [
      'a build with further capabilities',
      () => build({ securityContext: { capabilities: { add: ['NET_ADMIN'] } } }),
    ],
    [
      'a build that sees the push credential',
      () => build({ volumeMounts: [{ name: 'registry', mountPath: '/gx/registry' }] }),
    ],
    [
      'a build that writes what the push believes',
      () => build({ volumeMounts: [{ name: 'kept', mountPath: '/gx/kept' }] }),
    ],
    [
      'a build that sees a Secret in its environment',
      () => build({ envFrom: [{ secretRef: { name: 'push' } }] }),
    ],
    [
      'a push as root',
      () => others({ securityContext: { runAsUser: 0, allowPrivilegeEscalation: false } }),
    ],
    [
      'a push without a filter of system calls',
      () =>
        others({
          securityContext: {
            allowPrivilegeEscalation: false,
            seccompProfile: { type: 'Unconfined' },
          },
        }),
    ],
  ])('refuses %s', async (_what, change) => {
    await expect(tried({ ...shape, ...change() })).rejects.toThrow(/ValidatingAdmissionPolicy/);
  });
});
