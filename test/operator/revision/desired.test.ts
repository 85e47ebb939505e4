import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { desiredRevision } from '../../../src/operator/revision/desired.ts';
import type { OperatorSettings } from '../../../src/config/operator.ts';
import type { DeploymentSpec } from '../../../src/schema/custom-resources.ts';
import { names } from '../../../src/schema/names.ts';
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
  initContainers: [{ name: 'fetch', image: 'fetch:1', command: ['fetch'], env: [{ name: 'A', value: 'b' }] }],
  sidecars: [
    { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always', securityContext: { runAsUser: 20000 } },
    { name: 'tail', image: 'tail:1', args: ['-f'], resources: { limits: { cpu: '0.5' }, requests: null } },
  ],
  dbMaxConnections: 50,
};

const RESTORED = '33333333-3333-4333-8333-333333333333';

type Case = {
  resourceSpec?: ResourceSpec;
  secretName?: string;
  deploymentId?: string;
  wish: { api?: number; queue?: number };
  otlp?: OperatorSettings['otlp'];
};
const cases: [string, Case][] = [
  ['defaults', { wish: { api: 1, queue: 1 } }],
  ['every-field', { resourceSpec: full, secretName: 'chat-env-12345678', wish: { api: 2, queue: 3 } }],
  ['api-first', { wish: { api: 1 } }],
  ['scaled-down', { wish: { api: 0, queue: 0 } }],
  ['traced', { wish: { api: 1, queue: 1 }, otlp: { endpoint: 'http://collector.observability:4318', headersSecret: 'otlp' } }],
  ['traced-restored', { wish: { api: 1 }, deploymentId: RESTORED, otlp: { endpoint: 'http://collector.observability:4318' } }],
];

test.each(cases)('the objects of a revision: %s', async (name, { resourceSpec, secretName, deploymentId, wish, otlp }) => {
  const of = deployment({ template: { ...(resourceSpec && { resourceSpec }) } });
  const given = { wish, secretName, deploymentId, address: { secretName: names.databaseSecret('chat', UID), key: 'uri' } };
  const yaml = desiredRevision(revision(of), given, settings({ ...(otlp && { otlp }) }))
    .map((object) => stringify(object, { aliasDuplicateObjects: false }))
    .join('---\n');
  await expect(yaml).toMatchFileSnapshot(`../../golden/revision/${name}.yaml`);
});

test('a user can not take over labels that select', () => {
  const [api] = desiredRevision(
    revision(deployment({ template: { resourceSpec: full } })),
    { wish: { api: 1 }, secretName: undefined, address: { secretName: 'db', key: 'uri' } },
    settings(),
  );
  expect(api?.metadata.labels).toMatchObject({ team: 'research', 'gx.dev/component': 'api' });
});

test('a revision that is out keeps its pods when a setting of the operator changes, one that rolls out does not', () => {
  const given = { wish: { api: 1 }, secretName: undefined, address: { secretName: 'db', key: 'uri' } };
  const [live] = desiredRevision(revision(), given, settings());
  const more = { ...given, live: { api: live } };
  const image = (object: unknown): string => JSON.stringify((object as { spec: { template: object } }).spec.template);
  const out = desiredRevision(revision(deployment(), { status: { phase: 'DEPLOYED' } }), more, settings({ drainSeconds: 5 }));
  expect(image(out[0])).toBe(image(live));
  expect(image(desiredRevision(revision(), more, settings({ drainSeconds: 5 }))[0])).not.toBe(image(live));
});

test('pods of a revision that is out are replaced when the database has another address, and nothing else of them changes', () => {
  const given = { wish: { api: 1 }, secretName: undefined, address: { secretName: 'db', key: 'uri' } };
  const [live] = desiredRevision(revision(), given, settings());
  const next = { ...given, address: { secretName: 'db', key: 'uri', version: '7' }, live: { api: live } };
  const out = revision(deployment(), { status: { phase: 'DEPLOYED' } });
  const [same, moved, other] = [
    { ...next, address: given.address },
    next,
    { ...next, address: { secretName: 'db-2', key: 'address' } },
  ].map((wanted) => templateOf(desiredRevision(out, wanted, settings({ drainSeconds: 5 }))[0]));
  expect(same).toBe(templateOf(live));
  expect(moved).toBe(templateOf(live).replace('"db/uri/"', '"db/uri/7"'));
  const ref = templateOf(live)
    .replace('"db/uri/"', '"db-2/address/"')
    .replace('{"name":"db","key":"uri"}', '{"name":"db-2","key":"address"}');
  expect(other).toBe(ref);
});

const templateOf = (object: unknown): string => JSON.stringify((object as { spec: { template: object } }).spec.template);
