import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import { REVISION_STATUSES } from '../../src/schema/platform/deployment/statuses.ts';
import type { Revision } from '../../src/schema/platform/deployment/revision.ts';
import { until } from '../kit/until.ts';
import { dyingDoor, type DyingDoor } from '../kit/dying-door.ts';
import type { FakeKubelet } from '../kit/fake-kubelet.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

describe('with an operator', () => {
  let plane: Plane;
  let kubelet: FakeKubelet;
  beforeAll(async () => {
    plane = await startPlane('chain');
    await plane.startOperator();
    kubelet = plane.startKubelet();
  });
  afterAll(() => plane.stop());

  const end = async (of: Deployment): Promise<Revision> =>
    (
      await plane.call<Revision>(
        'GET',
        `/v2/deployments/${of.id}/revisions/${of.latest_revision_id}?wait=50`,
      )
    ).body;
  const get = async (of: Deployment): Promise<Deployment> =>
    (await plane.call<Deployment>('GET', `/v2/deployments/${of.id}`)).body;

  test('a deployment goes all the way: created, DEPLOYED and READY, changed, rolled back, deleted', async () => {
    const secrets = [{ name: 'TOKEN', value: 'one' }];
    const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation('whole', { secrets }),
    });
    expect(await end(made)).toMatchObject({ status: 'DEPLOYED', reason: null });
    const served = {
      status: 'READY',
      active_revision_id: made.latest_revision_id,
      secrets,
      url: expect.stringContaining('http'),
    };
    expect(await get(made)).toMatchObject(served);

    const change = {
      source_revision_config: { image_uri: 'registry.example/agent:2' },
      secrets: [],
    };
    const { body: changed } = await plane.call<Deployment>('PATCH', `/v2/deployments/${made.id}`, {
      body: change,
    });
    expect(changed.active_revision_id).toBe(made.latest_revision_id);
    expect((await end(changed)).status).toBe('DEPLOYED');
    expect(await get(made)).toMatchObject({
      status: 'READY',
      active_revision_id: changed.latest_revision_id,
    });

    const { body: back } = await plane.call<Deployment>(
      'POST',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/redeploy`,
    );
    expect(back).toMatchObject({
      secrets,
      source_revision_config: { image_uri: 'registry.example/agent:1' },
    });
    expect((await end(back)).status).toBe('DEPLOYED');
    const all = await plane.call<{ resources: Revision[] }>(
      'GET',
      `/v2/deployments/${made.id}/revisions`,
    );
    expect(all.body.resources.length).toBe(3);
    for (const { status } of all.body.resources) expect(REVISION_STATUSES).toContain(status);

    expect(
      (await plane.call('DELETE', `/v2/deployments/${made.id}?delete_tracing_project=true`)).status,
    ).toBe(204);
    await until(
      'it is gone',
      async () => (await plane.call('GET', `/v2/deployments/${made.id}`)).status === 404,
    );
    const again = await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation('whole'),
    });
    expect([again.status, again.body.id === made.id]).toEqual([201, false]);
  });

  test('a tracing project is made with a deployment, outlives it, and blocks the name until it is removed', async () => {
    type Projects = { resources: { id: string }[] };
    const projects = async (): Promise<Projects['resources']> =>
      (await plane.call<Projects>('GET', '/v2/tracing-projects?name=traced')).body.resources;
    const create = () =>
      plane.call<Deployment & { detail: string }>('POST', '/v2/deployments', {
        body: creation('traced'),
      });
    const { body: made } = await create();
    await until('its tracing project is there', async () => (await projects()).length === 1);
    expect((await plane.call('DELETE', `/v2/deployments/${made.id}`)).status).toBe(204);
    await until(
      'it is gone',
      async () => (await plane.call('GET', `/v2/deployments/${made.id}`)).status === 404,
    );
    const [project] = await projects();
    expect(await create()).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/a tracing project named traced\.$/) },
    });
    expect((await plane.call('DELETE', `/v2/tracing-projects/${project?.id}`)).status).toBe(204);
    expect((await create()).status).toBe(201);
  });

  test('with ?wait, a creation and a change answer when the revision serves, or at the end of the time', async () => {
    const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments?wait=50', {
      body: creation('waited'),
    });
    expect(made).toMatchObject({ status: 'READY', active_revision_id: made.latest_revision_id });
    const change = { source_revision_config: { image_uri: 'registry.example/agent:2' } };
    const { body: changed } = await plane.call<Deployment>(
      'PATCH',
      `/v2/deployments/${made.id}?wait=50`,
      { body: change },
    );
    expect(changed.active_revision_id).toBe(changed.latest_revision_id);
    expect(changed.latest_revision_id).not.toBe(made.latest_revision_id);

    await kubelet.stop();
    const late = await plane.call<Deployment>('POST', '/v2/deployments?wait=1', {
      body: creation('late'),
    });
    kubelet = plane.startKubelet();
    expect([late.status, late.body.active_revision_id]).toEqual([201, null]);
    expect(
      (await plane.call('POST', '/v2/deployments?wait=601', { body: creation('longer') })).status,
    ).toBe(422);
  });

  test('a revision that is interrupted on its way ends as INTERRUPTED', async () => {
    const body = creation('stuck', {
      source_revision_config: { image_uri: 'registry.example/agent:never' },
    });
    await kubelet.stop();
    const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', { body });
    await plane.call(
      'POST',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/interrupt`,
    );
    expect((await end(made)).status).toBe('INTERRUPTED');
  });
});

describe('a process that is killed between two writes of a creation', () => {
  const secrets = [{ name: 'A', value: 'b' }];

  test.each([
    [0, 'nothing', 0, 0],
    [1, 'a Secret that nothing refers to', 1, 0],
    [2, 'a deployment whose revision the operator makes', 1, 1],
  ])(
    'after %i writes leaves %s, and the same request works afterwards',
    async (writes, _, secretsLeft, deploymentsLeft) => {
      let door: DyingDoor | undefined;
      const plane = await startPlane(
        'killed',
        {},
        { through: (kube) => (door ??= dyingDoor(kube, writes)).kube },
      );
      const request = {
        body: creation('cut', { secrets }),
        headers: { 'Idempotency-Key': randomUUID() },
      };
      expect((await plane.call('POST', '/v2/deployments', request)).status).toBe(503);
      expect(door?.isDead()).toBe(true);
      const scope = { namespace: plane.namespace };
      expect(
        (
          await plane.kube.listAll(kinds.secret, {
            ...scope,
            labelSelector: 'gx.dev/secrets-of=cut',
          })
        ).length,
      ).toBe(secretsLeft);
      expect((await plane.kube.listAll(kinds.deployment, scope)).length).toBe(deploymentsLeft);
      await plane.startOperator();
      const config = { namespace: plane.namespace, namespaces: [plane.namespace] };
      const next = await startPlane('next', config);
      const { status, body } = await next.call<Deployment>('POST', '/v2/deployments', {
        ...request,
        key: plane.keys.write,
      });
      expect([status, body.secrets]).toEqual([201, secrets]);
      const revision = async (): Promise<unknown> =>
        (
          await next.call<Deployment>('GET', `/v2/deployments/${body.id}`, {
            key: plane.keys.write,
          })
        ).body.latest_revision_id;
      await until('there is a revision', async () => (await revision()) !== null);
      await Promise.all([next.stop(), plane.stop()]);
    },
  );
});
