import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../../src/kube/kube.ts';
import { buildFullnessReport } from '../../../../../src/operator/database/own/fullness.ts';
import { buildManagedCondition } from '../../../../../src/operator/database/own/ready.ts';
import { deployment, settings } from '../../../../kit/objects.ts';

const NOW = new Date('2026-01-01T00:10:00Z');
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();

type Guard = { ended?: string; reason?: string; restarts?: number; since?: number; away?: boolean };

/** A database's pod whose guard last ended with these words, and has run (again) since then. */
function pod({
  ended,
  reason = 'Completed',
  restarts = ended === undefined ? 0 : 1,
  since = 3600,
  away = false,
}: Guard): KubeObject {
  const terminated = ended === undefined ? undefined : { reason, exitCode: 0, message: ended };
  const guard = {
    name: 'guard',
    ready: !away,
    restartCount: restarts,
    state: away ? { terminated } : { running: { startedAt: ago(since) } },
    lastState: terminated === undefined || away ? {} : { terminated },
  };
  const postgres = {
    name: 'postgres',
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: {} },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'chat-db-0' },
    status: { containerStatuses: [postgres, guard] },
  };
}
const GIB = 2 ** 30;
const words = (level: string, used: number): string =>
  `${level} ${Math.ceil(used * GIB)} ${10 * GIB}\n`;
const condition = {
  type: 'VolumeHasRoom',
  status: 'False' as const,
  reason: 'AlmostFull',
  message: 'As it was.',
  lastTransitionTime: ago(60),
};
const warned = deployment({ status: { conditions: [condition] } });

describe('what was told stands', () => {
  const { lastTransitionTime: _, ...stands } = condition;
  test.each<[string, KubeObject[]]>([
    ['while there is no pod', []],
    ['while the pod only starts', [{ ...pod({}), status: {} }]],
    [
      'while the only pod leaves',
      [{ ...pod({ since: 3600 }), metadata: { name: 'chat-db-0', deletionTimestamp: ago(1) } }],
    ],
    ['when a node has lost its words', [pod({ restarts: 1 })]],
    [
      'when somebody else wrote them',
      [pod({ ended: 'The container could not be located', reason: 'ContainerStatusUnknown' })],
    ],
  ])('%s', (_situation, pods) => {
    expect(buildFullnessReport(warned, pods, NOW)).toEqual({ statement: stands });
  });

  test('for as long as a new guard may have something to tell', () => {
    expect(buildFullnessReport(warned, [pod({ since: 10 })], NOW)).toEqual({
      statement: stands,
      again: 20,
    });
    expect(buildFullnessReport(warned, [pod({ since: 30 })], NOW)).toEqual({});
  });
});

describe('a database whose guard is started again', () => {
  const set: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'chat-db' },
    spec: { replicas: 1 },
    status: {},
  };
  const said = (databasePods: KubeObject[]) => {
    const view = {
      databasePods,
      database: set,
      agentPods: [],
      passwordPods: [],
      workloads: [],
      isAsleep: false,
    };
    return buildManagedCondition(deployment(), { view, settings: settings(), now: NOW });
  };
  const away = pod({ ended: words('full', 9.6), away: true });
  const { containerStatuses } = away.status as { containerStatuses: { name: string }[] };
  const withPostgres = (given: object): KubeObject => ({
    ...away,
    status: {
      containerStatuses: containerStatuses.map((known) =>
        known.name === 'postgres' ? { ...known, ...given } : known,
      ),
    },
  });

  test('answers all the same', () => {
    expect(said([away])).toMatchObject({ status: 'True' });
  });

  test('does not where Postgres is not ready either, and says what Postgres suffers from', () => {
    const crashed = {
      ready: false,
      restartCount: 1,
      state: { terminated: { exitCode: 1, message: 'PANIC: no space' } },
    };
    expect(said([withPostgres({ ready: false, state: { running: {} } })])).toMatchObject({
      status: 'False',
    });
    expect(said([withPostgres(crashed)])).toMatchObject({
      status: 'False',
      message: expect.stringContaining('PANIC: no space'),
    });
  });

  test('is not taken to answer where its node is lost: all its containers are as they were', () => {
    expect(said([pod({ ended: words('full', 9.6) })])).toMatchObject({ status: 'False' });
  });

  test('answers while its set has not heard yet that the guard is back', () => {
    const back = pod({ ended: words('full', 9.6) });
    const status = { ...(back.status as object), conditions: [{ type: 'Ready', status: 'True' }] };
    expect(said([{ ...back, status }])).toMatchObject({ status: 'True' });
    expect(
      said([{ ...back, status, metadata: { name: 'chat-db-0', deletionTimestamp: ago(1) } }]),
    ).toMatchObject({ status: 'False' });
  });

  test('is not taken to answer while it leaves', () => {
    expect(
      said([{ ...away, metadata: { name: 'chat-db-0', deletionTimestamp: ago(1) } }]),
    ).toMatchObject({ status: 'False' });
  });
});
