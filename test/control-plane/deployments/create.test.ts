import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NotFound } from '../../../src/errors.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type {
  Deployment,
  WrittenDeployment,
} from '../../../src/schema/platform/deployment/deployment.ts';
import { buildRevision } from '../../../src/schema/platform/resources/revision-of.ts';
import type { Revision } from '../../../src/schema/platform/deployment/revision.ts';
import { until } from '../../kit/until.ts';
import { creation, letGo, startPlane, TENANT_A, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('create');
});
afterAll(() => plane.stop());

const create = (body: unknown, query = '') =>
  plane.call<WrittenDeployment & { detail: string }>('POST', `/v2/deployments${query}`, { body });
const name = (): string => `d-${randomUUID().slice(0, 8)}`;
type Ref = { namespace: string; name: string };
type Fault = { loc: (string | number)[]; type: string };

describe('POST /v2/deployments', () => {
  test('makes a Secret, a deployment and its first revision, and answers with both ids', async () => {
    const secrets = [{ name: 'TOKEN', value: 'canary-1' }];
    const { status, body, headers } = await create(creation('first', { secrets }));
    expect([status, headers.get('etag')]).toEqual([201, `"${body.id}.1"`]);
    expect(body).toMatchObject({
      name: 'first',
      status: 'AWAITING_DATABASE',
      secrets,
      active_revision_id: null,
      tenant_id: TENANT_A,
    });
    expect((await plane.call<Deployment>('GET', `/v2/deployments/${body.id}`)).body).toEqual(body);
    const revision = await plane.call<Revision>(
      'GET',
      `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`,
    );
    expect(revision.body).toMatchObject({
      id: body.latest_revision_id,
      deployment_id: body.id,
      status: 'CREATING',
      source: 'external_container',
    });
    const stored = await plane.kube.get(kinds.deployment, {
      namespace: plane.namespace,
      name: 'first',
    });
    const secret = await plane.kube.get(kinds.secret, {
      namespace: plane.namespace,
      name: stored.spec.template.secretName ?? '',
    });
    expect(secret).toMatchObject({
      immutable: true,
      metadata: { labels: { 'gx.dev/secrets-of': 'first' } },
    });
    const all = await plane.kube.listAll(kinds.revision, {
      namespace: plane.namespace,
      labelSelector: 'gx.dev/deployment=first',
    });
    expect(
      all.map(({ metadata, spec }) => [metadata.name, metadata.uid, spec.template.secretName]),
    ).toEqual([['first-00001', body.latest_revision_id, secret.metadata.name]]);
  });

  test('makes no Secret when there are no secrets', async () => {
    const { body } = await create(creation(name()));
    const stored = await plane.kube.get(kinds.deployment, {
      namespace: plane.namespace,
      name: body.name,
    });
    expect(stored.spec.template).not.toHaveProperty('secretName');
    expect(body.secrets).toEqual([]);
  });

  test('shows a container where it was placed, and keeps every size that was asked for', async () => {
    const resource_spec = {
      min_scale: 1,
      max_scale: 3,
      cpu: 0.5,
      memory_mb: 512,
      queue_cpu: 1,
      orchestrator_min_scale: 0,
      orchestrator_cpu: 0.5,
      executor_memory_mb: 512,
      db_storage_gi: 20,
      labels: { team: 'a' },
      volumes: [{ name: 'v', emptyDir: { sizeLimit: '1Gi' } }],
      sidecars: [{ name: 's', image: 'i', env: [{ name: 'A', value: 'b' }] }],
    };
    const { body } = await create(creation(name(), { source_config: { resource_spec } }));
    expect(body.source_config.resource_spec).toMatchObject(resource_spec);
    const listeners = await plane.call<{ resources: { id: string }[] }>('GET', '/v2/listeners');
    expect(body.source_config).toMatchObject({
      listener_id: listeners.body.resources[0]?.id,
      listener_config: { k8s_namespace: plane.namespace },
    });
  });

  test('takes the revision that the operator was quicker to make', async () => {
    const wanted = name();
    // The operator watches, and makes the revision as soon as it sees the deployment.
    const operator = (async () => {
      for (;;) {
        const found = await plane.kube
          .get(kinds.deployment, { namespace: plane.namespace, name: wanted })
          .catch(() => undefined);
        if (found !== undefined)
          return plane.kube.create(kinds.revision, buildRevision(found)).catch(() => undefined);
      }
    })();
    const { status, body } = await create(creation(wanted));
    await operator;
    const revisions = await plane.kube.listAll(kinds.revision, {
      namespace: plane.namespace,
      labelSelector: `gx.dev/deployment=${wanted}`,
    });
    expect([status, revisions.map(({ metadata }) => metadata.uid)]).toEqual([
      201,
      [body.latest_revision_id],
    ]);
  });

  test.each([
    ['an unknown field', { extra: 1 }, [['body.extra', 'extra_forbidden']]],
    [
      'an unknown field deep inside',
      { source_config: { resource_spec: { cpus: 1 } } },
      [['body.source_config.resource_spec.cpus', 'extra_forbidden']],
    ],
    ['a name with capitals', { name: 'Chat' }, [['body.name', 'string_pattern_mismatch']]],
    ['a name that is too long', { name: 'a'.repeat(64) }, [['body.name', 'string_too_long']]],
    ['another source', { source: 'docker' }, [['body.source', 'enum']]],
    ['no list of secrets', { secrets: null }, [['body.secrets', 'array_type']]],
    [
      'a secret that is no variable',
      { secrets: [{ name: 'a-b', value: '' }] },
      [['body.secrets.0.name', 'string_pattern_mismatch']],
    ],
    [
      'half a CPU as text',
      { source_config: { resource_spec: { cpu: '500m' } } },
      [['body.source_config.resource_spec.cpu', 'number_type']],
    ],
    [
      'an id that is none',
      { source_config: { listener_id: 'x' } },
      [['body.source_config.listener_id', 'uuid_parsing']],
    ],
  ])('answers 422 to %s', async (_, parts, faults) => {
    const { status, body } = await create(creation('never', parts));
    expect(status).toBe(422);
    expect(
      (body.detail as unknown as Fault[]).map(({ loc, type }) => [loc.join('.'), type]),
    ).toEqual(faults);
  });

  test('answers 422 with every missing field', async () => {
    const { status, body } = await create({});
    const missing = (body.detail as unknown as Fault[]).map(({ loc, type }) => [loc[1], type]);
    expect([status, missing.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))]).toEqual([
      422,
      ['name', 'secrets', 'source', 'source_config', 'source_revision_config'].map((field) => [
        field,
        'missing',
      ]),
    ]);
  });

  test('answers 413 to more than 1 MiB', async () => {
    const { status } = await create(
      JSON.stringify(creation('never', { secrets: [{ name: 'A', value: 'x'.repeat(1_048_577) }] })),
    );
    expect(status).toBe(413);
  });

  test('answers 409 to a name that is taken, whoever took it, and leaves no Secret', async () => {
    const taken = name();
    await create(creation(taken));
    const before = (await plane.kube.listAll(kinds.secret, { namespace: plane.namespace })).length;
    const second = await create(creation(taken, { secrets: [{ name: 'A', value: 'b' }] }));
    expect([second.status, second.body.detail]).toEqual([
      409,
      `A deployment named ${taken} already exists.`,
    ]);
    const both = await Promise.all(
      [1, 2, 3].map(() => create(creation(`${taken}-2`, { secrets: [{ name: 'A', value: 'b' }] }))),
    );
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409, 409]);
    expect((await plane.kube.listAll(kinds.secret, { namespace: plane.namespace })).length).toBe(
      before + 1,
    );
  });

  test('waits for the revisions of a deleted deployment of the same name', async () => {
    const again = name();
    const first = await create(creation(again));
    const [revision, deployment] = [`${again}-00001`, again].map((of) => ({
      namespace: plane.namespace,
      name: of,
    })) as [Ref, Ref];
    await plane.kube.patchJson(kinds.revision, revision, [
      { op: 'add', path: '/metadata/finalizers', value: ['gx.dev/test'] },
    ]);
    await plane.call('DELETE', `/v2/deployments/${first.body.id}`);
    await letGo(plane, again);
    await expect
      .poll(async () => (await plane.call('GET', `/v2/deployments/${first.body.id}`)).status)
      .toBe(404);
    const going = async () =>
      (await plane.kube.get(kinds.revision, revision)).metadata.deletionTimestamp;
    await until('the revision is going', async () => (await going()) !== undefined);
    const asking = create(creation(again));
    await wait(300);
    await expect(plane.kube.get(kinds.deployment, deployment)).rejects.toBeInstanceOf(NotFound);
    await plane.kube.patchJson(kinds.revision, revision, [
      { op: 'remove', path: '/metadata/finalizers' },
    ]);
    const second = await asking;
    expect(second.status).toBe(201);
    expect(second.body.latest_revision_id).not.toBe(first.body.latest_revision_id);
  });

  test('writes nothing when asked to try only', async () => {
    const tried = name();
    const { status, body } = await create(
      creation(tried, { secrets: [{ name: 'A', value: 'canary-9' }] }),
      '?dry_run=true',
    );
    expect([status, body.name, body.latest_revision_id]).toEqual([201, tried, null]);
    const source_revision_config = body.source_revision_config;
    expect(body.plan?.revision).toEqual({
      number: 1,
      source: 'external_container',
      source_revision_config,
    });
    expect(body.plan?.objects).toMatchObject([
      { kind: 'Secret', data: { A: '' } },
      {
        kind: 'Deployment',
        metadata: { name: tried, namespace: plane.namespace },
        spec: { source: 'external_container' },
      },
      {
        kind: 'Revision',
        metadata: { name: `${tried}-00001` },
        spec: { template: { sourceRevisionConfig: { imageUri: 'registry.example/agent:1' } } },
      },
    ]);
    expect(JSON.stringify(body.plan)).not.toContain('canary-9');
    expect((await create(creation('Not_a_name'), '?dry_run=true')).status).toBe(422);
    expect(
      (await create(creation(tried, { source_revision_config: {} }), '?dry_run=true')).status,
    ).toBe(400);
    await expect(
      plane.kube.get(kinds.deployment, { namespace: plane.namespace, name: tried }),
    ).rejects.toMatchObject({ status: 404 });
    expect(
      (await plane.call<{ resources: unknown[] }>('GET', `/v2/deployments?name=${tried}`)).body
        .resources,
    ).toEqual([]);
  });

  test('answers a repeat with the same Idempotency-Key as the first time', async () => {
    const body = creation(name(), { secrets: [{ name: 'A', value: 'b' }] });
    const headers = { 'Idempotency-Key': randomUUID() };
    const ask = (changed: object = {}) =>
      plane.call<Deployment>('POST', '/v2/deployments', { body: { ...body, ...changed }, headers });
    const [first, again, other] = [await ask(), await ask(), await ask({ name: name() })];
    expect([first.status, again.status, again.body.id, other.status]).toEqual([
      201,
      201,
      first.body.id,
      422,
    ]);
  });
});

