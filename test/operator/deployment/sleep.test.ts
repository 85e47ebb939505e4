import { describe, expect, test } from 'vitest';
import { decideSleep, type SleepFacts } from '../../../src/operator/deployment/sleep.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import type { WorkSummary } from '../../../src/schema/wire/work-summary.ts';
import { deployment, revision, settings } from '../../kit/objects.ts';

/* When a deployment falls asleep, and what wakes it. */

const NOW = new Date('2026-11-23T12:00:00Z');
const SINCE = '2026-11-23T11:00:00.000Z';
const at = (seconds: number): string => new Date(NOW.getTime() + seconds * 1000).toISOString();

const RESTING: WorkSummary = {
  due: 0,
  running: 0,
  webhooks: 0,
  nextDue: undefined,
  slots: 10,
  idleSeconds: 901,
  age: 3,
};
const SETTINGS = settings({ gateway: { service: 'gateway', namespace: 'gx-system' } });
const ZERO = {
  template: { sourceRevisionConfig: { imageUri: 'agent:1' }, resourceSpec: { minScale: 0 } },
};

type Given = {
  status?: DeploymentResource['status'];
  facts?: Partial<SleepFacts>;
  more?: Parameters<typeof deployment>[0];
  guard?: 'key' | 'open' | 'handlers' | 'unreported';
};

const sleeper = ({ status, more }: Given): DeploymentResource =>
  deployment({ ...ZERO, ...more, status: { activeRevision: 'chat-00001', ...status } });

function decided({ guard = 'key', ...given }: Given = {}) {
  const of = sleeper(given);
  const serving = revision(of, {
    status: { phase: 'DEPLOYED', ...(guard !== 'unreported' && { guard }) },
  });
  const api = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'chat-00001-api' },
    status: { availableReplicas: 1 },
  };
  const facts: SleepFacts = {
    revisions: [serving],
    active: 'chat-00001',
    waiting: undefined,
    workloads: [api],
    summary: RESTING,
    hasGateway: true,
    port: 12_345,
    settings: SETTINGS,
    now: NOW,
    ...given.facts,
  };
  return decideSleep(of, facts);
}
const reasonOf = (given: Given): string | undefined => decided(given).statements[0]?.reason;

describe('falls asleep', () => {
  test('after its rest, and keeps in mind what is due next', () => {
    expect(decided({ facts: { summary: { ...RESTING, nextDue: at(3600) } } })).toEqual({
      sleep: { asleepSince: NOW.toISOString(), nextDueAt: at(3600) },
      statements: [
        {
          type: 'Asleep',
          status: 'True',
          reason: 'Idle',
          message: `Nobody has used it for a while. It wakes for the next request, or before ${at(3600)}.`,
          event: 'Normal',
        },
      ],
    });
  });

  test('after a time of its own', () => {
    const more = { spec: { sleep: { afterSeconds: 10 } } };
    expect(
      decided({ more, facts: { summary: { ...RESTING, idleSeconds: 11 } } }).sleep.asleepSince,
    ).toBeDefined();
  });

  test.each([
    ['a run is due', { due: 1 }],
    ['a run is under way', { running: 1 }],
    ['a webhook is to be told', { webhooks: 1 }],
    ['somebody has asked lately', { idleSeconds: 899 }],
    ['nobody has told when it was asked last', { idleSeconds: undefined }],
    ['something is due within two minutes', { nextDue: at(100) }],
  ])('not while %s', (_, summary) => {
    expect(decided({ facts: { summary: { ...RESTING, ...summary } } })).toMatchObject({
      sleep: {},
      statements: [{ status: 'False', reason: 'InUse' }],
    });
  });

  test('not while nothing is reported, or its port is not known to the gateway', () => {
    expect(decided({ facts: { summary: undefined } }).sleep).toEqual({});
    const of = deployment({ ...ZERO, status: { activeRevision: 'chat-00001' } });
    expect(
      decideSleep(of, {
        revisions: [revision(of, { status: { phase: 'DEPLOYED', guard: 'key' } })],
        active: 'chat-00001',
        waiting: undefined,
        workloads: [],
        summary: RESTING,
        hasGateway: true,
        port: undefined,
        settings: SETTINGS,
        now: NOW,
      }).sleep,
    ).toEqual({});
  });

  test('not where handlers of its own decide who may call, or no gateway is ready', () => {
    expect(reasonOf({ guard: 'handlers' })).toBe('OwnHandlers');
    expect(reasonOf({ facts: { hasGateway: false } })).toBe('NoGateway');
    expect(reasonOf({ guard: 'unreported' })).toBe('GuardUnknown');
  });

  test('never where its spec asks for a pod, where no gateway is installed, or while its owner stops it', () => {
    const one = { template: { ...ZERO.template, resourceSpec: { minScale: 0, queueMinScale: 1 } } };
    expect(decided({ more: one })).toEqual({ sleep: {}, statements: [] });
    expect(decided({ facts: { settings: settings() } })).toEqual({ sleep: {}, statements: [] });
    expect(
      decided({ more: { spec: { hibernate: true } }, status: { asleepSince: SINCE } }),
    ).toEqual({ sleep: {}, statements: [] });
  });
});

