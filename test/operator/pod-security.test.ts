import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Builder } from '../../src/config/platform/builder.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import { desiredDeployment } from '../kit/facts.ts';
import { buildPasswordJob } from '../../src/operator/database/own/credentials/job.ts';
import { buildStagedJob } from '../../src/operator/revision/build/staged-job.ts';
import { buildRevisionWorkloads } from '../../src/operator/revision/desired.ts';
import type { RevisionTemplate } from '../../src/schema/platform/resources/custom-resources.ts';
import { names } from '../../src/schema/names.ts';
import { renderer, type Renderer } from '../charts/render.ts';
import { testNamespace } from '../kit/api-server.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../kit/objects.ts';

/*
 * A namespace enforces restricted pod security on a real API server. The server's own admission says which pods it
 * accepts.
 */
const BUILD_OF_HELM = 1_200_000;
let kube: Kube;
let namespace: string;
let render: Renderer;

beforeAll(async () => {
  ({ kube, namespace } = await testNamespace('restricted'));
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  await kube.apply(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels },
  });
  render = await renderer();
}, BUILD_OF_HELM);
afterAll(() => kube.close());

type ResourceSpec = NonNullable<RevisionTemplate['resourceSpec']>;
type Templated = {
  kind: string;
  metadata: { name: string };
  spec?: {
    template?: { metadata?: object; spec?: { volumes?: unknown; [field: string]: unknown } };
    volumeClaimTemplates?: { metadata: { name: string } }[];
  };
};

const podsAmong = (objects: Templated[]): KubeObject[] =>
  objects.flatMap(({ kind, metadata, spec }) => {
    const template = spec?.template;
    if (template?.spec === undefined) return [];
    // A set adds these to its pods.
    const claims = (spec?.volumeClaimTemplates ?? []).map((claim) => ({
      name: claim.metadata.name,
      persistentVolumeClaim: { claimName: claim.metadata.name },
    }));
    const named = {
      ...template.metadata,
      name: `${kind.toLowerCase()}-${metadata.name}`,
      namespace,
    };
    return [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: named,
        spec: {
          ...template.spec,
          volumes: [...((template.spec.volumes ?? []) as object[]), ...claims],
        },
      },
    ];
  });
const admit = (pod: KubeObject): Promise<KubeObject> =>
  kube.create(kinds.pod, pod, { dryRun: true });
const admitAll = async (pods: KubeObject[]): Promise<void> => {
  for (const pod of pods) await expect(admit(pod)).resolves.toMatchObject({ kind: 'Pod' });
};

function ofDeployment(template: Partial<RevisionTemplate>): Templated[] {
  const one = deployment({ template });
  const [from, to] = [
    { secret: 'chat-db', number: 0 },
    { secret: 'chat-db-1', number: 1 },
  ];
  const given = {
    wish: { api: 2, queue: 1 },
    secretName: 'mine',
    address: { secretName: 'chat-db', key: 'uri', authority: 'chat-db-tls' },
  };
  return [
    ...desiredDeployment(one, settings(), { active: 'chat-00001' }),
    ...buildRevisionWorkloads(revision(one), given, settings()),
    ...(['set', 'retire'] as const).map((task) =>
      buildPasswordJob(one, { task, from, to }, settings()),
    ),
  ] as Templated[];
}

describe('it takes', () => {
  const bare = { name: 'bare', image: 'proxy:1' };
  test.each<[string, ResourceSpec]>([
    ['defaults', {}],
    [
      'containers and volumes of its user',
      {
        sidecars: [bare, { ...bare, name: 'native', restartPolicy: 'Always' }],
        initContainers: [{ ...bare, name: 'first' }],
        volumes: [{ name: 'cache', emptyDir: {} }],
        volumeMounts: [{ name: 'cache', mountPath: '/cache' }],
        serviceAccountName: 'theirs',
        imagePullSecrets: [{ name: 'registry' }],
      },
    ],
  ])(
    'every pod of a deployment with %s: agents, database, and those that change a password',
    async (_, resourceSpec) => {
      const pods = podsAmong(ofDeployment({ resourceSpec }));
      expect(pods.map(({ metadata }) => metadata.name)).toEqual([
        'statefulset-chat-db',
        'deployment-chat-00001-api',
        'deployment-chat-00001-queue',
        'job-chat-db-set-1',
        'job-chat-db-retire-1',
      ]);
      await admitAll(pods);
    },
  );

  const withAll = {
    registrySecretName: 'registry',
    serviceAccountName: 'builder',
    caConfigMapName: 'authorities',
    indexSecretName: 'indexes',
  };
  test.each<[string, Partial<Builder>]>([
    ['as little as it takes', {}],
    ['all that an installation may give it', withAll],
  ])('the pod that builds a revision from its repository, with %s', async (_, given) => {
    const one = revision(deployment(fromGit('main')));
    const source = { insecureGit: false, tenant: 'a', credentialSecret: 'repository' };
    const pods = podsAmong([
      buildStagedJob(one, source, { ...settings(), builder: { ...BUILDER, ...given } }),
    ] as Templated[]);
    expect(pods.map(({ metadata }) => metadata.name)).toEqual([
      `job-${names.stagedBuild('chat-00001', one.metadata.uid ?? '')}`,
    ]);
    await admitAll(pods);
  });

  const installed = ['console', 'control-plane', 'gateway', 'operator'].map(
    (name) => `deployment-gx-${name}`,
  );

  test('the operator, the control plane, the console and the gateway, as the chart makes them', async () => {
    for (const values of [
      {},
      {
        watchAllNamespaces: true,
        images: { pullSecrets: ['registry'] },
        operator: { replicas: 2 },
      },
    ]) {
      const pods = podsAmong(await render.chart(values));
      expect(pods.map(({ metadata }) => metadata.name).sort()).toEqual(installed);
      await admitAll(pods);
    }
  });

  test.each(['config/default', 'config/all-namespaces', 'config/oidc'])(
    'what %s makes',
    async (folder) => {
      const pods = podsAmong(await render.kustomize(folder));
      expect(pods.map(({ metadata }) => metadata.name).sort()).toEqual(installed);
      await admitAll(pods);
    },
  );
});

describe('it refuses', () => {
  test.each<[string, ResourceSpec]>([
    [
      'a privileged sidecar',
      { sidecars: [{ name: 'root', image: 'root:1', securityContext: { privileged: true } }] },
    ],
    [
      'a sidecar with a capability',
      {
        sidecars: [
          {
            name: 'net',
            image: 'net:1',
            securityContext: { capabilities: { add: ['NET_ADMIN'] } },
          },
        ],
      },
    ],
    [
      'an init container that runs as root',
      { initContainers: [{ name: 'root', image: 'root:1', securityContext: { runAsUser: 0 } }] },
    ],
  ])('%s, whoever let it into the spec', async (_, resourceSpec) => {
    const [api] = podsAmong(ofDeployment({ resourceSpec })).filter(({ metadata }) =>
      metadata.name.endsWith('-api'),
    );
    await expect(admit(api as KubeObject)).rejects.toThrow(/violates PodSecurity "restricted/);
  });
});
