import { expect, test } from 'vitest';
import {
  findIdHolder,
  chooseDeploymentId,
  listDeploymentIds,
} from '../../src/schema/platform/resources/deployment-ids.ts';
import { deployment } from '../kit/objects.ts';

const [A, B, CLAIMED] = ['a', 'b', 'c'].map(
  (digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`,
) as [string, string, string];
const named = (name: string, { uid, id, at = 1 }: { uid: string; id?: string; at?: number }) =>
  deployment({
    metadata: { name, uid, creationTimestamp: `2026-01-01T00:00:0${at}Z` },
    ...(id !== undefined && { spec: { id } }),
  });

test('a deployment is known by its uid and by the id that it claims', () => {
  expect(listDeploymentIds(named('a', { uid: A, id: CLAIMED.toUpperCase() }))).toEqual([
    A,
    CLAIMED,
  ]);
  expect(chooseDeploymentId(named('a', { uid: A, id: CLAIMED }), [])).toBe(CLAIMED);
  expect(chooseDeploymentId(named('a', { uid: A }), [])).toBe(A);
});

test('a uid goes before the same id that another deployment claims, whichever is older', () => {
  const [owner, thief] = [
    named('owner', { uid: A, at: 5 }),
    named('thief', { uid: B, id: A.toUpperCase(), at: 1 }),
  ];
  expect([chooseDeploymentId(owner, [thief]), chooseDeploymentId(thief, [owner, thief])]).toEqual([
    A,
    B,
  ]);
  expect(findIdHolder(thief, [owner])?.metadata.name).toBe('owner');
});

test('of two that claim one id the older has it', () => {
  const [older, younger] = [
    named('older', { uid: B, id: CLAIMED, at: 1 }),
    named('younger', { uid: A, id: CLAIMED, at: 2 }),
  ];
  const all = [younger, older];
  expect([chooseDeploymentId(older, all), chooseDeploymentId(younger, all)]).toEqual([CLAIMED, A]);
  const twin = named('twin', { uid: A, id: CLAIMED, at: 1 });
  expect([
    chooseDeploymentId(older, [older, twin]),
    chooseDeploymentId(twin, [older, twin]),
  ]).toEqual([B, CLAIMED]);
});