describe('placement', () => {
  const place = (source_config: object) =>
    create(creation(name(), { source_config: { resource_spec: {}, ...source_config } }));

  test.each([
    ['a listener that is not there', { listener_id: randomUUID() }, 'source_config.listener_id: '],
    [
      'a namespace that no listener serves',
      { listener_config: { k8s_namespace: 'kube-system' } },
      'source_config.listener_config.k8s_namespace: ',
    ],
  ])('%s is refused', async (_, config, start) => {
    const { status, body } = await place(config);
    expect([status, body.detail.startsWith(start)]).toEqual([400, true]);
  });

  test('the namespace must be one of the named listener', async () => {
    const { body: made } = await plane.call<{ resources: { id: string }[] }>(
      'GET',
      '/v2/listeners',
    );
    const { status, body } = await place({
      listener_id: made.resources[0]?.id,
      listener_config: { k8s_namespace: 'elsewhere' },
    });
    expect([
      status,
      body.detail.startsWith('source_config.listener_config.k8s_namespace: elsewhere'),
    ]).toEqual([400, true]);
  });

  test('a service account must be in the namespace and not be ours', async () => {
    const accounts = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      plural: 'serviceaccounts',
      namespaced: true,
    };
    const account = (accountName: string, labels = {}) =>
      plane.kube.create(accounts, {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: accountName, namespace: plane.namespace, labels },
      });
    await Promise.all([
      account('theirs', { 'gx.dev/for-agents': 'true' }),
      account('unoffered'),
      account('ours', { 'app.kubernetes.io/part-of': 'gx-platform' }),
    ]);
    const ask = (service_account_name: string) =>
      place({ resource_spec: { service_account_name } });
    expect((await ask('theirs')).status).toBe(201);
    expect((await ask('unoffered')).body.detail).toContain(
      'ServiceAccount unoffered is not for agents',
    );
    expect((await ask('ours')).body.detail).toMatch(
      /^source_config.resource_spec.service_account_name: .* belongs to the platform/,
    );
    expect((await ask('nobody')).body.detail).toMatch(
      /^source_config.resource_spec.service_account_name: there is no/,
    );
  });
});
