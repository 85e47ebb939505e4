import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { desiredDeployment } from '../../kit/facts.ts';
import { buildRevisionWorkloads } from '../../../src/operator/revision/desired.ts';
import {
  resolveMinReplicas,
  resolveMaxReplicas,
  resolveWantedReplicas,
} from '../../../src/operator/rollout/replicas.ts';
import type { OperatorSettings } from '../../../src/config/platform/operator.ts';
import type { DeploymentSpec } from '../../../src/schema/platform/resources/custom-resources.ts';
import {
  ResourceSpec as Described,
  UNUSED_RESOURCE_FIELDS,
} from '../../../src/schema/platform/spec/resource-spec.ts';
import { toCamelKey } from '../../../src/schema/types.ts';
import type { DatabaseAddress } from '../../../src/operator/database/address.ts';
import type { AgentPlacement } from '../../../src/schema/platform/spec/place-spec.ts';
import { names } from '../../../src/schema/names.ts';
import { formatDifference } from '../../kit/line-difference.ts';
import { deployment, revision, settings, UID } from '../../kit/objects.ts';

type ResourceSpec = NonNullable<DeploymentSpec['template']['resourceSpec']>;

const full: ResourceSpec = {
  minScale: 2,
  maxScale: 4,
  cpu: 0.5,
  memoryMb: 512,
  memoryLimitMb: 700,
  queueMinScale: 3,
  queueCpu: 1,
  labels: { team: 'research', 'gx.dev/component': 'stolen' },
  annotations: { note: 'x' },
  serviceAccountName: 'agent',
  imagePullSecrets: [{ name: 'registry' }],
  volumes: [{ name: 'models', persistentVolumeClaim: { claimName: 'models' }, secret: null }],
  volumeMounts: [{ name: 'models', mountPath: '/models', readOnly: true, subPath: null }],
  initContainers: [
    { name: 'fetch', image: 'fetch:1', command: ['fetch'], env: [{ name: 'A', value: 'b' }] },
  ],
  sidecars: [
    {
      name: 'proxy',
      image: 'proxy:1',
      restartPolicy: 'Always',
      securityContext: { runAsUser: 20000 },
    },
    {
      name: 'tail',
      image: 'tail:1',
      args: ['-f'],
      resources: { limits: { cpu: '0.5' }, requests: null },
    },
  ],
  dbMaxConnections: 50,
};

const RESTORED = '33333333-3333-4333-8333-333333333333';

type Case = {
  resourceSpec?: ResourceSpec;
  secretName?: string;
  deploymentId?: string;
  wish: { api?: number; queue?: number };
  placement?: AgentPlacement;
  otlp?: OperatorSettings['otlp'];
  authority?: string;
};
const BASES: [string, Case][] = [
  ['defaults', { wish: { api: 1, queue: 1 } }],
  ['api-first', { wish: { api: 1 } }],
];

const cases: [string, Case][] = [
  [
    'every-field',
    { resourceSpec: full, secretName: 'chat-env-12345678', wish: { api: 2, queue: 3 } },
  ],
  [
    'placed',
    {
      wish: { api: 1 },
      placement: {
        nodeSelector: { pool: 'gpu' },
        tolerations: [{ key: 'gpu', operator: 'Exists' }],
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }],
          },
        },
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' },
        ],
        priorityClassName: 'agents',
        runtimeClassName: 'gvisor',
      },
    },
  ],
  ['encrypted', { resourceSpec: full, wish: { api: 1 }, authority: names.databaseTls('chat') }],
  ['scaled-down', { wish: { api: 0, queue: 0 } }],
  [
    'traced',
    {
      wish: { api: 1, queue: 1 },
      otlp: { endpoint: 'http://collector.observability:4318', headersSecret: 'otlp' },
    },
  ],
  [
    'traced-restored',
    {
      wish: { api: 1 },
      deploymentId: RESTORED,
      otlp: { endpoint: 'http://collector.observability:4318' },
    },
  ],
];

