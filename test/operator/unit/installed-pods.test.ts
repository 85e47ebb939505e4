import { describe, expect, test } from 'vitest';
import {
  readOperatorConfig,
  type OperatorSettings,
} from '../../../src/config/platform/operator.ts';
import { buildPasswordJob } from '../../../src/operator/database/own/credentials/job.ts';
import { buildDatabaseSet } from '../../../src/operator/database/own/set.ts';
import { buildStagedJob } from '../../../src/operator/revision/build/staged-job.ts';
import { buildWorkload } from '../../../src/operator/revision/objects/workload.ts';
import { buildStoreObjects } from '../../../src/operator/store/desired.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../../kit/objects.ts';

/* The settings of an installation about all pods that the operator makes: credentials to pull images, and places. */

type Pod = { imagePullSecrets?: { name: string }[]; [field: string]: unknown };
type Templated = { spec: { template: { spec: Pod } } };

const CREDENTIAL = { number: 1, secret: 's' } as never;
const WISH = {
  component: 'api',
  replicas: 1,
  secretName: undefined,
  connections: 10,
  deploymentId: 'd',
  image: 'i',
} as const;

/** Returns each pod of a deployment and of a build, by what it is for. */
function podsWith(
  given: Partial<OperatorSettings>,
  resourceSpec: object = {},
): [purpose: string, pod: Pod][] {
  const [asked, all] = [
    deployment({ template: { resourceSpec: { redisMemoryMb: 64, ...resourceSpec } } }),
    settings(given),
  ];
  const address = { secretName: 's', key: 'uri', state: 'x' } as never;
  const source = { insecureGit: false, tenant: 'a' };
  const built = revision(deployment(fromGit('main')));
  const objects = {
    agent: buildWorkload(revision(asked), { ...WISH, address }, all),
    'built agent': buildWorkload(built, { ...WISH, address }, all),
    database: buildDatabaseSet(asked, all, {}),
    password: buildPasswordJob(asked, { task: 'retire', from: CREDENTIAL, to: CREDENTIAL }, all),
    store: buildStoreObjects({
      deployment: asked,
      settings: all,
      isAsleep: false,
      children: [],
    }).find(({ kind }) => kind === 'StatefulSet'),
    build: buildStagedJob(built, source, { ...all, builder: all.builder ?? BUILDER }),
  };
  return Object.entries(objects).map(([purpose, object]) => [
    purpose,
    (object as unknown as Templated).spec.template.spec,
  ]);
}

describe('credentials to pull images', () => {
  const pulling = (given: Partial<OperatorSettings>, resourceSpec?: object) =>
    Object.fromEntries(
      podsWith(given, resourceSpec).map(([purpose, pod]) => [
        purpose,
        pod.imagePullSecrets?.map(({ name }) => name),
      ]),
    );

  test('are those of every pod that the operator makes', () => {
    const none = {
      agent: undefined,
      'built agent': undefined,
      database: undefined,
      password: undefined,
      store: undefined,
      build: undefined,
    };
    expect(pulling({})).toEqual(none);
    const all = Object.fromEntries(
      Object.keys(none).map((purpose) => [purpose, ['mirror', 'second']]),
    );
    expect(pulling({ imagePullSecrets: ['mirror', 'second'] })).toEqual(all);
  });

  test('stand behind those of the deployment and of builds, each once', () => {
    const builder = { ...BUILDER, registrySecretName: 'push', pullSecretName: 'pull' };
    const own = { imagePullSecrets: [{ name: 'own' }, { name: 'mirror' }] };
    const ofDeployment = ['own', 'mirror', 'second'];
    expect(pulling({ imagePullSecrets: ['mirror', 'second'], builder }, own)).toEqual({
      agent: ofDeployment,
      'built agent': ['pull', 'mirror', 'second'],
      database: ofDeployment,
      password: ofDeployment,
      store: ofDeployment,
      build: ['push', 'mirror', 'second'],
    });
  });
});

describe('credentials of accounts', () => {
  const findAccountSecrets = (namespace: string, account: string) => [
    { name: `${namespace}.${account}` },
  ];
  const pulling = (given: Partial<OperatorSettings>, resourceSpec?: object) =>
    Object.fromEntries(
      podsWith({ ...given, findAccountSecrets }, resourceSpec).map(([purpose, pod]) => [
        purpose,
        pod.imagePullSecrets?.map(({ name }) => name).join(' '),
      ]),
    );

  test('come before those of the installation, of the account that each pod has', () => {
    const home = revision(deployment()).metadata.namespace;
    const builder = { ...BUILDER, namespace: 'builds', serviceAccountName: 'builder' };
    const given = { imagePullSecrets: ['mirror'], builder };
    expect(pulling(given, { serviceAccountName: 'robot' })).toEqual({
      agent: `${home}.robot mirror`,
      'built agent': `${home}.default mirror`,
      database: `${home}.default mirror`,
      password: `${home}.default mirror`,
      store: `${home}.default mirror`,
      build: 'builds.builder mirror',
    });
  });

  // As it is in each pod of Kubernetes.
  test('are hidden by those that a deployment names', () => {
    const { agent } = pulling(
      { imagePullSecrets: ['mirror'] },
      { imagePullSecrets: [{ name: 'own' }] },
    );
    expect(agent).toBe('own mirror');
  });

  test('are left to Kubernetes where the installation has none', () => {
    expect(Object.values(pulling({})).filter((names) => names !== undefined)).toEqual([]);
  });
});

