import { expect, test } from 'vitest';
import { CONDITIONS } from '../../dev/reference/meanings.ts';
import { buildReferencePages } from '../../dev/reference/pages.ts';
import * as conditions from '../../src/schema/platform/objects/conditions.ts';

/* The pages of the custom resources, which are printed from their descriptions. */

/** Names in that file that are reasons, not conditions. */
const REASONS = [
  conditions.ASKED_OPEN,
  conditions.HIBERNATED,
  conditions.HOST_TAKEN,
  conditions.ROUTE_KIND_MISSING,
  conditions.SCALED_TO_ZERO,
];

test('every condition is explained for some kind', () => {
  const types = Object.values(conditions).filter((value) => typeof value === 'string');
  const explained = Object.values(CONDITIONS).flatMap((of) => Object.keys(of));
  expect(types.filter((type) => !explained.includes(type)).toSorted()).toEqual(REASONS.toSorted());
});

test('the page of a kind names the conditions that this kind reports, and no others', () => {
  const named = (page: string): string[] => {
    const [, table = ''] = (buildReferencePages()[page] ?? '').split('## Conditions');
    return [...(table.split('## Reasons')[0] ?? '').matchAll(/^\| `(\w+)`/gm)]
      .map(([, type = '']) => type)
      .toSorted();
  };
  expect(named('listener.md')).toEqual(['Ready', 'Reconciling', 'Stalled']);
  expect(named('revision.md')).toEqual([
    'BuildSucceeded',
    'Draining',
    'Ready',
    'Reconciling',
    'RolledOut',
    'Stalled',
    'Suspended',
  ]);
  expect(named('deployment.md')).toContain('TracingProjectShared');
});
