import { expect, test } from 'vitest';
import {
  chooseActiveRevision,
  decideRolloutOrder,
} from '../../../src/operator/rollout/revisions.ts';
import { deployment, revision } from '../../kit/objects.ts';

const numbered = (
  generation: number,
  status: NonNullable<ReturnType<typeof revision>['status']> = {},
  image = `agent:${generation}`,
) => revision(deployment({ metadata: { generation }, image }), { status });
const rolledOut = (phase: 'DEPLOYED' | 'DEPLOYING' | 'INTERRUPTED') => ({
  phase,
  conditions: [
    {
      type: 'RolledOut',
      status: 'True' as const,
      reason: 'R',
      message: '',
      lastTransitionTime: 't',
    },
  ],
});

test('one under way goes on, the newest waits, those between are skipped', () => {
  const [one, two, three] = [
    numbered(1, { startedAt: 'x', phase: 'DEPLOYING' }),
    numbered(2),
    numbered(3),
  ];
  const all = [one, two, three];
  expect(all.map((each) => decideRolloutOrder(each, all))).toEqual(['go', 'skip', 'wait']);
});

test('the newest goes when nothing is under way', () => {
  const all = [numbered(1, { startedAt: 'x', phase: 'DEPLOY_FAILED' }), numbered(2)];
  expect(decideRolloutOrder(all[1] as (typeof all)[0], all)).toBe('go');
});

test('the newest whose pods are all there serves; one that was stopped does not', () => {
  const old = numbered(1, rolledOut('DEPLOYED'));
  expect(
    chooseActiveRevision([old, numbered(2, { phase: 'DEPLOYING' })], undefined)?.metadata.name,
  ).toBe('chat-00001');
  expect(
    chooseActiveRevision([old, numbered(2, rolledOut('DEPLOYING'))], 'chat-00001')?.metadata.name,
  ).toBe('chat-00002');
  expect(
    chooseActiveRevision([old, numbered(2, rolledOut('INTERRUPTED'))], 'chat-00001')?.metadata.name,
  ).toBe('chat-00001');
});
