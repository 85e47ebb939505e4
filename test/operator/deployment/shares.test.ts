import { describe, expect, test } from 'vitest';
import { decideRollout } from '../../../src/operator/deployment/rollout.ts';
import {
  decideShare,
  findWaitingRevision,
  type ShareDecision,
  type ShareFacts,
} from '../../../src/operator/deployment/shares.ts';
import { isTriedOut } from '../../../src/operator/rollout/by-share.ts';
import type { GateReport } from '../../../src/schema/wire/work-report.ts';
import type { VerdictOnShare } from '../../../src/operator/scale/verdict.ts';
import type {
  DeploymentResource,
  DeploymentSpec,
  RevisionResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { ROLLOUT } from '../../../src/schema/platform/objects/labels.ts';
import type {
  AbortCause,
  CandidateRevision,
} from '../../../src/schema/platform/rollout/rollout-spec.ts';
import { buildStandIn } from '../../kit/stand-in.ts';
import type { OperatorSettings } from '../../../src/config/platform/operator.ts';
import { newDeployment } from '../../kit/objects.ts';

/* Which share of the new threads a new revision gets, and when it serves. chat-1 serves, and chat-2 is new. */

const NOW = new Date('2026-11-26T12:00:00Z');
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString();
const STEPS = [
  { share: 10, seconds: 60 },
  { share: 50, pause: true },
  { share: 90, seconds: 30 },
];

type Rollout = NonNullable<DeploymentResource['status']>['rollout'];
const planOf = (more: Partial<NonNullable<Rollout>> = {}): NonNullable<Rollout> => ({
  madeAt: ago(1000),
  current: 'chat-1',
  living: ['chat-1', 'chat-2'],
  draining: [],
  ...more,
});

function deployment(
  rollout?: Partial<NonNullable<Rollout>>,
  spec: Partial<DeploymentSpec> = {},
): DeploymentResource {
  const made = newDeployment('team', {
    metadata: { name: 'chat' },
    spec: { rollout: { steps: STEPS }, ...spec },
  });
  return { ...made, status: { activeRevision: 'chat-1', rollout: planOf(rollout) } };
}

type Given = {
  phase?: NonNullable<RevisionResource['status']>['phase'];
  move?: string;
  rollbackOf?: string;
  endedAt?: string;
  at?: string;
};
const revision = (
  number: number,
  { phase = 'DEPLOYED', move, rollbackOf, endedAt, at }: Given = {},
): RevisionResource =>
  ({
    metadata: {
      name: `chat-${number}`,
      creationTimestamp: at ?? ago(100),
      annotations: { ...(move && { [ROLLOUT]: move }) },
    },
    spec: { number, ...(rollbackOf && { rollbackOf }) },
    status: {
      phase,
      pin: 'Run',
      startedAt: ago(100),
      message: `It is ${phase}.`,
      ...(endedAt && { endedAt }),
    },
  }) as unknown as RevisionResource;
const FIRST = revision(1);
const underWay = (given: Given = {}): RevisionResource =>
  revision(2, { phase: 'DEPLOYING', ...given });

const decide = (of: DeploymentResource, facts: Partial<ShareFacts> = {}): ShareDecision =>
  decideShare(of, {
    revisions: [FIRST, underWay()],
    active: 'chat-1',
    complete: 'chat-2',
    verdict: undefined,
    gate: undefined,
    now: NOW,
    ...facts,
  });

const tried = (
  share: number,
  seconds: number,
  more: Partial<CandidateRevision> = {},
): CandidateRevision => ({
  revision: 'chat-2',
  step: STEPS.filter((step) => step.share <= share).length,
  share,
  by: 'thread',
  since: ago(seconds),
  ...more,
});
const at = (share: number, seconds: number, more: Partial<CandidateRevision> = {}) =>
  deployment({ candidate: tried(share, seconds, more) });

describe('a new revision', () => {
  test('begins with the first step once its pods are ready', () => {
    expect(decide(deployment(), { complete: undefined })).toEqual({});
    expect(decide(deployment())).toEqual({ candidate: tried(10, 0), again: 60 });
  });

  test('goes on when the time of its step is over and its pods are ready', () => {
    expect(decide(at(10, 20))).toEqual({ candidate: tried(10, 20), again: 40 });
    expect(decide(at(10, 60))).toEqual({ candidate: tried(50, 0) });
    expect(decide(at(90, 29)).candidate).toEqual(tried(90, 29));
    expect(decide(at(90, 30)).candidate).toEqual(tried(90, 30, { promoted: true }));
  });

  test('waits while its pods are not ready, and where somebody has to go on', () => {
    expect(decide(at(10, 90), { complete: undefined }).candidate).toEqual(
      tried(10, 90, { unreadySince: NOW.toISOString() }),
    );
    expect(
      decide(at(10, 90, { unreadySince: ago(9) }), { complete: undefined }).candidate?.unreadySince,
    ).toBe(ago(9));
    expect(decide(at(50, 900_000))).toEqual({ candidate: tried(50, 900_000) });
  });

  test.each([
    ['promote', { ...tried(50, 9), promoted: true }],
    ['share=60', { ...tried(60, 0), step: 2 }],
    ['share=20', tried(50, 9)],
    ['share=200', tried(50, 9)],
    ['faster', tried(50, 9)],
  ])('is moved by hand: %s', (move, candidate) => {
    expect(decide(at(50, 9), { revisions: [FIRST, underWay({ move })] }).candidate).toEqual(
      candidate,
    );
  });

  test('serves at once where the deployment has lost its steps', () => {
    expect(
      decide({ ...at(10, 1), spec: { ...at(10, 1).spec, rollout: {} } }).candidate?.promoted,
    ).toBe(true);
  });

  test('keeps its share while the deployment hibernates, and its time begins anew', () => {
    const of = deployment({ candidate: tried(10, 90) }, { hibernate: true });
    expect(decide(of, { complete: undefined })).toEqual({ candidate: tried(10, 0) });
  });

  test('keeps its share and its step while the deployment sleeps, and a person may move it', () => {
    const asleep = (share: number, more: Partial<CandidateRevision> = {}): DeploymentResource => {
      const of = at(share, 900, more);
      return { ...of, status: { ...of.status, asleepSince: ago(90) } };
    };
    expect(decide(asleep(50), { complete: undefined })).toEqual({ candidate: tried(50, 900) });
    const moved = (move: string): ShareDecision =>
      decide(asleep(50), { complete: undefined, revisions: [FIRST, underWay({ move })] });
    expect(moved('promote').candidate?.promoted).toBe(true);
    expect(moved('share=90').candidate).toEqual(tried(90, 0));
    expect(moved('abort').aborted?.message).toBe('Someone aborted it.');
  });

  test('waits at a step that somebody has to end, and nowhere else unless checks have no result', () => {
    const waits = (of: DeploymentResource, more: Partial<ShareFacts> = {}): boolean => {
      const facts = {
        revisions: [FIRST, underWay()],
        active: 'chat-1',
        complete: 'chat-2',
        verdict: undefined,
        gate: undefined,
        now: NOW,
      };
      const { candidate } = of.status!.rollout!;
      return (
        findWaitingRevision(of, { ...(candidate && { candidate }) }, { ...facts, ...more }) !==
        undefined
      );
    };
    expect([waits(at(50, 9)), waits(at(10, 9)), waits(at(90, 90))]).toEqual([true, false, false]);
    expect(waits(at(50, 9, { promoted: true }))).toBe(false);
    expect(waits(at(50, 9, { unreadySince: ago(1) }))).toBe(false);
    const rollout = { steps: STEPS, checks: [{ figure: 'errors' as const, worseBy: 5 }] };
    const checked = (seconds: number) => deployment({ candidate: tried(10, seconds) }, { rollout });
    const fine: VerdictOnShare = {
      state: 'fine',
      message: 'Fine.',
      share: 10,
      candidate: 'chat-2',
    };
    expect([waits(checked(59)), waits(checked(60)), waits(checked(60), { verdict: fine })]).toEqual(
      [false, true, false],
    );
    const gate = { assistant: 'chat', input: '{}' };
    const gated = deployment(
      { candidate: tried(0, 9, { gate: { since: ago(9) } }) },
      { rollout: { steps: STEPS, gate } },
    );
    expect(waits(gated)).toBe(false);
  });

  test('is tried out no longer once it serves', () => {
    expect(
      decide(at(90, 30, { promoted: true }), { active: 'chat-2', complete: undefined }),
    ).toEqual({});
  });
});

describe('with checks', () => {
  const checks = [{ figure: 'errors' as const, worseBy: 5 }];
  const of = (share: number, seconds: number, more: Partial<CandidateRevision> = {}) =>
    deployment({ candidate: tried(share, seconds, more) }, { rollout: { steps: STEPS, checks } });
  const said = (state: VerdictOnShare['state'], message: string, share = 10): VerdictOnShare => ({
    state,
    message,
    share,
    candidate: 'chat-2',
  });

  test.each<[string, VerdictOnShare | undefined, string]>([
    ['nobody has looked', undefined, 'Its runs are not counted yet.'],
    ['they say nothing of this share', said('fine', 'Fine.', 5), 'Its runs are not counted yet.'],
    [
      'one of them waits',
      said('waits', 'The check of errors needs 50 runs of each revision.'),
      'The check of errors needs 50 runs of each revision.',
    ],
  ])('a step waits while %s', (_, verdict, message) => {
    expect(decide(of(10, 900), { verdict }).candidate).toEqual(
      tried(10, 900, { verdict: message }),
    );
  });
  test('a step is over when its time is over and all are fine', () => {
    expect(decide(of(10, 59), { verdict: said('fine', 'Fine.') }).candidate?.share).toBe(10);
    expect(decide(of(10, 60), { verdict: said('fine', 'Fine.') }).candidate?.share).toBe(50);
  });
  test('a failed one gives the revision up, unless somebody has let it serve', () => {
    const verdict = said('failed', 'errors: 20.0 % of 100 runs, and 1.0 % of 500 of the other');
    expect(decide(of(10, 5), { verdict })).toEqual({
      aborted: {
        revision: 'chat-2',
        since: NOW.toISOString(),
        cause: 'Check',
        message: `A check failed: ${verdict.message}.`,
      },
    });
    expect(
      decide(of(90, 5, { promoted: true }), { verdict: { ...verdict, share: 90 } }).candidate
        ?.promoted,
    ).toBe(true);
    expect(
      decide(of(10, 5), { verdict: { ...verdict, candidate: 'chat-3' } }).aborted,
    ).toBeUndefined();
  });
});

describe('with a gate', () => {
  const rollout = { steps: STEPS, gate: { assistant: 'echo', input: '{}', seconds: 60 } };
  const at0 = (seconds: number): CandidateRevision =>
    tried(0, seconds, { gate: { since: ago(seconds) } });
  const of = (candidate?: CandidateRevision) => deployment(candidate && { candidate }, { rollout });
  const word = (status: GateReport['status'], since = 20): GateReport => ({
    id: `chat-2/${ago(since)}`,
    status,
    message: 'run 7',
  });

  test('it begins without a share', () => {
    expect(decide(of()).candidate).toEqual(at0(0));
  });
  test.each<[string, GateReport | undefined]>([
    ['nobody reports', undefined],
    ['its run is under way', word('running')],
    ['the report is about a former gate', word('success', 90)],
  ])('it waits while %s', (_, gate) => {
    expect(decide(of(at0(20)), { gate })).toEqual({ candidate: at0(20), again: 40 });
  });
  test('its first step begins when its run has succeeded', () => {
    const gate = { since: ago(20), passed: true };
    expect(decide(of(at0(20)), { gate: word('success') })).toEqual({
      candidate: tried(10, 0, { gate }),
      again: 60,
    });
    expect(decide(of(tried(10, 60, { gate }))).candidate?.share).toBe(50);
  });
  test.each<[string, GateReport | undefined, number, RegExp]>([
    ['fails', word('error'), 20, /The gate failed: error, run 7\./],
    ['is stopped', word('interrupted'), 20, /The gate failed: interrupted, run 7\./],
    ['takes too long', undefined, 60, /The gate failed: its run did not succeed within 60 s\./],
  ])('it is given up when its run %s', (_, gate, seconds, message) => {
    expect(decide(of(at0(seconds)), { gate }).aborted?.message).toMatch(message);
  });
  test('it is given up when its input is no JSON object', () => {
    const faulty = deployment(
      { candidate: at0(1) },
      { rollout: { ...rollout, gate: { ...rollout.gate, input: '[1]' } } },
    );
    expect(decide(faulty).aborted).toMatchObject({
      cause: 'Gate',
      message: 'The gate failed: spec.rollout.gate.input is not a JSON object.',
    });
  });
  test('somebody may go on without it', () => {
    const raised = decide(of(at0(20)), { revisions: [FIRST, underWay({ move: 'share=60' })] });
    expect(raised.candidate).toEqual(tried(60, 0, { gate: { since: ago(20), passed: true } }));
    expect(
      decide(of(at0(900)), { revisions: [FIRST, underWay({ move: 'promote' })] }).aborted,
    ).toBeDefined();
  });
  test('its time stands still while the deployment hibernates', () => {
    const hibernating = deployment({ candidate: at0(20) }, { rollout, hibernate: true });
    expect(decide(hibernating, { complete: undefined }).candidate).toEqual(at0(0));
  });
});

describe('a revision is given up', () => {
  test.each<[string, RevisionResource[], AbortCause, RegExp]>([
    [
      'when somebody asks for it',
      [FIRST, underWay({ move: 'abort' })],
      'Person',
      /Someone aborted it/,
    ],
    [
      'when it fails',
      [FIRST, underWay({ phase: 'DEPLOY_FAILED' })],
      'Failure',
      /It is DEPLOY_FAILED/,
    ],
    [
      'when somebody interrupts it',
      [FIRST, underWay({ phase: 'INTERRUPTED' })],
      'Person',
      /It is INTERRUPTED/,
    ],
    [
      'for a newer one',
      [FIRST, underWay(), revision(3, { phase: 'QUEUED' })],
      'Person',
      /Revision chat-3 takes its place/,
    ],
    ['when it is deleted', [FIRST], 'Person', /Someone deleted it/],
  ])('%s', (_, revisions, cause, message) => {
    const decided = decide(at(50, 9), { revisions });
    expect(decided).toEqual({
      aborted: {
        revision: 'chat-2',
        since: NOW.toISOString(),
        cause,
        message: expect.stringMatching(message) as string,
      },
    });
  });

  test('and is not tried again while its own status says that it is under way', () => {
    const aborted = { revision: 'chat-2', since: ago(1), message: 'The gate failed.' };
    expect(decide(deployment({ aborted }))).toEqual({ aborted });
  });

  test('and is remembered until a newer one is asked for', () => {
    const aborted = { revision: 'chat-2', since: ago(9), message: 'Someone aborted it.' };
    const failed = revision(2, { phase: 'DEPLOY_FAILED' });
    const seen = (...revisions: RevisionResource[]) =>
      decide(deployment({ aborted }), { revisions, complete: undefined });
    expect(seen(FIRST, underWay({ move: 'abort' }))).toEqual({ aborted });
    expect(seen(FIRST, failed)).toEqual({ aborted });
    expect(seen(FIRST, failed, revision(3, { phase: 'QUEUED' }))).toEqual({});
  });

  test('and finishes what it has begun', () => {
    const of = at(50, 9);
    const revisions = [FIRST, underWay({ move: 'abort' })];
    const share = decide(of, { revisions });
    const settings = buildStandIn<OperatorSettings>({
      gateway: { service: 'gateway', namespace: 'gx' },
    });
    const { status } = decideRollout(of, {
      revisions,
      active: 'chat-1',
      share,
      summary: undefined,
      settings,
      now: NOW,
    });
    expect(status).toMatchObject({
      madeAt: NOW.toISOString(),
      living: ['chat-1', 'chat-2'],
      draining: [{ revision: 'chat-2', aborted: true, since: NOW.toISOString() }],
    });
    expect(status?.candidate).toBeUndefined();
    const moving = {
      ...of,
      spec: { ...of.spec, rollout: { steps: STEPS, onAbort: 'Move' as const } },
    };
    const moved = decideRollout(moving, {
      revisions,
      active: 'chat-1',
      share,
      summary: undefined,
      settings,
      now: NOW,
    });
    expect(moved.status).toMatchObject({ living: ['chat-1'], draining: [] });
  });
});

describe('the plan', () => {
  const plan = (of: DeploymentResource) => {
    const facts = { revisions: [FIRST, underWay()], active: 'chat-1', now: NOW };
    const share = decideShare(of, {
      ...facts,
      complete: 'chat-2',
      verdict: undefined,
      gate: undefined,
    });
    return decideRollout(of, {
      ...facts,
      share,
      summary: undefined,
      settings: buildStandIn({ gateway: { service: 'g', namespace: 'gx' } }),
    }).status;
  };
  test('is a new one when the share changes, and the same while it stays', () => {
    expect(plan(at(10, 20))?.madeAt).toBe(ago(1000));
    expect(plan(at(10, 60))).toMatchObject({ madeAt: NOW.toISOString(), candidate: { share: 50 } });
  });
});

describe('what serves without steps', () => {
  const former = revision(1, { endedAt: ago(9000) });
  const serving = (replaced: number) => revision(2, { endedAt: ago(replaced) });
  const of = (steps = STEPS): DeploymentResource => {
    const made = deployment({}, { rollout: { steps } });
    return { ...made, status: { ...made.status, activeRevision: 'chat-2' } };
  };
  const back = revision(3, { phase: 'DEPLOYING', rollbackOf: 'chat-1', at: ago(10) });
  const again = revision(3, { phase: 'DEPLOYING', rollbackOf: 'chat-2', at: ago(10) });
  test.each<[string, RevisionResource, RevisionResource[], boolean]>([
    [
      'a revision that repeats what served within the last hour',
      back,
      [former, serving(3600), back],
      false,
    ],
    ['one that repeats what serves', again, [former, serving(9000), again], false],
    ['but not one that repeats what served before', back, [former, serving(3700), back], true],
    ['nor a new one', revision(3), [former, serving(60), revision(3)], true],
  ])('%s', (_, asked, revisions, is) => {
    expect(isTriedOut(asked, of(), revisions)).toBe(is);
    expect(isTriedOut(asked, of([]), revisions)).toBe(false);
  });

  test('nor the first revision', () => {
    const { status: _status, ...unborn } = deployment();
    expect(isTriedOut(FIRST, unborn, [FIRST])).toBe(false);
  });
});
