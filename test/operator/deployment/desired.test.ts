import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { desiredDeployment } from '../../kit/facts.ts';
import {
  buildAdminCredential,
  buildDatabaseCredential,
} from '../../../src/operator/database/own/credentials/secret.ts';
import {
  buildEffectlessConditions,
  listEffectlessFields,
} from '../../../src/operator/deployment/parts/without-effect.ts';
import { buildPasswordJob } from '../../../src/operator/database/own/credentials/job.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { isAsIntended, addIntentHash } from '../../../src/operator/kernel/owned.ts';
import { formatDifference } from '../../kit/line-difference.ts';
import { buildStandIn } from '../../kit/stand-in.ts';
import { deployment, settings } from '../../kit/objects.ts';

type ResourceSpec = NonNullable<DeploymentResource['spec']['template']['resourceSpec']>;

const yaml = (objects: object[]): string =>
  objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join('---\n');

const bigger = {
  resourceSpec: {
    dbCpu: 2,
    dbMemoryMb: 4096,
    dbMemoryLimitMb: 4096,
    dbStorageGi: 50,
    dbMaxConnections: 300,
  },
};

const yamlOf = (
  given: DeploymentResource,
  more: Parameters<typeof settings>[0],
  world: Parameters<typeof desiredDeployment>[2],
): string => yaml(desiredDeployment(given, settings(more), world));

test('the objects of a deployment', async () => {
  await expect(yamlOf(deployment(), {}, {})).toMatchFileSnapshot(
    '../../golden/database/defaults.yaml',
  );
});

test.each([
  ['sized', deployment({ template: bigger }), { storageClass: 'fast' }, { active: 'chat-00002' }],
  [
    'node-port',
    deployment({ metadata: { annotations: { 'gx.dev/node-port': '30080' } } }),
    { exposeAs: 'NodePort' as const },
    {},
  ],
  [
    'kept-from-drains',
    deployment({
      spec: { database: { podDisruptionBudget: true } },
      template: { resourceSpec: { minScale: 2 } },
    }),
    {},
    { active: 'chat-00002' },
  ],
  [
    'placed',
    deployment({
      spec: {
        database: {
          placement: { nodeSelector: { pool: 'fast' }, runtimeClassName: 'kata' },
          storageClass: 'nvme',
        },
      },
    }),
    { storageClass: 'fast' },
    {},
  ],
  ['with-store', deployment({ template: { resourceSpec: { redisMemoryMb: 256 } } }), {}, {}],
  [
    'long-name',
    deployment({ metadata: { name: `${'a-very-long-name-'.repeat(3)}of-63-letters` } }),
    {},
    {},
  ],
])('the objects of a deployment differ: %s', async (name, given, more, world) => {
  const difference = formatDifference(yamlOf(deployment(), {}, {}), yamlOf(given, more, world));
  await expect(difference).toMatchFileSnapshot(`../../golden/database/${name}.diff`);
});

test('credentials have no owner, so that they live as long as the volume', async () => {
  const random = (bytes: number): Buffer => Buffer.alloc(bytes, 7);
  const secrets = [
    buildDatabaseCredential(deployment(), settings(), {
      random,
      number: 1,
      requestedAt: '2026-01-05T00:00:00Z',
    }),
    buildAdminCredential(deployment(), settings(), { random }),
  ];
  for (const secret of secrets) expect(secret.metadata).not.toHaveProperty('ownerReferences');
  await expect(yaml(secrets)).toMatchFileSnapshot('../../golden/database/credential.yaml');
});

describe('storage of a database that is there', () => {
  const live = desiredDeployment(deployment(), settings(), {}).find(
    ({ kind }) => kind === 'StatefulSet',
  );

  test('keeps the claim of the live database', () => {
    const wanted = deployment({ template: { resourceSpec: { dbStorageGi: 4 } } });
    const set = desiredDeployment(wanted, settings(), { database: live }).find(
      ({ kind }) => kind === 'StatefulSet',
    );
    expect(JSON.stringify(set)).toContain('"storage":"10Gi"');
  });

  test('the live database equals itself: nothing is written', () => {
    const again = desiredDeployment(deployment(), settings(), { database: live }).find(
      ({ kind }) => kind === 'StatefulSet',
    );
    expect(live && again && isAsIntended(again, addIntentHash(live))).toBe(true);
  });
});

test('fields whose function is not built yet are named', () => {
  const given = deployment({
    template: { resourceSpec: { minScale: 1, maxScale: 3, redisMemoryMb: 64 } },
  });
  expect(listEffectlessFields(given, settings(), [])).toEqual(['queueMaxScale']);
  expect(listEffectlessFields(deployment(), settings(), [])).toEqual([]);
});

test('without a gateway it is said that nobody reports of the server, beside the fields', () => {
  const gateway = { service: 'gateway', namespace: 'gx' };
  expect(buildEffectlessConditions([], buildStandIn({ gateway }))).toEqual([]);
  expect(buildEffectlessConditions([], buildStandIn({}))).toMatchObject([
    { status: 'True', reason: 'NoGateway', message: expect.stringContaining('version') },
  ]);
  const [url] = buildEffectlessConditions(
    [],
    buildStandIn({ gateway, customUrl: 'https://agents.example.com' }),
  );
  expect(url).toMatchObject({
    reason: 'NoRoutes',
    message: expect.stringContaining('sourceConfig.customUrl is shown as the URL'),
  });
  const [both] = buildEffectlessConditions(['queueMaxScale'], buildStandIn({}));
  expect(both).toMatchObject({
    reason: 'NotBuiltYet',
    message: expect.stringMatching(/queueMaxScale\. No gateway is installed/),
  });
});

test('sizes of an orchestrator and of executors are named, and so is a way to restart that Kubernetes does not have', () => {
  const once = (name: string) => [{ name, image: 'tool:1', restartPolicy: 'OnFailure' as const }];
  const always = [{ name: 'proxy', image: 'tool:1', restartPolicy: 'Always' as const }];
  const idle = (resourceSpec: ResourceSpec): string[] =>
    listEffectlessFields(deployment({ template: { resourceSpec } }), settings(), []);
  expect(idle({ orchestratorMinScale: 0, executorMemoryLimitMb: 512 })).toEqual([
    'orchestratorMinScale',
    'executorMemoryLimitMb',
  ]);
  expect(idle({ initContainers: once('fetch'), sidecars: always })).toEqual([]);
  expect(idle({ initContainers: always, sidecars: once('tail') })).toEqual([
    'sidecars.restartPolicy',
  ]);
});

test.each(['set', 'retire'] as const)(
  'the pod that tells the database of a password: %s',
  async (task) => {
    const [from, to] = [
      { secret: 'chat-db-1', number: 1 },
      { secret: 'chat-db-2', number: 2 },
    ];
    await expect(
      yaml([buildPasswordJob(deployment(), { task, from, to }, settings())]),
    ).toMatchFileSnapshot(`../../golden/database/${task}-password.yaml`);
  },
);
