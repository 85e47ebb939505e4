import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

/* Where agents and databases stand, by REST: with the grant of the installation, and without it. */
let granting: Plane;
let strict: Plane;
beforeAll(async () => {
  granting = await startPlane('places', { grants: ['placement'] });
  strict = await startPlane('no-places');
});
afterAll(() => Promise.all([granting.stop(), strict.stop()]));

type Answer = Deployment & { detail: string };
const placement = {
  nodeSelector: { pool: 'gpu' },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
  ],
};
const database = { tolerations: [{ key: 'storage', operator: 'Exists' }] };
const placed = {
  source_config: { database_placement: database, storage_class: 'nvme' },
  source_revision_config: { image_uri: 'registry.example/agent:1', placement },
};
const create = (plane: Plane, parts: object = {}) =>
  plane.call<Answer>('POST', '/v2/deployments', {
    body: creation(`d-${randomUUID().slice(0, 8)}`, parts as Record<string, unknown>),
  });
const patch = (plane: Plane, id: string, body: object) =>
  plane.call<Answer>('PATCH', `/v2/deployments/${id}`, { body });
const stored = (plane: Plane, { name }: Deployment): Promise<DeploymentResource> =>
  plane.kube.get(kinds.deployment, { namespace: plane.namespace, name });

describe('with the grant', () => {
  test('places are stored where the operator reads them, and answered as they were sent', async () => {
    const { status, body } = await create(granting, placed);
    expect([status, body.detail]).toEqual([201, undefined]);
    expect(body.source_config).toMatchObject({
      database_placement: database,
      storage_class: 'nvme',
    });
    expect(body.source_revision_config.placement).toEqual(placement);
    const { spec } = await stored(granting, body);
    expect(spec.database).toEqual({ placement: database, storageClass: 'nvme' });
    expect(spec.template.sourceRevisionConfig?.placement).toEqual(placement);
    expect(spec.sourceConfig).toEqual({ listener: 'default' });
  });

  test('another place of agents makes a revision, another place of the database makes none', async () => {
    const { body: before } = await create(granting, placed);
    const moved = await patch(granting, before.id, {
      source_config: { database_placement: { nodeSelector: { disk: 'large' } } },
    });
    expect([moved.status, moved.body.latest_revision_id]).toEqual([200, before.latest_revision_id]);
    expect((await stored(granting, before)).spec.database).toEqual({
      placement: { nodeSelector: { disk: 'large' } },
      storageClass: 'nvme',
    });
    const agents = await patch(granting, before.id, { source_revision_config: { placement: {} } });
    expect(agents.body.latest_revision_id).not.toBe(before.latest_revision_id);
    const cleared = await patch(granting, before.id, { source_config: { database_placement: {} } });
    expect([cleared.status, cleared.body.source_config.database_placement]).toEqual([200, null]);
    expect((await stored(granting, before)).spec.database).toEqual({ storageClass: 'nvme' });
  });

  test('the storage class never changes', async () => {
    for (const given of [placed, {}]) {
      const { body: before } = await create(granting, given);
      const { status, body } = await patch(granting, before.id, {
        source_config: { storage_class: 'slow' },
      });
      expect([status, body.detail]).toEqual([400, "source_config.storage_class: can't be changed"]);
      expect((await stored(granting, before)).spec.database?.storageClass).toBe(
        before.source_config.storage_class ?? undefined,
      );
    }
  });

  test('a database of the user has neither', async () => {
    const secrets = [{ name: 'POSTGRES_URI_CUSTOM', value: 'postgres://db.example/agents' }];
    const { status, body } = await create(granting, { ...placed, secrets });
    expect(status).toBe(400);
    expect(body.detail).toContain('source_config.storage_class: only for a managed database');
    expect(body.detail).toContain('source_config.database_placement: only for a managed database');
  });

  test.each([
    ['a field that no pod has', { nodeName: 'a' }],
    ['an operator that no toleration has', { tolerations: [{ operator: 'Maybe' }] }],
    [
      'a spread without a topology',
      { topologySpreadConstraints: [{ maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' }] },
    ],
  ])('%s is refused by its path', async (_, wrong) => {
    const { status, body } = await create(granting, {
      source_revision_config: { image_uri: 'a:1', placement: wrong },
    });
    expect(status).toBe(422);
    expect(JSON.stringify(body.detail)).toContain('"placement"');
  });
});

describe('without the grant', () => {
  test('no place is taken, and each field is named', async () => {
    const { status, body } = await create(strict, placed);
    expect(status).toBe(400);
    for (const path of [
      'source_revision_config.placement',
      'source_config.database_placement',
      'source_config.storage_class',
    ])
      expect(body.detail).toContain(
        `${path}: not allowed here (an administrator may grant "placement")`,
      );
  });

  test('places that kubectl gave stay, also when a whole answer is sent back', async () => {
    const { body: made } = await create(strict);
    await strict.kube.patchJson(
      kinds.deployment,
      { namespace: strict.namespace, name: made.name },
      [
        { op: 'add', path: '/spec/template/sourceRevisionConfig/placement', value: placement },
        { op: 'add', path: '/spec/database', value: { placement: database } },
      ],
    );
    await expect
      .poll(
        async () =>
          (await strict.call<Answer>('GET', `/v2/deployments/${made.id}`)).body.source_config
            .database_placement,
      )
      .toEqual(database);
    const { body: shown } = await strict.call<Answer>('GET', `/v2/deployments/${made.id}`);
    const { status, body } = await patch(strict, made.id, {
      source_config: { ...shown.source_config, resource_spec: null },
      source_revision_config: {
        image_uri: 'registry.example/agent:2',
        placement: shown.source_revision_config.placement,
      },
    });
    expect([status, body.detail]).toEqual([200, undefined]);
    expect((await stored(strict, made)).spec).toMatchObject({
      database: { placement: database },
      template: { sourceRevisionConfig: { imageUri: 'registry.example/agent:2', placement } },
    });
    const other = await patch(strict, made.id, {
      source_revision_config: { placement: { tolerations: [{ operator: 'Exists' }] } },
    });
    expect([other.status, other.body.detail]).toEqual([
      400,
      expect.stringContaining('source_revision_config.placement: not allowed'),
    ]);
  });
});
