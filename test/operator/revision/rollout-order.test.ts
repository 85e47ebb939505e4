import { describe, expect, test } from 'vitest';
import { turnOf } from '../../../src/operator/revision/rollout-order.ts';
import { activeOf, missingRevision, outdated } from '../../../src/operator/deployment/history.ts';
import { deployment, revision } from '../../kit/objects.ts';

const numbered = (generation: number, status: NonNullable<ReturnType<typeof revision>['status']> = {}, image = `agent:${generation}`) =>
  revision(deployment({ metadata: { generation }, image }), { status });
const rolledOut = (phase: 'DEPLOYED' | 'DEPLOYING' | 'INTERRUPTED') => ({
  phase,
  conditions: [{ type: 'RolledOut', status: 'True' as const, reason: 'R', message: '', lastTransitionTime: 't' }],
});

test('one under way goes on, the newest waits, those between are skipped', () => {
  const [one, two, three] = [numbered(1, { startedAt: 'x', phase: 'DEPLOYING' }), numbered(2), numbered(3)];
  const all = [one, two, three];
  expect(all.map((each) => turnOf(each, all))).toEqual(['go', 'skip', 'wait']);
});

test('the newest goes when nothing is under way', () => {
  const all = [numbered(1, { startedAt: 'x', phase: 'DEPLOY_FAILED' }), numbered(2)];
  expect(turnOf(all[1] as (typeof all)[0], all)).toBe('go');
});

test('the newest whose pods are all there serves; one that was stopped does not', () => {
  const old = numbered(1, rolledOut('DEPLOYED'));
  expect(activeOf([old, numbered(2, { phase: 'DEPLOYING' })], undefined)?.metadata.name).toBe('chat-00001');
  expect(activeOf([old, numbered(2, rolledOut('DEPLOYING'))], 'chat-00001')?.metadata.name).toBe('chat-00002');
  expect(activeOf([old, numbered(2, rolledOut('INTERRUPTED'))], 'chat-00001')?.metadata.name).toBe('chat-00001');
});

test('a template that no revision has asks for one, the same template for none', () => {
  const of = deployment({ metadata: { generation: 2 }, image: 'agent:2' });
  expect(missingRevision(of, [numbered(1)])?.metadata.name).toBe('chat-00002');
  expect(missingRevision(of, [numbered(2)])).toBeUndefined();
});

test('a deployment seen late brings no collected revision back', () => {
  expect(missingRevision(deployment({ metadata: { generation: 1 }, image: 'agent:1' }), [numbered(2)])).toBeUndefined();
});

describe('history', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  const kept = { limit: 2, days: 90, now };
  const name = ({ metadata }: { metadata: { name: string } }): string => metadata.name;

  test('keeps the newest, the serving one and so many others; failed ones go, too', () => {
    const all = [1, 2, 3, 4, 5].map((number) => numbered(number, { phase: 'DEPLOY_FAILED' }));
    expect(outdated(all, 'chat-00001', kept).map(name)).toEqual(['chat-00002']);
  });

  test('forgets what ended long ago, but never the one that served before', () => {
    const endedAt = '2026-01-01T00:00:00Z';
    const all = [1, 2, 3, 4].map((number) => numbered(number, { phase: 'DEPLOYED', endedAt }));
    expect(outdated(all, 'chat-00004', kept).map(name)).toEqual(['chat-00002', 'chat-00001']);
    expect(outdated(all, 'chat-00004', { ...kept, days: 365 }).map(name)).toEqual(['chat-00001']);
    expect(outdated(all, 'chat-00003', { ...kept, limit: 1 }).map(name)).toEqual(['chat-00001']);
  });

  test('keeps those under way', () => {
    expect(outdated([numbered(1, { phase: 'DEPLOYING' }), numbered(2, { phase: 'QUEUED' })], undefined, { ...kept, limit: 0 })).toEqual([]);
  });
});
