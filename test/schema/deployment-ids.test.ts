import { expect, test } from 'vitest';
import { holderOfId, idAmong, idsOf } from '../../src/schema/platform/deployment-ids.ts';
import { deployment } from '../kit/objects.ts';

const [A, B, CLAIMED] = ['a', 'b', 'c'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`) as [string, string, string];
const named = (name: string, { uid, id, at = 1 }: { uid: string; id?: string; at?: number }) =>
  deployment({
    metadata: { name, uid, creationTimestamp: `2026-01-01T00:00:0${at}Z` },
    ...(id !== undefined && { spec: { id } }),
  });

test('a deployment is known by its uid and by the id that it claims', () => {
  expect(idsOf(named('a', { uid: A, id: CLAIMED.toUpperCase() }))).toEqual([A, CLAIMED]);
  expect(idAmong(named('a', { uid: A, id: CLAIMED }), [])).toBe(CLAIMED);
  expect(idAmong(named('a', { uid: A }), [])).toBe(A);
});

test('a uid goes before the same id that another deployment claims, whichever is older', () => {
  const [owner, thief] = [named('owner', { uid: A, at: 5 }), named('thief', { uid: B, id: A.toUpperCase(), at: 1 })];
  expect([idAmong(owner, [thief]), idAmong(thief, [owner, thief])]).toEqual([A, B]);
  expect(holderOfId(thief, [owner])?.metadata.name).toBe('owner');
});

test('of two that claim one id the older has it', () => {
  const [older, younger] = [named('older', { uid: B, id: CLAIMED, at: 1 }), named('younger', { uid: A, id: CLAIMED, at: 2 })];
  const all = [younger, older];
  expect([idAmong(older, all), idAmong(younger, all)]).toEqual([CLAIMED, A]);
  const twin = named('twin', { uid: A, id: CLAIMED, at: 1 });
  expect([idAmong(older, [older, twin]), idAmong(twin, [older, twin])]).toEqual([B, CLAIMED]);
});
