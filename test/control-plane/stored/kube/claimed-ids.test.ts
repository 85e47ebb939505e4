import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import { newDeployment } from '../../../kit/objects.ts';
import { startPlane, type Plane } from '../../kit/api-server-plane.ts';

/* Somebody with kubectl claims ids that are others'. */

type Shown = { id: string; name: string };
const CLAIMED = '77777777-7777-4777-8777-777777777777';
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('claimed-ids');
});
afterAll(() => plane.stop());

const apply = async (name: string, id?: string): Promise<string> => {
  const spec = id === undefined ? {} : { spec: { id } };
  const made = await plane.kube.create(
    kinds.deployment,
    newDeployment(plane.namespace, { metadata: { name }, ...spec }),
  );
  return made.metadata.uid ?? '';
};
const nameOf = async (id: string): Promise<string> =>
  (await plane.call<Shown>('GET', `/v2/deployments/${id}`)).body.name;

test('a claimed id takes no deployment from the one whose uid it is', async () => {
  const owner = await apply('owner');
  const thief = await apply('thief', owner);
  await expect.poll(() => nameOf(thief)).toBe('thief');
  expect(await nameOf(owner)).toBe('owner');
  const { status } = await plane.call('DELETE', `/v2/deployments/${thief}`);
  expect([204, 200, 202]).toContain(status);
  expect(await nameOf(owner)).toBe('owner');
});

test('of two that claim one id the older has it, and the younger is known by its uid', async () => {
  await apply('older', CLAIMED);
  // Kubernetes records whole seconds.
  await wait(1100);
  const younger = await apply('younger', CLAIMED.toUpperCase());
  await expect.poll(() => nameOf(younger)).toBe('younger');
  expect(await nameOf(CLAIMED)).toBe('older');
  const { body } = await plane.call<{ resources: Shown[] }>('GET', '/v2/deployments');
  const ids = body.resources.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(body.resources).toContainEqual(expect.objectContaining({ id: CLAIMED, name: 'older' }));
});
