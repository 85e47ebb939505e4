import { expect, test } from 'vitest';
import { ENDED, FAILURE_REASONS, REVISION_STATUSES } from '../../src/schema/revision.ts';

test('every last phase is a phase; nothing that waits or works is one', () => {
  expect(ENDED.filter((status) => !REVISION_STATUSES.includes(status))).toEqual([]);
  const going = REVISION_STATUSES.filter((status) => !ENDED.includes(status));
  expect(going).toEqual(['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING', 'UNKNOWN']);
});

test('reasons are words that Kubernetes takes as the reason of a condition', () => {
  expect(FAILURE_REASONS.filter((reason) => !/^[A-Z][A-Za-z0-9]*$/.test(reason))).toEqual([]);
  expect(new Set(FAILURE_REASONS).size).toBe(FAILURE_REASONS.length);
});