function yamlOf({
  resourceSpec,
  secretName,
  deploymentId,
  wish,
  otlp,
  authority,
  placement,
}: Case): string {
  const asked = placement && { sourceRevisionConfig: { imageUri: 'agent:1', placement } };
  const of = deployment({ template: { ...(resourceSpec && { resourceSpec }), ...asked } });
  const address = {
    secretName: names.databaseSecret('chat', UID),
    key: 'uri',
    ...(authority !== undefined && { authority }),
  };
  const given = { wish, secretName, deploymentId, address };
  return buildRevisionWorkloads(revision(of), given, settings({ ...(otlp && { otlp }) }))
    .map((object) => stringify(object, { aliasDuplicateObjects: false }))
    .join('---\n');
}

test.each(BASES)('the objects of a revision: %s', async (name, given) => {
  await expect(yamlOf(given)).toMatchFileSnapshot(`../../golden/revision/${name}.yaml`);
});

test.each(cases)('the objects of a revision differ: %s', async (name, given) => {
  const base = { wish: given.wish.queue === undefined ? { api: 1 } : { api: 1, queue: 1 } };
  await expect(formatDifference(yamlOf(base), yamlOf(given))).toMatchFileSnapshot(
    `../../golden/revision/${name}.diff`,
  );
});

test('pods of a revision that is out are replaced when the database has another address, and nothing else of them changes', () => {
  const given = {
    wish: { api: 1 },
    secretName: undefined,
    address: { secretName: 'db', key: 'uri' },
  };
  const [live] = buildRevisionWorkloads(revision(), given, settings());
  const next = {
    ...given,
    address: { secretName: 'db', key: 'uri', version: '7' },
    live: { api: live },
  };
  const out = revision(deployment(), { status: { phase: 'DEPLOYED' } });
  const [same, moved, other] = [
    { ...next, address: given.address },
    next,
    { ...next, address: { secretName: 'db-2', key: 'address' } },
  ].map((wanted) =>
    templateOf(buildRevisionWorkloads(out, wanted, settings({ drainSeconds: 5 }))[0]),
  );
  expect(same).toBe(templateOf(live));
  expect(moved).toBe(templateOf(live).replace('"db/uri/"', '"db/uri/7"'));
  const ref = templateOf(live)
    .replace('"db/uri/"', '"db-2/address/"')
    .replace('{"name":"db","key":"uri"}', '{"name":"db-2","key":"address"}');
  expect(other).toBe(ref);
});

const templateOf = (object: unknown): string =>
  JSON.stringify((object as { spec: { template: object } }).spec.template);

const VALUES: Partial<Record<string, unknown>> = {
  labels: { a: 'b' },
  annotations: { a: 'b' },
  serviceAccountName: 'theirs',
  automountServiceAccountToken: true,
  imagePullSecrets: [{ name: 'registry' }],
  volumes: [{ name: 'cache', emptyDir: {} }],
  volumeMounts: [{ name: 'gx-tmp', mountPath: '/more' }],
  initContainers: [{ name: 'first', image: 'first:1' }],
  sidecars: [{ name: 'second', image: 'second:1' }],
};
/** Returns everything that is made for a deployment with this resource spec, as it is first made. */
function made(resourceSpec: ResourceSpec): { kind: string; spec?: unknown }[] {
  const of = deployment({ template: { resourceSpec } });
  const wish = {
    api: resolveWantedReplicas(of, 'api', settings()),
    queue: resolveWantedReplicas(of, 'queue', settings()),
  };
  const given = { wish, secretName: undefined, address: { secretName: 'db', key: 'uri' } };
  return [
    ...desiredDeployment(of, settings(), { active: 'chat-00001' }),
    ...buildRevisionWorkloads(revision(of), given, settings()),
  ];
}
/** Returns objects without the hashes of what was asked for, because those alone would show that any field changed. */
const specOf = (resourceSpec: ResourceSpec): string =>
  JSON.stringify(made(resourceSpec)).replace(/"gx.dev\/(asked|template)":"\w+"/g, '');

test.each(
  Object.keys(Described.properties)
    .filter((name) => !UNUSED_RESOURCE_FIELDS.includes(name) && name !== 'redis_memory_mb')
    .map((name) => toCamelKey(name)),
)('%s of a resource spec reaches what is made', (field) => {
  const value = VALUES[field] ?? 97;
  expect(specOf({ [field]: value })).not.toBe(specOf({}));
});