describe('with a newest revision that ended without serving', () => {
  const of = sleeper({});
  const withNewest = (
    phase: 'BUILD_FAILED' | 'DEPLOY_FAILED' | 'INTERRUPTED' | 'BUILDING',
  ): Partial<SleepFacts> => {
    const newer = revision(
      { ...of, metadata: { ...of.metadata, generation: 2 } },
      { status: { phase } },
    );
    return { revisions: [newer, revision(of, { status: { phase: 'DEPLOYED', guard: 'key' } })] };
  };

  test.each(['BUILD_FAILED', 'DEPLOY_FAILED', 'INTERRUPTED'] as const)(
    '%s: what serves falls asleep and sleeps on',
    (phase) => {
      expect(reasonOf({ facts: withNewest(phase) })).toBe('Idle');
      expect(
        reasonOf({
          status: { asleepSince: SINCE },
          facts: { ...withNewest(phase), summary: undefined },
        }),
      ).toBe('Idle');
    },
  );

  test('one under way keeps it awake', () => {
    expect(reasonOf({ facts: withNewest('BUILDING') })).toBe('InUse');
    expect(reasonOf({ status: { asleepSince: SINCE }, facts: withNewest('BUILDING') })).toBe(
      'SpecChanged',
    );
  });
});

describe('asleep', () => {
  const status = { asleepSince: SINCE };
  const gone = { ...RESTING, age: 7200 };

  test('it sleeps on, with nothing reported, and looks again before what is due', () => {
    expect(decided({ status, facts: { summary: undefined } }).sleep).toEqual({
      asleepSince: SINCE,
    });
    const due = decided({
      status: { ...status, nextDueAt: at(3600) },
      facts: { summary: undefined },
    });
    expect(due).toMatchObject({ sleep: { asleepSince: SINCE, nextDueAt: at(3600) }, again: 3540 });
  });

  test('a request wakes it, but only one for this sleep', () => {
    const asked = (value: string): Given => ({
      status,
      more: { metadata: { annotations: { 'gx.dev/wake': value } } },
      facts: { summary: gone },
    });
    expect(decided(asked(SINCE))).toMatchObject({
      sleep: {},
      statements: [{ status: 'False', reason: 'WokenByRequest', event: 'Normal' }],
    });
    expect(decided(asked('2026-11-23T10:00:00.000Z')).sleep).toEqual({ asleepSince: SINCE });
  });

  test('what is due within a minute wakes it', () => {
    expect(
      reasonOf({ status: { ...status, nextDueAt: at(59) }, facts: { summary: undefined } }),
    ).toBe('DueSoon');
    expect(
      reasonOf({ status: { ...status, nextDueAt: at(-500) }, facts: { summary: undefined } }),
    ).toBe('DueSoon');
  });

  test('work that its last pods told of wakes it, and older counts do not', () => {
    expect(reasonOf({ status, facts: { summary: { ...RESTING, due: 1, age: 5 } } })).toBe(
      'WorkFound',
    );
    expect(reasonOf({ status, facts: { summary: { ...gone, due: 1 } } })).toBe('Idle');
  });

  test('a delayed run that its last pods told of is kept in mind', () => {
    expect(
      decided({ status, facts: { summary: { ...RESTING, nextDue: at(600), age: 5 } } }).sleep
        .nextDueAt,
    ).toBe(at(600));
  });

  test('another revision wakes it', () => {
    const of = sleeper({ status });
    const newer = revision({ ...of, metadata: { ...of.metadata, generation: 2 } });
    expect(
      reasonOf({
        status,
        facts: { revisions: [newer, revision(of, { status: { phase: 'DEPLOYED' } })] },
      }),
    ).toBe('SpecChanged');
  });

  test('a revision that is tried out lets it sleep where it waits, and wakes it when it goes on', () => {
    const candidate = {
      revision: 'chat-00002',
      step: 1,
      share: 50,
      by: 'thread' as const,
      since: SINCE,
    };
    const rollout = {
      madeAt: SINCE,
      current: 'chat-00001',
      living: ['chat-00001', 'chat-00002'],
      draining: [],
      candidate,
    };
    const newer = (of: DeploymentResource) =>
      revision(
        { ...of, metadata: { ...of.metadata, generation: 2 } },
        { status: { phase: 'DEPLOYING' } },
      );
    const seen = (
      given: Partial<Record<'asleepSince' | 'waiting', string>>,
      guard: 'key' | 'handlers' = 'key',
    ) => {
      const { waiting, ...more } = given;
      const of = sleeper({ status: { ...more, rollout } });
      const revisions = [newer(of), revision(of, { status: { phase: 'DEPLOYED', guard } })];
      const { sleep, statements } = decided({
        status: { ...more, rollout },
        facts: { revisions, waiting },
      });
      return [sleep.asleepSince !== undefined, statements[0]?.reason];
    };
    expect(newer(sleeper({})).metadata.name).toBe('chat-00002');
    expect(seen({})).toEqual([false, 'InUse']);
    expect(seen({ waiting: 'chat-00002' })).toEqual([true, 'Idle']);
    expect(seen({ waiting: 'chat-00002' }, 'handlers')).toEqual([false, 'OwnHandlers']);
    expect(seen({ asleepSince: SINCE, waiting: 'chat-00002' })).toEqual([true, 'Idle']);
    expect(seen({ asleepSince: SINCE })).toEqual([false, 'RolloutMoved']);
  });

  test('a restore wakes it once all is stopped for it, because other work may be due in other data', () => {
    const replacing = (step: 'Checking' | 'BackingUp') => ({
      ...status,
      replacement: { requestedAt: SINCE, since: SINCE, step },
    });
    expect(reasonOf({ status: replacing('Checking'), facts: { summary: gone } })).toBe('Idle');
    expect(reasonOf({ status: replacing('BackingUp'), facts: { summary: gone } })).toBe(
      'DataReplaced',
    );
  });

  test('a report of handlers wakes it, because nobody can answer for them', () => {
    expect(reasonOf({ status, guard: 'handlers', facts: { summary: gone } })).toBe('OwnHandlers');
  });

  test('without a gateway it wakes, because nobody else could wake it', () => {
    expect(reasonOf({ status, facts: { summary: gone, hasGateway: false } })).toBe('NoGateway');
  });
});

test('what was reported before it woke does not put it to sleep again', () => {
  const woken = {
    type: 'Asleep',
    status: 'False',
    reason: 'WokenByRequest',
    message: '',
    lastTransitionTime: at(-10),
  } as const;
  expect(
    decided({ status: { conditions: [woken] }, facts: { summary: { ...RESTING, age: 9.5 } } })
      .sleep,
  ).toEqual({});
  expect(
    decided({ status: { conditions: [woken] }, facts: { summary: { ...RESTING, age: 8 } } }).sleep
      .asleepSince,
  ).toBeDefined();
});

test('awake, it tells what woke it until the next sleep', () => {
  const woken = {
    type: 'Asleep',
    status: 'False',
    reason: 'WokenByRequest',
    message: '',
    lastTransitionTime: SINCE,
  } as const;
  expect(
    reasonOf({
      status: { conditions: [woken] },
      facts: { summary: { ...RESTING, idleSeconds: 1 } },
    }),
  ).toBe('WokenByRequest');
});
