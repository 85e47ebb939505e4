import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kube.ts';
import type { Deployment } from '../../../src/schema/platform/deployment.ts';
import { RELEASE } from '../../../src/schema/platform/labels.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

/* How replaced revisions keep their work, by REST. */

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('rollouts');
});
afterAll(() => plane.stop());

type Answer = Deployment & { detail: unknown };
const create = (rollout: object) => {
  const body = creation(`d-${randomUUID().slice(0, 8)}`, { source_config: { rollout } });
  return plane.call<Answer>('POST', '/v2/deployments', { body });
};
const patch = (id: string, rollout: object) =>
  plane.call<Answer>('PATCH', `/v2/deployments/${id}`, { body: { source_config: { rollout } } });
const specOf = async ({ name }: Deployment) => (await plane.kube.get(kinds.deployment, { namespace: plane.namespace, name })).spec;

test('what is kept is stored where the operator reads it, and a change makes no revision', async () => {
  const { status, body: made } = await create({ pin: 'Thread', pin_seconds: 60 });
  expect([status, made.detail]).toEqual([201, undefined]);
  expect(made.source_config.rollout).toEqual({ pin: 'Thread', pin_seconds: 60, max_draining: null });
  expect(made.rollout).toBeNull();
  const spec = await specOf(made);
  expect(spec.rollout).toEqual({ pin: 'Thread', pinSeconds: 60 });
  expect(spec.sourceConfig).toEqual({ listener: 'default' });
  const { body: changed } = await patch(made.id, { pin: 'None' });
  expect([changed.latest_revision_id, changed.source_config.rollout]).toEqual([
    made.latest_revision_id,
    { pin: 'None', pin_seconds: null, max_draining: null },
  ]);
  expect((await specOf(made)).rollout).toEqual({ pin: 'None' });
});

test.each([
  [{ pin: 'run' }, /pin/],
  [{ pin_seconds: 1 }, /pin_seconds/],
  [{ max_draining: 11 }, /max_draining/],
  [{ keep: true }, /keep/],
])('%j is refused with the name of its field', async (rollout, field) => {
  const { status, body } = await create(rollout);
  expect(status).toBe(422);
  expect(JSON.stringify(body.detail)).toMatch(field);
});

test('a replaced revision with work is shown, and lets it go when asked; others have none to let go', async () => {
  const { body: made } = await create({});
  const ref = { namespace: plane.namespace, name: made.name };
  const first = `${made.name}-00001`;
  const release = () => plane.call<Answer>('POST', `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/release`);
  const refused = await release();
  expect(refused.status).toBe(400);
  expect(refused.body.detail).toMatch(/revision: keeps no work/);
  const at = '2026-11-26T12:00:00Z';
  const draining = [{ revision: first, since: at, runs: 2, threads: 3 }];
  await plane.kube.patchStatus(kinds.deployment, ref, {
    rollout: { madeAt: at, current: `${made.name}-00002`, living: [first, `${made.name}-00002`], draining },
  });
  await expect
    .poll(async () => (await plane.call<Answer>('GET', `/v2/deployments/${made.id}`)).body.rollout)
    .toEqual({ draining: [{ revision_id: made.latest_revision_id, since: at, runs: 2, threads: 3 }] });
  expect((await release()).status).toBe(200);
  const { metadata } = await plane.kube.get(kinds.revision, { namespace: plane.namespace, name: first });
  expect(metadata.annotations?.[RELEASE]).toMatch(/^2\d{3}-/);
  expect((await release()).status).toBe(200);
});
