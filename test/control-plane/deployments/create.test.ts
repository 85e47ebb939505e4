import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kube.ts';
import type { Deployment } from '../../../src/schema/deployment.ts';
import type { Revision } from '../../../src/schema/revision.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('create');
});
afterAll(() => plane.stop());

test('a deployment is created with its first revision, and both can be read', async () => {
  const secrets = [{ name: 'TOKEN', value: 'canary-1' }];
  const { status, body } = await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('first', { secrets }) });
  expect(status).toBe(201);
  expect(body).toMatchObject({ name: 'first', status: 'AWAITING_DATABASE', secrets, active_revision_id: null });
  const read = await plane.call<Deployment>('GET', `/v2/deployments/${body.id}`);
  expect(read.body).toEqual(body);
  const revision = await plane.call<Revision>('GET', `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}`);
  expect(revision.body).toMatchObject({
    id: body.latest_revision_id,
    status: 'CREATING',
    source_revision_config: { image_uri: 'registry.example/agent:1' },
  });
  const patched = await plane.call<Deployment>('PATCH', `/v2/deployments/${body.id}`, {
    body: { source_revision_config: { image_uri: 'registry.example/agent:2' } },
  });
  expect(patched.status).toBe(200);
  expect(patched.body.latest_revision_id).not.toBe(body.latest_revision_id);
  expect(patched.body.secrets).toEqual(secrets);
  const revisions = await plane.call<{ resources: Revision[] }>('GET', `/v2/deployments/${body.id}/revisions`);
  expect(revisions.body.resources.map(({ id }) => id)).toEqual([patched.body.latest_revision_id, body.latest_revision_id]);
  expect((await plane.call('DELETE', `/v2/deployments/${body.id}`)).status).toBe(204);
  expect((await plane.call('GET', `/v2/deployments/${body.id}`)).body).toEqual({ detail: `Deployment ID ${body.id} not found.` });
  expect((await plane.kube.all(kinds.deployment, { namespace: plane.namespace })).length).toBe(0);
});
