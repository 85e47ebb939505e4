import { expect, test } from 'vitest';
import { decideRollout, type RolloutFacts } from '../../../src/operator/deployment/rollout.ts';
import type {
  DeploymentResource,
  DeploymentSpec,
  RevisionResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { RELEASE } from '../../../src/schema/platform/objects/labels.ts';
import type { PinnedWork } from '../../../src/schema/wire/work-report.ts';
import type { WorkSummary } from '../../../src/schema/wire/work-summary.ts';
import { buildStandIn } from '../../kit/stand-in.ts';
import { newDeployment } from '../../kit/objects.ts';

/* Which replaced revisions keep their work, and until when. */

const NOW = new Date('2026-11-26T12:00:00Z');
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();

type Status = NonNullable<DeploymentResource['status']>;
function deployment(status: Status, rollout?: DeploymentSpec['rollout']): DeploymentResource {
  const made = newDeployment('team', {
    metadata: { name: 'chat' },
    ...(rollout && { spec: { rollout } }),
  });
  return { ...made, status };
}

const revision = (
  name: string,
  status: RevisionResource['status'] = {},
  annotations = {},
): RevisionResource =>
  ({
    metadata: { name, annotations },
    spec: {},
    status: { phase: 'DEPLOYED', pin: 'Run', ...status },
  }) as unknown as RevisionResource;

const pinned = (name: string, more: Partial<PinnedWork> = {}): PinnedWork => ({
  revision: name,
  due: 0,
  running: 0,
  later: 0,
  waiting: 0,
  next_due: null,
  ...more,
});
const summary = (age: number, work?: PinnedWork[]): WorkSummary => ({
  due: 0,
  running: 0,
  webhooks: 0,
  nextDue: undefined,
  slots: 10,
  idleSeconds: 0,
  age,
  ...(work && { pinned: work }),
});

const facts = (given: Partial<RolloutFacts>): RolloutFacts => ({
  revisions: [revision('chat-1'), revision('chat-2')],
  active: 'chat-2',
  summary: undefined,
  share: {},
  settings: buildStandIn({ gateway: { service: 'gateway', namespace: 'gx' } }),
  now: NOW,
  ...given,
});

const draining = (since: number, revisions = ['chat-1']): Status => ({
  activeRevision: 'chat-2',
  rollout: {
    madeAt: ago(since),
    current: 'chat-2',
    living: [...revisions, 'chat-2'],
    draining: revisions.map((name) => ({ revision: name, since: ago(since) })),
  },
});
const namesIn = ({ status }: ReturnType<typeof decideRollout>): string[] | undefined =>
  status?.draining.map((one) => one.revision);

test('a revision keeps its work from the moment that another serves', () => {
  const before = deployment({
    activeRevision: 'chat-1',
    rollout: { madeAt: ago(100), current: 'chat-1', living: ['chat-1'], draining: [] },
  });
  const decided = decideRollout(before, facts({}));
  expect(decided.status).toEqual({
    madeAt: NOW.toISOString(),
    current: 'chat-2',
    living: ['chat-1', 'chat-2'],
    draining: [{ revision: 'chat-1', since: NOW.toISOString() }],
  });
  expect(decided.statements).toMatchObject([
    { type: 'Draining', status: 'True', reason: 'PinnedWork' },
  ]);
});

test('a revision that pins nothing, one that is gone, and one without a gateway keep nothing', () => {
  const before = deployment({ activeRevision: 'chat-1' });
  const unpinned = { phase: 'DEPLOYED', pin: undefined } as unknown as RevisionResource['status'];
  expect(
    namesIn(
      decideRollout(
        before,
        facts({ revisions: [revision('chat-1', unpinned), revision('chat-2')] }),
      ),
    ),
  ).toEqual([]);
  expect(namesIn(decideRollout(before, facts({ revisions: [revision('chat-2')] })))).toEqual([]);
  expect(decideRollout(before, facts({ settings: buildStandIn({}) }))).toEqual({ statements: [] });
});

test.each([
  ['goes on while its work was not counted', 60, summary(1), undefined, undefined],
  ['goes on while nobody reports', 6000, undefined, undefined, undefined],
  [
    'goes on with a thread that waits for a person',
    6000,
    summary(1, [pinned('chat-1', { waiting: 1 })]),
    undefined,
    undefined,
  ],
  [
    'goes on with a run for later',
    6000,
    summary(1, [pinned('chat-1', { later: 1 })]),
    undefined,
    undefined,
  ],
  [
    'goes on while its api pods may still take requests',
    10,
    summary(1, [pinned('chat-1')]),
    undefined,
    undefined,
  ],
  [
    'goes on with a report from before it was replaced',
    60,
    summary(61, [pinned('chat-1')]),
    undefined,
    undefined,
  ],
  ['ends without work', 60, summary(1, [pinned('chat-1')]), undefined, 'Drained'],
  ['ends if its agents never count', 200, summary(1), undefined, 'NotCounted'],
  [
    'ends after pinSeconds',
    61,
    summary(1, [pinned('chat-1', { waiting: 2, due: 1 })]),
    { pinSeconds: 60 },
    'PinExpired',
  ],
  [
    'ends where none may keep work',
    60,
    summary(1, [pinned('chat-1', { waiting: 2 })]),
    { maxDraining: 0 },
    'TooManyDraining',
  ],
] as const)('it %s', (...[, since, work, rollout, reason]) => {
  const decided = decideRollout(deployment(draining(since), rollout), facts({ summary: work }));
  expect(namesIn(decided)).toEqual(reason === undefined ? ['chat-1'] : []);
  expect(decided.statements[0]?.reason).toBe(reason ?? 'PinnedWork');
});

test('an event says how much work goes on with which revision, and why', () => {
  const work = summary(1, [pinned('chat-1', { waiting: 2, due: 1 })]);
  const decided = decideRollout(
    deployment(draining(61), { pinSeconds: 60 }),
    facts({ summary: work }),
  );
  expect(decided.statements[0]).toMatchObject({
    status: 'False',
    event: 'Normal',
    message:
      '1 run and 2 waiting threads of revision chat-1 continue on chat-2: it has kept them for as long as pinSeconds says.',
  });
});

test('work goes on at once where somebody asks for it', () => {
  const released = [revision('chat-1', {}, { [RELEASE]: 'now' }), revision('chat-2')];
  const decided = decideRollout(deployment(draining(60)), facts({ revisions: released }));
  expect([namesIn(decided), decided.statements[0]?.reason]).toEqual([[], 'Released']);
});

test('the oldest makes room where more revisions keep work than may', () => {
  const names = ['chat-0', 'chat-1'];
  const revisions = [...names, 'chat-2'].map((name) => revision(name));
  const work = summary(
    1,
    names.map((name) => pinned(name, { waiting: 1 })),
  );
  const decided = decideRollout(
    deployment(draining(60, names), { maxDraining: 1 }),
    facts({ revisions, summary: work }),
  );
  expect(namesIn(decided)).toEqual(['chat-1']);
  expect(decided.statements[0]?.message).toBe(
    '0 runs and 1 waiting thread of revision chat-0 continue on chat-2: more revisions than maxDraining would keep their work. Revision chat-1 keeps 0 runs and 1 waiting thread.',
  );
});

test('the plan names revisions under way, and its time moves with its names alone', () => {
  const before = deployment(draining(60));
  const work = summary(1, [pinned('chat-1', { running: 1 })]);
  const same = decideRollout(before, facts({ summary: work }));
  expect(same.status).toMatchObject({
    madeAt: ago(60),
    draining: [{ revision: 'chat-1', runs: 1, threads: 0 }],
  });
  const underWay = [
    revision('chat-1'),
    revision('chat-2'),
    revision('chat-3', { phase: 'DEPLOYING' }),
  ];
  const more = decideRollout(before, facts({ summary: work, revisions: underWay }));
  expect(more.status).toMatchObject({
    madeAt: NOW.toISOString(),
    living: ['chat-1', 'chat-2', 'chat-3'],
  });
  const ahead = deployment({
    ...draining(0),
    rollout: { ...draining(0).rollout!, madeAt: new Date(NOW.getTime() + 5000).toISOString() },
  });
  expect(Date.parse(decideRollout(ahead, facts({ revisions: underWay })).status!.madeAt)).toBe(
    NOW.getTime() + 5001,
  );
});

test('the last move stays in the condition', () => {
  const condition = {
    type: 'Draining',
    status: 'False',
    reason: 'Drained',
    message: 'm',
    lastTransitionTime: ago(5),
  } as const;
  const before = deployment({
    activeRevision: 'chat-2',
    conditions: [condition],
    rollout: { madeAt: ago(60), current: 'chat-2', living: ['chat-2'], draining: [] },
  });
  expect(decideRollout(before, facts({})).statements).toEqual([
    { type: 'Draining', status: 'False', reason: 'Drained', message: 'm' },
  ]);
});
