import { expect, test } from 'vitest';
import { Conflict, Forbidden, NotFound, Unavailable } from '../../../src/errors.ts';
import { AlreadyExists, Expired, buildKubeError, KubeRefused } from '../../../src/kube/errors.ts';

test.each([
  [403, Forbidden],
  [404, NotFound],
  [409, Conflict],
  [410, Expired],
  [422, KubeRefused],
  [400, KubeRefused],
  [401, Unavailable],
  [429, Unavailable],
  [500, Unavailable],
  [504, Unavailable],
])('%i says what can be done', (status, expected) => {
  expect(buildKubeError(status, '{"message":"no"}')).toBeInstanceOf(expected);
});

test.each([
  'failed to create typed patch object (a/b; v1, Kind=Pod): .spec.x: field not declared',
  'failed to convert new object (a/b): no',
])('an object that does not fit is refused, though the answer is 500: %s', (message) => {
  expect(buildKubeError(500, JSON.stringify({ message }))).toBeInstanceOf(KubeRefused);
});

test.each([
  [
    'pods "a" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2',
    true,
  ],
  ['pods "a" is forbidden: failed quota: small: must specify limits.cpu', true],
  ['pods "a" is forbidden: status unknown for quota: small, resources: pods', true],
  ['admission webhook "policy" denied the request: no', false],
])('a refusal for the sake of the object tells whether it is a quota: %s', (message, isQuota) => {
  expect(buildKubeError(403, JSON.stringify({ message }))).toMatchObject({
    name: 'Denied',
    isQuota,
  });
});

test('only one kind of 409 says that the object is there', () => {
  expect(buildKubeError(409, '{"reason":"AlreadyExists"}')).toBeInstanceOf(AlreadyExists);
  expect(buildKubeError(409, '{"reason":"Conflict"}')).not.toBeInstanceOf(AlreadyExists);
});

test('a refusal names its fields, in the words of the API server', () => {
  const body = {
    message: 'x is invalid',
    reason: 'Invalid',
    details: { causes: [{ field: 'spec', reason: 'FieldValueInvalid', message: 'bad' }] },
  };
  const causes = [{ field: 'spec', reason: 'FieldValueInvalid', message: 'bad' }];
  expect(buildKubeError(422, JSON.stringify(body))).toMatchObject({
    message: 'x is invalid',
    reason: 'Invalid',
    causes,
  });
});

test('a body that is no JSON is told as it is', () => {
  expect(buildKubeError(502, '<html>bad gateway').message).toContain('bad gateway');
});
