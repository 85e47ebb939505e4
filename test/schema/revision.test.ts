import { expect, test } from 'vitest';
import { FAILURE_REASONS } from '../../src/schema/platform/deployment/statuses.ts';

test('reasons are words that Kubernetes takes as the reason of a condition', () => {
  expect(FAILURE_REASONS.filter((reason) => !/^[A-Z][A-Za-z0-9]*$/.test(reason))).toEqual([]);
  expect(new Set(FAILURE_REASONS).size).toBe(FAILURE_REASONS.length);
});