describe('users and groups', () => {
  type Security = {
    runAsUser?: number;
    runAsGroup?: number;
    fsGroup?: number;
    runAsNonRoot?: boolean;
  };
  const idsWith = (env: Record<string, string>) => {
    const { fixedIds } = readOperatorConfig(env).settings;
    const idsIn = ({ securityContext }: Pod) => {
      const { runAsUser, runAsGroup, fsGroup, runAsNonRoot } = securityContext as Security;
      return [runAsUser, runAsGroup, fsGroup, runAsNonRoot];
    };
    return Object.fromEntries(
      podsWith({ fixedIds }).map(([purpose, pod]) => [purpose, idsIn(pod)]),
    );
  };

  test('are those of the image, and those of the namespace where the cluster gives ids', () => {
    const [node, postgres] = [10001, 26].map((id) => [id, id, id, true]);
    const images = {
      agent: node,
      'built agent': node,
      database: postgres,
      password: postgres,
      store: node,
      build: node,
    };
    expect(idsWith({})).toEqual(images);
    const none = Object.fromEntries(
      Object.keys(images).map((purpose) => [purpose, [undefined, undefined, undefined, true]]),
    );
    expect(idsWith({ GX_FIXED_IDS: 'false' })).toEqual(none);
  });
});

describe('images for one kind of processors', () => {
  const nodesOf = (given: Partial<OperatorSettings>) =>
    Object.fromEntries(podsWith(given).map(([purpose, pod]) => [purpose, pod.nodeSelector]));

  test('keep the pods with them on such nodes, and with them the images that builds make', () => {
    const arm = { 'kubernetes.io/arch': 'arm64' };
    const { placement } = readOperatorConfig({
      GX_PLACEMENT: JSON.stringify({
        databases: { nodeSelector: { disk: 'fast' } },
        stores: { nodeSelector: { 'kubernetes.io/arch': 'amd64' } },
      }),
    }).settings;
    expect(nodesOf({ imageArchitecture: 'arm64', placement })).toEqual({
      // A user's own image is for the processors that its user knows, and a built one for those of its build.
      agent: undefined,
      'built agent': undefined,
      database: { ...arm, disk: 'fast' },
      password: { ...arm, disk: 'fast' },
      store: { 'kubernetes.io/arch': 'amd64' },
      build: arm,
    });
  });
});

describe('places', () => {
  const FIELDS = [
    'nodeSelector',
    'tolerations',
    'affinity',
    'priorityClassName',
    'runtimeClassName',
    'topologySpreadConstraints',
  ];
  const placesWith = (GX_PLACEMENT: object) => {
    const { placement } = readOperatorConfig({
      GX_PLACEMENT: JSON.stringify(GX_PLACEMENT),
    }).settings;
    const placeOf = (pod: Pod) =>
      Object.fromEntries(FIELDS.flatMap((field) => (field in pod ? [[field, pod[field]]] : [])));
    return Object.fromEntries(
      podsWith({ placement }).map(([purpose, pod]) => [purpose, placeOf(pod)]),
    );
  };
  const on = (pool: string) => ({
    nodeSelector: { pool },
    tolerations: [{ key: pool, operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: pool,
    runtimeClassName: pool,
  });

  test('are those of its kind for every pod, and none by default', () => {
    const [agents, databases, stores, builds] = ['agents', 'databases', 'stores', 'builds'].map(on);
    const expected = {
      agent: agents,
      'built agent': agents,
      database: databases,
      password: databases,
      store: stores,
      build: builds,
    };
    expect(placesWith({ agents, databases, stores, builds })).toEqual(expected);
    const nowhere = Object.fromEntries(Object.keys(expected).map((purpose) => [purpose, {}]));
    expect(placesWith({})).toEqual(nowhere);
    expect(
      placesWith({ agents: { nodeSelector: {}, tolerations: [], priorityClassName: '' } }),
    ).toEqual(nowhere);
  });

  test('of agents spread the pods of a workload, unless a constraint says which', () => {
    const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' };
    const own = { ...constraint, labelSelector: { matchLabels: { team: 'a' } } };
    const { agent } = placesWith({ agents: { topologySpreadConstraints: [constraint, own] } });
    const labels = {
      'gx.dev/deployment': 'chat',
      'gx.dev/component': 'api',
      'gx.dev/revision': 'chat-00001',
    };
    const matchLabels = expect.objectContaining(labels) as object;
    expect(agent).toEqual({
      topologySpreadConstraints: [{ ...constraint, labelSelector: { matchLabels } }, own],
    });
  });

  test.each([
    ['[]', 'GX_PLACEMENT must be an object in JSON'],
    ['{"pods":{}}', 'GX_PLACEMENT pods is none of agents, databases, stores, builds'],
    ['{"agents":[]}', 'GX_PLACEMENT agents must be an object'],
    ['{"agents":{"nodeName":"a"}}', 'GX_PLACEMENT agents.nodeName is not a field of it'],
    ['{"builds":{"nodeSelector":{"disk":1}}}', 'GX_PLACEMENT builds.nodeSelector is wrong'],
    [
      '{"databases":{"topologySpreadConstraints":[]}}',
      'GX_PLACEMENT databases.topologySpreadConstraints is not a field of it',
    ],
  ])('%s ends the start with a sentence', (GX_PLACEMENT, sentence) => {
    expect(() => readOperatorConfig({ GX_PLACEMENT })).toThrow(sentence);
  });
});
