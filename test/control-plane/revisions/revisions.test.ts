import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import type { Revision } from '../../../src/schema/platform/deployment/revision.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('revisions');
});
afterAll(() => plane.stop());

const make = async (parts: Record<string, unknown> = {}): Promise<Deployment> =>
  (
    await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation(`d-${randomUUID().slice(0, 8)}`, parts),
    })
  ).body;
const patch = async (id: string, body: object): Promise<Deployment> =>
  (await plane.call<Deployment>('PATCH', `/v2/deployments/${id}`, { body })).body;
const list = (id: string, query = '') =>
  plane.call<{ resources: Revision[]; offset: number }>(
    'GET',
    `/v2/deployments/${id}/revisions${query}`,
  );
const resource = (of: Deployment, number: number) =>
  plane.kube.get(kinds.revision, {
    namespace: plane.namespace,
    name: `${of.name}-${String(number).padStart(5, '0')}`,
  });
const report = (of: Deployment, number: number, phase: string) =>
  plane.kube.patchStatus(
    kinds.revision,
    { namespace: plane.namespace, name: `${of.name}-${String(number).padStart(5, '0')}` },
    { phase, observedGeneration: 1 },
  );

describe('revisions', () => {
  test('are listed newest first, by pages and statuses', async () => {
    const made = await make();
    await patch(made.id, { secrets: [] });
    await patch(made.id, { secrets: [] });
    await report(made, 1, 'DEPLOYED');
    const listed = async (status: string): Promise<string[]> =>
      (await list(made.id, `?status=${status}`)).body.resources.map(({ id }) => id);
    // The revision waits until the deployment names it as the one that serves.
    await expect.poll(() => listed('DEPLOYING')).toEqual([made.latest_revision_id]);
    expect(await listed('DEPLOYED,SKIPPED')).toEqual([]);
    const ref = { namespace: plane.namespace, name: made.name };
    await plane.kube.patchStatus(kinds.deployment, ref, { activeRevision: `${made.name}-00001` });
    await expect.poll(() => listed('DEPLOYED,SKIPPED')).toEqual([made.latest_revision_id]);
    // A revision that served before stays DEPLOYED.
    await report(made, 2, 'DEPLOYED');
    await plane.kube.patchStatus(kinds.deployment, ref, { activeRevision: `${made.name}-00002` });
    await expect.poll(async () => (await listed('DEPLOYED')).length).toBe(2);
    // So does every revision when somebody removed the serving one by hand.
    await plane.kube.patchStatus(kinds.deployment, ref, { activeRevision: `${made.name}-00009` });
    const active = async () =>
      (await plane.call<Deployment>('GET', `/v2/deployments/${made.id}`)).body.active_revision_id;
    await expect.poll(active).toBe(null);
    expect((await listed('DEPLOYED')).length).toBe(2);
    const [first, second] = [
      await list(made.id, '?limit=1'),
      await list(made.id, '?limit=2&offset=1'),
    ];
    expect([first.body.offset, second.body.offset]).toEqual([1, 3]);
    expect([...first.body.resources, ...second.body.resources].map(({ id }) => id)).toEqual(
      (await list(made.id)).body.resources.map(({ id }) => id),
    );
    expect((await list(made.id, '?remote_reconciled=true')).body.resources.length).toBe(2);
    expect((await list(made.id, '?status=GREAT')).status).toBe(422);
  });

  test('of another deployment are not found', async () => {
    const [a, b] = [await make(), await make()];
    const { status, body } = await plane.call(
      'GET',
      `/v2/deployments/${a.id}/revisions/${b.latest_revision_id}`,
    );
    expect([status, body]).toEqual([
      404,
      { detail: `Revision ID ${b.latest_revision_id} not found.` },
    ]);
  });

  test('can be made without any change, and with one', async () => {
    const made = await make();
    const plain = await plane.call<Revision>('POST', `/v2/deployments/${made.id}/revisions`);
    expect(plain).toMatchObject({
      status: 201,
      body: { status: 'CREATING', deployment_id: made.id },
    });
    const changed = await plane.call<Revision>('POST', `/v2/deployments/${made.id}/revisions`, {
      body: { source_config: { custom_url: 'https://a.example' } },
    });
    expect(changed.status).toBe(201);
    expect((await list(made.id)).body.resources.map(({ id }) => id)).toEqual([
      changed.body.id,
      plain.body.id,
      made.latest_revision_id,
    ]);
  });
});

describe('redeploy', () => {
  test('repeats a revision with the image, secrets and sizes it had, and says whose it is', async () => {
    const made = await make({
      secrets: [{ name: 'A', value: 'old' }],
      source_config: { resource_spec: { cpu: 1 } },
    });
    await patch(made.id, {
      source_revision_config: { image_uri: 'registry.example/agent:2' },
      secrets: [{ name: 'A', value: 'new' }],
      source_config: { resource_spec: { cpu: 2 } },
    });
    const { status, body } = await plane.call<Deployment>(
      'POST',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/redeploy`,
    );
    expect(status).toBe(200);
    expect(body).toMatchObject({
      secrets: [{ name: 'A', value: 'old' }],
      source_config: { resource_spec: { cpu: 1 } },
      source_revision_config: { image_uri: 'registry.example/agent:1' },
    });
    const [first, third] = [await resource(made, 1), await resource(made, 3)];
    expect(third.spec).toMatchObject({
      rollbackOf: first.metadata.name,
      template: first.spec.template,
    });
    expect(body.latest_revision_id).toBe(third.metadata.uid);
  });

  test('of the newest revision makes one more, and the next patch is no rollback any more', async () => {
    const made = await make();
    const again = await plane.call<Deployment>(
      'POST',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/redeploy`,
    );
    expect(again.body.latest_revision_id).not.toBe(made.latest_revision_id);
    await patch(made.id, { source_config: { custom_url: 'https://a.example' } });
    await patch(made.id, { secrets: [] });
    expect((await resource(made, 2)).spec.rollbackOf).toBe(`${made.name}-00001`);
    expect((await resource(made, 4)).spec).not.toHaveProperty('rollbackOf');
  });

  test('of a revision that is not there is answered with 404', async () => {
    const made = await make();
    expect(
      (await plane.call('POST', `/v2/deployments/${made.id}/revisions/${randomUUID()}/redeploy`))
        .status,
    ).toBe(404);
    expect((await list(made.id)).body.resources.length).toBe(1);
  });
});

describe('interrupt', () => {
  test.each(['interrupt', 'interruption'])(
    'by %s marks a revision that is on its way',
    async (word) => {
      const made = await make();
      const path = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/${word}`;
      expect((await plane.call('POST', path)).status).toBe(200);
      const marked = (await resource(made, 1)).metadata.annotations?.['gx.dev/interrupt'];
      expect(marked).toMatch(/^20/);
      expect((await plane.call('POST', path)).status).toBe(200);
      expect((await resource(made, 1)).metadata.annotations?.['gx.dev/interrupt']).toBe(marked);
    },
  );

  test('of one that has ended is answered with 400', async () => {
    const made = await make();
    await report(made, 1, 'DEPLOYED');
    const { status, body } = await plane.call<{ detail: string }>(
      'POST',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/interrupt`,
    );
    expect([status, body.detail]).toEqual([400, 'revision: has already ended as DEPLOYED']);
  });
});
