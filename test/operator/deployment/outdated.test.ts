import { describe, expect, test } from 'vitest';
import {
  buildMissingRevision,
  listOutdatedRevisions,
} from '../../../src/operator/deployment/history.ts';
import { deployment, revision } from '../../kit/objects.ts';

const numbered = (
  generation: number,
  status: NonNullable<ReturnType<typeof revision>['status']> = {},
  image = `agent:${generation}`,
) => revision(deployment({ metadata: { generation }, image }), { status });
test('a template that no revision has asks for one, the same template for none', () => {
  const of = deployment({ metadata: { generation: 2 }, image: 'agent:2' });
  expect(buildMissingRevision(of, [numbered(1)])?.metadata.name).toBe('chat-00002');
  expect(buildMissingRevision(of, [numbered(2)])).toBeUndefined();
});

test('a deployment seen late brings no collected revision back', () => {
  expect(
    buildMissingRevision(deployment({ metadata: { generation: 1 }, image: 'agent:1' }), [
      numbered(2),
    ]),
  ).toBeUndefined();
});

describe('history', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  const kept = { limit: 2, days: 90, now };
  const name = ({ metadata }: { metadata: { name: string } }): string => metadata.name;

  test('keeps the newest, the serving one and so many others; failed ones go, too', () => {
    const all = [1, 2, 3, 4, 5].map((number) => numbered(number, { phase: 'DEPLOY_FAILED' }));
    expect(listOutdatedRevisions(all, 'chat-00001', kept).map(name)).toEqual(['chat-00002']);
  });

  test('forgets what ended long ago, but never the one that served before', () => {
    const endedAt = '2026-01-01T00:00:00Z';
    const all = [1, 2, 3, 4].map((number) => numbered(number, { phase: 'DEPLOYED', endedAt }));
    expect(listOutdatedRevisions(all, 'chat-00004', kept).map(name)).toEqual([
      'chat-00002',
      'chat-00001',
    ]);
    expect(listOutdatedRevisions(all, 'chat-00004', { ...kept, days: 365 }).map(name)).toEqual([
      'chat-00001',
    ]);
    expect(listOutdatedRevisions(all, 'chat-00003', { ...kept, limit: 1 }).map(name)).toEqual([
      'chat-00001',
    ]);
  });

  test('keeps those under way', () => {
    expect(
      listOutdatedRevisions(
        [numbered(1, { phase: 'DEPLOYING' }), numbered(2, { phase: 'QUEUED' })],
        undefined,
        { ...kept, limit: 0 },
      ),
    ).toEqual([]);
  });
});
