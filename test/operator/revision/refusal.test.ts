import { describe, expect, test } from 'vitest';
import { Denied, KubeRefused } from '../../../src/kube/errors.ts';
import { buildRefusedRevisionReport } from '../../../src/operator/revision/refusal.ts';
import type { RevisionResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { deployment, fromGit, revision } from '../../kit/objects.ts';

type Status = NonNullable<RevisionResource['status']>;

const now = new Date('2026-01-02T00:00:00Z');
const NOW = '2026-01-02T00:00:00Z';
const invalid = new KubeRefused(422, 'spec.replicas: no', { reason: 'Invalid', causes: [] });
const full = new Denied('deployments.apps "x" is forbidden: exceeded quota: q');
const policy = new Denied("ValidatingAdmissionPolicy 'p' denied request: no");
const after = (phase: Status['phase'], more: Status = {}) =>
  revision(deployment(), { status: { ...(phase && { phase }), ...more } });

describe('an object that is refused', () => {
  test.each([
    ['by its rules before a workload is there', 'CREATE_FAILED', invalid, false],
    ['by a policy before a workload is there', 'CREATE_FAILED', policy, false],
    ['by its rules when there is a workload', 'DEPLOY_FAILED', invalid, true],
  ] as const)('%s ends the revision as %s', (...[, phase, refusal, isMade]) => {
    const report = buildRefusedRevisionReport(after('AWAITING_DEPLOY'), {
      refusal,
      isMade,
      secondsLeft: 60,
      now,
    });
    const message = expect.stringContaining(refusal.message) as string;
    expect(report?.status).toMatchObject({ phase, reason: 'Refused', message, endedAt: NOW });
    expect(report?.outcome).toMatchObject({ kind: 'stalled', reason: 'Refused' });
  });

  test('leaves a deployed revision deployed; what a quota or a policy refuses is tried again', () => {
    const given = { isMade: true, secondsLeft: 60, now };
    expect(
      buildRefusedRevisionReport(after('DEPLOYED'), { refusal: invalid, ...given })?.status.phase,
    ).toBe('DEPLOYED');
    expect(
      buildRefusedRevisionReport(after('DEPLOYED'), { refusal: full, ...given }),
    ).toBeUndefined();
    expect(
      buildRefusedRevisionReport(after('DEPLOYED'), { refusal: policy, ...given }),
    ).toBeUndefined();
  });
});

describe('an object that a quota has no room for', () => {
  const meets = (of: RevisionResource, secondsLeft: number) =>
    buildRefusedRevisionReport(of, { refusal: full, isMade: false, secondsLeft, now });

  test.each<[string, Status['phase'], number, object]>([
    [
      'is tried again some time later',
      undefined,
      600,
      { phase: 'AWAITING_DEPLOY', after: 10, startedAt: NOW },
    ],
    [
      'is tried again at the deadline',
      'AWAITING_DEPLOY',
      3.2,
      { phase: 'AWAITING_DEPLOY', after: 4, startedAt: NOW },
    ],
    [
      'does not set back a revision that had room for some',
      'DEPLOYING',
      600,
      { phase: 'DEPLOYING', after: 10, startedAt: NOW },
    ],
  ])(
    '%s',
    (
      ...[, phase, left, { after: again, ...status }]: [
        string,
        Status['phase'],
        number,
        { after?: number },
      ]
    ) => {
      const report = meets(after(phase), left);
      expect(report?.outcome).toMatchObject({
        kind: 'waiting',
        reason: 'QuotaExceeded',
        after: again,
      });
      expect(report?.status).toMatchObject({
        ...status,
        reason: 'QuotaExceeded',
        message: expect.stringContaining(full.message),
      });
      expect(report?.status).not.toHaveProperty('endedAt');
      expect(report?.statements).toContainEqual(
        expect.objectContaining({ type: 'RolledOut', status: 'False', reason: 'QuotaExceeded' }),
      );
    },
  );

  test('has its whole deadline from the first time on, and anew after a pause', () => {
    const since = { startedAt: '2026-01-01T00:00:00Z' };
    expect(meets(after('AWAITING_DEPLOY', since), 60)?.status.startedAt).toBe(since.startedAt);
    const paused = {
      type: 'Suspended',
      status: 'True',
      reason: 'Suspended',
      message: '',
      lastTransitionTime: NOW,
    } as const;
    expect(
      meets(after('AWAITING_DEPLOY', { ...since, conditions: [paused] }), 60)?.status.startedAt,
    ).toBe(NOW);
  });

  test('ends the revision when its time is over: its rollout, or its build', () => {
    expect(meets(after('AWAITING_DEPLOY'), 0)).toMatchObject({
      outcome: { kind: 'stalled', reason: 'QuotaExceeded' },
      status: {
        phase: 'DEPLOY_FAILED',
        reason: 'QuotaExceeded',
        endedAt: NOW,
        message: expect.stringMatching(/^Not ready in time\. /),
      },
    });
    const unbuilt = revision(deployment(fromGit('main')), { status: { phase: 'AWAITING_BUILD' } });
    expect(meets(unbuilt, 60)?.status.phase).toBe('AWAITING_BUILD');
    expect(meets(unbuilt, 0)?.status.phase).toBe('BUILD_FAILED');
  });
});