test.each<[string, ResourceSpec, string]>([
  ['cpu', { cpuLimit: 0.05 }, '"requests":{"cpu":"50m","memory":"256Mi"},"limits":{"cpu":"50m"'],
  [
    'memory',
    { memoryLimitMb: 100 },
    '"requests":{"cpu":"100m","memory":"100Mi"},"limits":{"cpu":"200m","memory":"100Mi"}',
  ],
  [
    'cpu of the queue',
    { queueCpuLimit: 0.05 },
    '"requests":{"cpu":"50m","memory":"256Mi"},"limits":{"cpu":"50m"',
  ],
  [
    'memory of the database',
    { dbMemoryLimitMb: 100 },
    '"requests":{"cpu":"100m","memory":"100Mi"},"limits":{"cpu":"200m","memory":"100Mi"}',
  ],
])('a limit alone, below the default request: %s', (_, resourceSpec, sizes) => {
  expect(JSON.stringify(made(resourceSpec))).toContain(sizes);
});

test('a greatest number of replicas alone, below the default one', () => {
  const profile = { ...settings().profile, replicas: 3 };
  const of = (resourceSpec: ResourceSpec) => deployment({ template: { resourceSpec } });
  const wanted = (resourceSpec: ResourceSpec) =>
    (['api', 'queue'] as const).map((part) =>
      resolveWantedReplicas(of(resourceSpec), part, settings({ profile })),
    );
  expect(wanted({})).toEqual([3, 3]);
  expect(wanted({ maxScale: 2 })).toEqual([2, 2]);
  expect(wanted({ queueMaxScale: 1 })).toEqual([3, 1]);
  expect(wanted({ minScale: 4, queueMaxScale: 1 })).toEqual([4, 1]);
});

test.each([
  ['dev_free', 0, 1, 'sleeps where a gateway wakes it'],
  ['dev', 1, 1, 'has one api pod'],
  ['prod', 2, 4, 'has two to four'],
] as const)(
  'a deployment from git of type %s has %i to %i api pods: it %s',
  (...[deploymentType, least, most]) => {
    const of = { spec: { source: 'git' as const, sourceConfig: { deploymentType }, template: {} } };
    const withGateway = settings({ gateway: { service: 'gateway', namespace: 'gx-system' } });
    expect([
      resolveMinReplicas(of, 'api', withGateway),
      resolveMaxReplicas(of, 'api', withGateway),
    ]).toEqual([least, most]);
    // Without a gateway nobody could wake it.
    expect(resolveWantedReplicas(of, 'api', settings())).toBe(Math.max(1, least));
  },
);

test('an init container that is to run on does so, in its place', () => {
  const initContainers = [
    { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' as const },
    { name: 'fetch', image: 'fetch:1' },
  ];
  const [api] = made({ initContainers }).filter(({ kind }) => kind === 'Deployment') as {
    spec: { template: { spec: object } };
  }[];
  expect(api?.spec.template.spec).toMatchObject({
    initContainers: [{ name: 'proxy', restartPolicy: 'Always' }, { name: 'fetch' }],
  });
});

test('a revision that is out learns of the authority of its database, and its pods are as new ones; the way back leads home', () => {
  const plain = { secretName: 'db', key: 'uri' };
  const of = deployment({ template: { resourceSpec: full } });
  const [was] = buildRevisionWorkloads(
    revision(of),
    { wish: { api: 1 }, secretName: undefined, address: plain },
    settings(),
  );
  const given = { wish: { api: 1 }, secretName: undefined, live: { api: was } };
  const out = (address: DatabaseAddress): unknown =>
    buildRevisionWorkloads(
      revision(of, { status: { phase: 'DEPLOYED' } }),
      { ...given, address },
      settings({ drainSeconds: 5 }),
    )[0];
  const encrypted = { ...plain, authority: 'chat-db-tls' };
  const [wanted] = buildRevisionWorkloads(
    revision(of),
    { ...given, address: encrypted },
    settings(),
  );
  const podSpecOf = (object: unknown): object =>
    (object as { spec: { template: { spec: object } } }).spec.template.spec;
  expect(podSpecOf(out(encrypted))).toEqual(podSpecOf(wanted));
  expect(out(plain)).toEqual(was);
  given.live.api = wanted;
  expect(podSpecOf(out(plain))).toEqual(podSpecOf(was));
  expect(podSpecOf(out(encrypted))).toEqual(podSpecOf(wanted));
});
