import { expect, test } from 'vitest';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { stripUnreadableStatus } from '../../src/schema/platform/resources/readable-status.ts';

const NOW = '2026-01-01T00:00:00Z';
const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'Serving',
  message: 'It serves.',
  lastTransitionTime: NOW,
};

const statusOf = (status: unknown, kind = 'Revision'): unknown =>
  (
    stripUnreadableStatus({ apiVersion: API_VERSION, kind, metadata: { name: 'a' }, status }) as {
      status?: unknown;
    }
  ).status;

test('a status in its form is the same object, with fields of other versions', () => {
  const status = {
    phase: 'DEPLOYED',
    endedAt: NOW,
    conditions: [ready],
    observedGeneration: 1,
    ofLaterVersions: { a: 1 },
  };
  expect(statusOf(status)).toBe(status);
});

test.each<[string, object]>([
  ['a text', { phase: { a: 1 } }],
  ['a time', { endedAt: 'never' }],
  ['a number', { observedGeneration: '1' }],
  ['a list', { conditions: 'none' }],
  ['nothing', { message: null }],
])('a field that is not %s is left out, and the others stay', (_, wrong) => {
  expect(statusOf({ specHash: 'x', ...wrong })).toEqual({ specHash: 'x' });
});

test('of a list, items of another form are left out', () => {
  const wrong = [
    null,
    1,
    [],
    { type: { a: 1 } },
    { ...ready, lastTransitionTime: 'soon' },
    { ...ready, reason: undefined },
  ];
  expect(statusOf({ conditions: [...wrong, ready] })).toEqual({ conditions: [ready] });
});

test.each([['a word'], [[]], [1], [null]])(
  'a status that is no record is not there: %j',
  (status) => {
    expect(statusOf(status)).toBeUndefined();
  },
);

test('inherited names are no fields, and an own __proto__ changes no prototype', () => {
  const status = JSON.parse('{"__proto__": {"phase": "DEPLOYED"}, "message": 1}') as object;
  const read = statusOf(status) as { phase?: unknown; polluted?: unknown };
  expect([read.phase, Object.getPrototypeOf(read)]).toEqual([undefined, Object.prototype]);
});

test('objects of other groups and kinds are left alone', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', status: 'odd' };
  expect(stripUnreadableStatus(pod)).toBe(pod);
  expect(statusOf('odd', 'constructor')).toBe('odd');
});
