import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/control-plane/auth/keys.ts';
import { kinds } from '../../src/kube/kinds.ts';
import { REQUESTED_BY } from '../../src/schema/platform/objects/labels.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import { creation, startPlane, TENANT_A, type Plane } from './kit/api-server-plane.ts';

let plane: Plane;
let ci: { key: string; id: string };
beforeAll(async () => {
  // A log that shows errors alone still has the audit lines.
  plane = await startPlane('audit', { logLevel: 'error' });
  ci = await createKey(plane.kube, plane.namespace, {
    name: 'ci',
    tenantId: TENANT_A,
    role: 'admin',
  });
});
afterAll(() => plane.stop());

type Line = Record<string, unknown>;
const lines = (): Line[] =>
  plane
    .logged()
    .split('\n')
    .filter((line) => line.includes('"audit":true'))
    .map((line) => JSON.parse(line) as Line);

/** Operations that send what they ask for in a body, and events, which are signed (routes/git-pushes.test.ts). */
const OTHERS = /^(checkAuth|post.*Logs|pushGitEvent)$/;

/** Calls the API and returns the audit lines that this left. */
async function audited(
  method: string,
  path: string,
  { body, key = ci.key }: { body?: unknown; key?: string } = {},
) {
  const before = lines().length;
  const answer = await plane.call<Deployment>(method, path, {
    key,
    headers: { 'x-request-id': 'r-1' },
    ...(body !== undefined && { body }),
  });
  return { answer, left: lines().slice(before) };
}
const who = () => ({
  key_id: ci.id,
  key_name: 'ci',
  tenant_id: TENANT_A,
  role: 'admin',
  request_id: 'r-1',
});
const path = (deployment: Deployment): string => `/v2/deployments/${deployment.id}`;

test('every write leaves one line that says who did what to what, and how it ended', async () => {
  const { answer, left } = await audited('POST', '/v2/deployments', {
    body: creation('told', { secrets: [{ name: 'A', value: 'hidden' }] }),
  });
  const { body: made } = answer;
  expect(left).toEqual([
    expect.objectContaining({
      ...who(),
      level: 'info',
      action: 'createDeployment',
      id: made.id,
      outcome: 'done',
      status: 201,
    }),
  ]);
  const revision = made.latest_revision_id;
  const steps: [string, string, object | undefined, Line][] = [
    ['PATCH', path(made), { secrets: [] }, { action: 'patchDeployment', id: made.id }],
    [
      'POST',
      `${path(made)}/revisions/${revision}/redeploy`,
      undefined,
      { action: 'redeployRevision', revision_id: revision },
    ],
    [
      'POST',
      `${path(made)}/revisions/${revision}/interrupt`,
      undefined,
      { action: 'interruptRevision', id: revision },
    ],
    ['DELETE', path(made), undefined, { action: 'deleteDeployment', id: made.id, status: 204 }],
    [
      'DELETE',
      `/v2/deployments?deployment_ids=${made.id}`,
      undefined,
      { action: 'deleteDeployments', ids: [made.id] },
    ],
  ];
  for (const [method, at, body, line] of steps)
    expect((await audited(method, at, { body })).left).toEqual([
      expect.objectContaining({ ...who(), outcome: 'done', ...line }),
    ]);
  expect(plane.logged()).not.toContain('hidden');
});

test('a refused write leaves one too, whatever refused it', async () => {
  const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('refused'),
  });
  const reader = await audited('PATCH', path(made), { body: {}, key: plane.keys.read });
  expect(reader.left).toEqual([
    expect.objectContaining({
      key_name: 'reader',
      action: 'patchDeployment',
      outcome: 'refused',
      status: 403,
    }),
  ]);
  const shape = await audited('PATCH', path(made), { body: { nonsense: 1 } });
  expect(shape.left).toEqual([
    expect.objectContaining({ ...who(), id: made.id, outcome: 'refused', status: 422 }),
  ]);
  const stranger = await audited('DELETE', path(made), { key: plane.keys.other });
  expect(stranger.left).toEqual([
    expect.objectContaining({ key_name: 'stranger', id: made.id, outcome: 'refused', status: 404 }),
  ]);
});

test('no operation that may change something goes without one', async () => {
  type Document = { paths: Record<string, Record<string, { operationId: string }>> };
  const { paths } = (await (await fetch(`${plane.url}/openapi.json`)).json()) as Document;
  const silent: string[] = [];
  for (const [template, operations] of Object.entries(paths)) {
    const at = template.replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000000');
    for (const [method, { operationId }] of Object.entries(operations)) {
      if (method === 'get' || OTHERS.test(operationId)) continue;
      const { left } = await audited(method.toUpperCase(), at, { body: { nonsense: 1 } });
      if (left.length !== 1 || left[0]?.['action'] === undefined) silent.push(operationId);
    }
  }
  expect(silent).toEqual([]);
});

test('reads, dry runs and strangers leave none', async () => {
  expect((await audited('GET', '/v2/deployments')).left).toEqual([]);
  expect(
    (await audited('POST', '/v2/deployments?dry_run=true', { body: creation('dry') })).left,
  ).toEqual([]);
  expect((await audited('POST', '/v2/deployments', { body: {}, key: 'gx_forged' })).left).toEqual(
    [],
  );
});

test('what is written names its requester: Deployment, Revision, Secret and Listener', async () => {
  const secrets = [{ name: 'A', value: 'b' }];
  const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
    key: ci.key,
    body: creation('named', { secrets }),
  });
  const { kube, namespace } = plane;
  const name = 'named';
  const byCi = { [REQUESTED_BY]: `key ${ci.id} ci` };
  const deployment = async () =>
    (await kube.get(kinds.deployment, { namespace, name })).metadata.annotations;
  expect(await deployment()).toMatchObject(byCi);
  const named = async (kind: typeof kinds.revision | typeof kinds.secret) =>
    (await kube.listAll<never>(kind as never, { namespace }))
      .map(({ metadata }: { metadata: { name: string; annotations?: object } }) => metadata)
      .filter((metadata) => metadata.name.startsWith(name))
      .map(({ annotations }) => annotations);
  expect(await named(kinds.revision)).toEqual([expect.objectContaining(byCi)]);
  expect(await named(kinds.secret)).toEqual([expect.objectContaining(byCi)]);
  await plane.call('PATCH', path(made), {
    body: { source_revision_config: { image_uri: 'registry.example/agent:2' } },
  });
  expect((await deployment())?.[REQUESTED_BY]).toMatch(/^key [0-9a-f]{16} writer$/);
  expect(
    (await named(kinds.revision)).map((annotations) => (annotations as Line)[REQUESTED_BY]),
  ).toEqual([byCi[REQUESTED_BY], expect.stringMatching(/ writer$/)]);
  const [listener] = (await plane.call<{ resources: { id: string }[] }>('GET', '/v2/listeners'))
    .body.resources;
  const compute_config = { k8s_namespaces: [namespace] };
  expect(
    (
      await plane.call('PATCH', `/v2/listeners/${listener?.id}`, {
        key: ci.key,
        body: { compute_config },
      })
    ).status,
  ).toBe(200);
  expect(
    (await kube.get(kinds.listener, { namespace, name: 'default' })).metadata.annotations,
  ).toMatchObject(byCi);
});
