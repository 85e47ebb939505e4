import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { type DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import type {
  Deployment,
  WrittenDeployment,
} from '../../../src/schema/platform/deployment/deployment.ts';
import type { Revision } from '../../../src/schema/platform/deployment/revision.ts';
import { creation, letGo, startPlane, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('change');
});
afterAll(() => plane.stop());

const name = (): string => `d-${randomUUID().slice(0, 8)}`;
const make = async (parts: Record<string, unknown> = {}): Promise<Deployment> =>
  (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation(name(), parts) })).body;
const patch = (id: string, body: object, headers: Record<string, string> = {}) =>
  plane.call<Deployment & { detail: string }>('PATCH', `/v2/deployments/${id}`, { body, headers });
const get = (id: string) => plane.call<Deployment>('GET', `/v2/deployments/${id}`);
const stored = (of: Deployment): Promise<DeploymentResource> =>
  plane.kube.get(kinds.deployment, { namespace: plane.namespace, name: of.name });
const revisions = async (id: string): Promise<Revision[]> =>
  (await plane.call<{ resources: Revision[] }>('GET', `/v2/deployments/${id}/revisions`)).body
    .resources;

describe('PATCH', () => {
  test.each([
    ['another image', { source_revision_config: { image_uri: 'registry.example/agent:2' } }],
    ['the same image', { source_revision_config: { image_uri: 'registry.example/agent:1' } }],
    ['other sizes', { source_config: { resource_spec: { cpu: 1 } } }],
    ['the same sizes', { source_config: { resource_spec: {} } }],
    ['secrets', { secrets: [{ name: 'A', value: 'b' }] }],
    ['no secrets', { secrets: [] }],
  ])('of %s makes a revision, and answers with it', async (_, body) => {
    const before = await make();
    const { status, body: after } = await patch(before.id, body);
    expect(status).toBe(200);
    expect((await revisions(before.id)).map(({ id }) => id)).toEqual([
      after.latest_revision_id,
      before.latest_revision_id,
    ]);
    expect((await get(before.id)).body).toEqual(after);
  });

  test.each([
    ['nothing', {}],
    [
      'nulls',
      {
        secrets: null,
        source_config: { custom_url: null, resource_spec: null },
        source_revision_config: { image_uri: null },
      },
    ],
    ['null parts', { source_config: null, source_revision_config: null }],
  ])('of %s changes nothing', async (_, body) => {
    const before = await make({
      secrets: [{ name: 'A', value: 'b' }],
      source_config: { resource_spec: { cpu: 1 }, custom_url: 'https://a.example' },
    });
    const { metadata } = await stored(before);
    const { status, body: after } = await patch(before.id, body);
    expect([status, after]).toEqual([200, before]);
    expect((await stored(before)).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  test('of a URL changes it without a revision', async () => {
    const before = await make();
    const { body: after } = await patch(before.id, {
      source_config: { custom_url: 'https://agent.example' },
    });
    expect(after.source_config.custom_url).toBe('https://agent.example');
    expect(after.latest_revision_id).toBe(before.latest_revision_id);
  });

  test('replaces secrets and sizes as a whole, keeps them when null, and clears secrets by an empty list', async () => {
    const before = await make({
      secrets: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      source_config: { resource_spec: { cpu: 1, memory_mb: 512 } },
    });
    const second = await patch(before.id, {
      secrets: [{ name: 'C', value: '3' }],
      source_config: { resource_spec: { cpu: 2 } },
    });
    expect(second.body.secrets).toEqual([{ name: 'C', value: '3' }]);
    expect(second.body.source_config.resource_spec).toMatchObject({ cpu: 2, memory_mb: null });
    const third = await patch(before.id, {
      source_revision_config: { image_uri: 'registry.example/agent:3' },
    });
    expect([third.body.secrets, third.body.source_config.resource_spec?.cpu]).toEqual([
      second.body.secrets,
      2,
    ]);
    const cleared = await patch(before.id, { secrets: [] });
    expect(cleared.body.secrets).toEqual([]);
    expect((await stored(before)).spec.template).not.toHaveProperty('secretName');
  });

  test('touches only what it changes: what kubectl set meanwhile stays', async () => {
    const before = await make();
    const ref = { namespace: plane.namespace, name: before.name };
    await plane.kube.patchJson(kinds.deployment, ref, [
      { op: 'add', path: '/spec/progressDeadlineSeconds', value: 77 },
    ]);
    await patch(before.id, { source_revision_config: { image_uri: 'registry.example/agent:2' } });
    expect((await stored(before)).spec.progressDeadlineSeconds).toBe(77);
  });

  test('by several at once loses none of them', async () => {
    const before = await make();
    const answers = await Promise.all([
      patch(before.id, { source_config: { custom_url: 'https://a.example' } }),
      patch(before.id, { source_revision_config: { image_uri: 'registry.example/agent:9' } }),
      patch(before.id, { secrets: [{ name: 'A', value: 'b' }] }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { body } = await get(before.id);
    expect(body).toMatchObject({
      secrets: [{ name: 'A' }],
      source_config: { custom_url: 'https://a.example' },
      source_revision_config: { image_uri: 'registry.example/agent:9' },
    });
    expect((await revisions(before.id)).length).toBe(3);
  });

  test('of a version that is not the present one is answered with 412', async () => {
    const before = await make();
    const tag = (await get(before.id)).headers.get('etag') ?? '';
    const change = (image: string) =>
      patch(before.id, { source_revision_config: { image_uri: image } }, { 'If-Match': tag });
    expect((await change('a:2')).status).toBe(200);
    expect((await change('a:3')).status).toBe(412);
    expect((await patch(before.id, { secrets: [] }, { 'If-Match': '*' })).status).toBe(200);
  });

  test('that only tries writes nothing', async () => {
    const before = await make();
    const { status, body } = await plane.call<WrittenDeployment>(
      'PATCH',
      `/v2/deployments/${before.id}?dry_run=true`,
      {
        body: {
          source_revision_config: { image_uri: 'a:2' },
          secrets: [{ name: 'A', value: 'b' }],
        },
      },
    );
    expect([status, body.source_revision_config.image_uri, body.latest_revision_id]).toEqual([
      200,
      'a:2',
      before.latest_revision_id,
    ]);
    expect(body.plan).toMatchObject({
      revision: { number: 2, source_revision_config: { image_uri: 'a:2' } },
      objects: [
        { kind: 'Secret' },
        { kind: 'Deployment' },
        { kind: 'Revision', metadata: { name: `${before.name}-00002` } },
      ],
    });
    const quiet = await plane.call<WrittenDeployment>(
      'PATCH',
      `/v2/deployments/${before.id}?dry_run=true`,
      {
        body: { source_config: { custom_url: 'https://a.example' } },
      },
    );
    expect(quiet.body.plan).toMatchObject({
      revision: null,
      objects: [{ kind: 'Deployment', spec: { sourceConfig: { customUrl: 'https://a.example' } } }],
    });
    expect((await get(before.id)).body).toEqual(before);
  });

  test.each([
    ['an unknown field', { display_nam: 'x' }],
    ['an unknown size', { source_config: { resource_spec: { cpus: 1 } } }],
    ['a wrong type', { secrets: {} }],
  ])('of %s is answered with 422 and changes nothing', async (_, body) => {
    const before = await make();
    expect((await patch(before.id, body)).status).toBe(422);
    expect((await get(before.id)).body).toEqual(before);
  });
});

describe('DELETE', () => {
  test('is answered at once, shows AWAITING_DELETE until all is gone, then 404', async () => {
    const made = await make();
    expect((await plane.call('DELETE', `/v2/deployments/${made.id}`)).status).toBe(204);
    expect((await get(made.id)).body.status).toBe('AWAITING_DELETE');
    const going = await plane.call<{ resources: Deployment[] }>(
      'GET',
      `/v2/deployments?status=AWAITING_DELETE&name=${made.name}`,
    );
    expect(going.body.resources.map(({ id }) => id)).toEqual([made.id]);
    expect((await plane.call('DELETE', `/v2/deployments/${made.id}`)).status).toBe(204);
    expect((await patch(made.id, { secrets: [] })).status).toBe(409);
    await letGo(plane, made.name);
    await expect.poll(async () => (await get(made.id)).status).toBe(404);
    expect((await get(made.id)).body).toEqual({ detail: `Deployment ID ${made.id} not found.` });
    expect((await plane.call('DELETE', `/v2/deployments/${made.id}`)).status).toBe(404);
  });

  test.each([
    ['', {}],
    ['?delete_tracing_project=false&delete_data=false', {}],
    ['?delete_tracing_project=true', { deleteTracingProject: true }],
    ['?delete_data=true', { deletionPolicy: 'Delete' }],
    [
      '?delete_tracing_project=true&delete_data=true',
      { deleteTracingProject: true, deletionPolicy: 'Delete' },
    ],
  ])('asks for the end of what it names: %s', async (query, expected) => {
    const made = await make();
    const { spec } = await stored(made);
    expect((await plane.call('DELETE', `/v2/deployments/${made.id}${query}`)).status).toBe(204);
    expect((await stored(made)).spec).toEqual({ ...spec, ...expected });
    await letGo(plane, made.name);
  });

  test('of several answers 200 when all go, and 207 when some are not there', async () => {
    const [a, b, c] = [await make(), await make(), await make()];
    const missing = randomUUID();
    const remove = (...ids: string[]) =>
      plane.call<{ deleted: string[]; failed: { id: string; status: number }[] }>(
        'DELETE',
        `/v2/deployments?${ids.map((id) => `deployment_ids=${id}`).join('&')}`,
      );
    expect((await remove(a.id, b.id)).status).toBe(200);
    const mixed = await remove(c.id, missing);
    expect(mixed).toMatchObject({
      status: 207,
      body: { deleted: [c.id], failed: [{ id: missing, status: 404 }] },
    });
    expect((await plane.call('DELETE', '/v2/deployments')).status).toBe(422);
    expect((await plane.call('DELETE', '/v2/deployments?deployment_ids=x')).status).toBe(422);
  });
});

describe('a deployment made with kubectl', () => {
  test('has an id, shows up, can be changed and deleted', async () => {
    const metadata = { name: name(), namespace: plane.namespace };
    const spec: DeploymentResource['spec'] = {
      source: 'external_container',
      template: { sourceRevisionConfig: { imageUri: 'a:1' } },
    };
    const { metadata: made } = await plane.kube.create(kinds.deployment, {
      apiVersion: API_VERSION,
      kind: 'Deployment',
      metadata,
      spec,
    });
    const id = made.uid ?? '';
    const first = await get(id);
    expect(first).toMatchObject({
      status: 200,
      body: { id, name: metadata.name, latest_revision_id: null, secrets: [] },
    });
    const changed = await patch(id, {
      source_revision_config: { image_uri: 'a:2' },
      secrets: [{ name: 'A', value: 'b' }],
    });
    expect(changed.status).toBe(200);
    expect((await revisions(id)).map((revision) => revision.id)).toEqual([
      changed.body.latest_revision_id,
    ]);
    expect((await plane.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
  });

  test.each([
    ['small letters', randomUUID()],
    ['capitals', randomUUID().toUpperCase()],
  ])('keeps the id that its spec names in %s', async (_, id) => {
    const metadata = { name: name(), namespace: plane.namespace };
    await plane.kube.create(kinds.deployment, {
      apiVersion: API_VERSION,
      kind: 'Deployment',
      metadata,
      spec: {
        id,
        source: 'external_container',
        template: { sourceRevisionConfig: { imageUri: 'a:1' } },
      },
    });
    expect((await get(id)).body.id).toBe(id.toLowerCase());
    expect((await get(id.toUpperCase())).status).toBe(200);
    expect((await get(id.toLowerCase())).status).toBe(200);
  });
});

test('what the operator reports is what is answered', async () => {
  const made = await make();
  const ref = { namespace: plane.namespace, name: made.name };
  await plane.kube.patchStatus(kinds.deployment, ref, {
    phase: 'READY',
    url: 'http://a.example',
    activeRevision: `${made.name}-00001`,
    serverVersion: '0.1.0',
    observedGeneration: 1,
  });
  await plane.kube.patchStatus(
    kinds.revision,
    { ...ref, name: `${made.name}-00001` },
    { phase: 'DEPLOY_FAILED', reason: 'CrashLooping', message: 'It crashes.', logTail: 'boom' },
  );
  await expect
    .poll(async () => (await get(made.id)).body)
    .toMatchObject({
      status: 'READY',
      url: 'http://a.example',
      active_revision_id: made.latest_revision_id,
      image_version: '0.1.0',
      source_config: { custom_url: 'http://a.example' },
    });
  await expect
    .poll(async () => (await revisions(made.id))[0])
    .toMatchObject({
      status: 'DEPLOY_FAILED',
      reason: 'CrashLooping',
      status_message: 'It crashes.',
      log_tail: 'boom',
    });
});

test('a volume grows, and goes back only while the growth is not done', async () => {
  const sized = (db_storage_gi: number) => ({
    source_config: { resource_spec: { db_storage_gi } },
  });
  const { body } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('volume', sized(10)),
  });
  const path = `/v2/deployments/${body.id}`;
  const resize = async (size: number): Promise<number> =>
    (await plane.call('PATCH', path, { body: sized(size) })).status;
  expect([await resize(20), await resize(20), await resize(10)]).toEqual([200, 200, 400]);
  const revision = await plane.call<{ detail: string }>('POST', `${path}/revisions`, {
    body: sized(10),
  });
  expect(revision).toMatchObject({
    status: 400,
    body: { detail: "source_config.resource_spec.db_storage_gi: a volume can't shrink: it is 20" },
  });
  const condition = {
    type: 'VolumeGrown',
    status: 'False',
    reason: 'NotExpandable',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  await plane.kube.patchStatus(
    kinds.deployment,
    { namespace: plane.namespace, name: 'volume' },
    { conditions: [condition] },
  );
  expect(await resize(10)).toBe(200);
});
