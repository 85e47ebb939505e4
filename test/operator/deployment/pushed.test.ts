import { describe, expect, test } from 'vitest';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { PUSHED_AT } from '../../../src/schema/platform/objects/labels.ts';
import {
  sortRevisions,
  computeRevisionOrder,
} from '../../../src/schema/platform/resources/revision-of.ts';
import {
  isRevisionNeeded,
  hasUnseenPush,
  getFollowedBranch,
  isPushNews,
  buildPushedRevision,
} from '../../../src/operator/deployment/pushed.ts';
import { deployment, fromGit, revision } from '../../kit/objects.ts';
import { randomFrom } from '../../kit/random-changes.ts';

const commit = (number: number): string => number.toString(16).padStart(40, '0');
const following = (
  status: object = {},
  more: { ref?: string; buildOnPush?: boolean } = {},
): DeploymentResource => {
  const of = deployment(fromGit(more.ref ?? 'main'));
  return {
    ...of,
    spec: {
      ...of.spec,
      sourceConfig: { ...of.spec.sourceConfig, buildOnPush: more.buildOnPush ?? true },
    },
    status,
  };
};
const built = (
  of: DeploymentResource,
  status: NonNullable<RevisionResource['status']>,
): RevisionResource => revision(of, { status });

test('a branch is followed where pushes are to build, a tag never', () => {
  expect(getFollowedBranch(following())).toBe('main');
  expect(getFollowedBranch(following({}, { ref: 'refs/tags/v1' }))).toBeUndefined();
  expect(getFollowedBranch(following({}, { buildOnPush: false }))).toBeUndefined();
});

describe('a head of the branch', () => {
  const seen = (head: number) => ({ followedRef: 'main', followedCommit: commit(head) });
  const asks = (
    of: DeploymentResource,
    revisions: RevisionResource[],
    head: number,
    isPush = false,
  ) => isRevisionNeeded(of, revisions, { head: commit(head), isPush });
  const deployed = (number: number) => ({ phase: 'DEPLOYED', commitSha: commit(number) }) as const;

  test.each<[string, object, NonNullable<RevisionResource['status']>, number, boolean, boolean]>([
    ['that is new', seen(1), deployed(1), 2, true, true],
    ['that is new, found without an event', seen(1), deployed(1), 2, false, true],
    ['that is built', seen(1), deployed(2), 2, true, false],
    ['that was seen before, as after a rollback', seen(2), deployed(1), 2, true, false],
    ['that the first build has passed already', {}, deployed(1), 2, false, true],
    ['that a build which has not begun will take', {}, { phase: 'AWAITING_BUILD' }, 2, true, false],
    ['that a build which failed never learnt of', {}, { phase: 'BUILD_FAILED' }, 2, true, true],
    [
      'that a build which failed never learnt of, without an event',
      {},
      { phase: 'BUILD_FAILED' },
      2,
      false,
      false,
    ],
    [
      'of another branch than was followed before',
      { followedRef: 'old', followedCommit: commit(2) },
      deployed(1),
      2,
      false,
      true,
    ],
  ])('%s', (...[, status, newest, head, isPush, expected]) => {
    const of = following(status);
    expect(asks(of, [built(of, newest)], head, isPush)).toBe(expected);
  });

  test('asks for nothing while there is no revision', () => {
    expect(asks(following(), [], 1, true)).toBe(false);
  });
});

test('an event is news once', () => {
  const of = following({ pushHandled: 'x' });
  expect(isPushNews(of)).toBe(false);
  const noted = (value: string) => ({
    ...of,
    metadata: { ...of.metadata, annotations: { [PUSHED_AT]: value } },
  });
  expect([noted('x'), noted('y')].map(isPushNews)).toEqual([false, true]);
});

test('over ssh, an event asks for a commit that no revision is of', () => {
  const of = following();
  const noted = {
    ...of,
    metadata: { ...of.metadata, annotations: { [PUSHED_AT]: `${commit(2)} now` } },
  };
  expect(hasUnseenPush(noted, [built(of, { commitSha: commit(1) })])).toBe(true);
  expect(
    hasUnseenPush(noted, [
      built(of, { commitSha: commit(2) }),
      built(of, { commitSha: commit(3) }),
    ]),
  ).toBe(false);
});

/*
 * A world of pushes: a branch that grows, deliveries that are lost, repeated and late, looks of the operator at any
 * moment, and builds that end at any moment.
 */
test('whatever order deliveries come in, each head that was looked at has one revision, the newest of which is the last head', () => {
  const random = randomFrom(7);
  for (let round = 0; round < 300; round += 1) {
    let of = following();
    let revisions = [built(of, { phase: 'DEPLOYED', commitSha: commit(1) })];
    let head = 1;
    let delivery = 0;
    const looked = new Set([1]);
    const look = (): void => {
      if (isRevisionNeeded(of, revisions, { head: commit(head), isPush: isPushNews(of) })) {
        const made = buildPushedRevision(of, revisions, commit(head));
        revisions = sortRevisions([made, ...revisions]);
      }
      looked.add(head);
      of = {
        ...of,
        status: {
          followedRef: 'main',
          followedCommit: commit(head),
          pushHandled: of.metadata.annotations?.[PUSHED_AT] ?? '',
        },
      };
    };
    for (let step = 0; step < 20; step += 1) {
      const chance = random();
      if (chance < 0.3) head += 1;
      // A delivery names any head so far: it may be late, or the same again.
      else if (chance < 0.7) {
        const named = commit(1 + Math.floor(random() * head));
        of = {
          ...of,
          metadata: { ...of.metadata, annotations: { [PUSHED_AT]: `${named} ${(delivery += 1)}` } },
        };
      } else if (chance < 0.9) look();
      else
        revisions = revisions.map((one) => ({
          ...one,
          status: { ...one.status, phase: 'DEPLOYED', commitSha: one.spec.commit ?? commit(1) },
        }));
    }
    look();
    look();
    expect(new Set(revisions.map(({ metadata }) => metadata.name)).size).toBe(revisions.length);
    const commits = revisions.map(({ spec }) => spec.commit ?? commit(1));
    expect(new Set(commits).size).toBe(commits.length);
    expect(commits[0]).toBe(commit(head));
    expect(commits.toSorted()).toEqual([...looked].map(commit).toSorted());
    expect(revisions.map(computeRevisionOrder)).toEqual(
      revisions.map(computeRevisionOrder).toSorted((a, b) => b - a),
    );
  }
});

test('the revision of a push comes after those of its generation, has its own name and repeats nothing', () => {
  const base = following();
  const of = { ...base, spec: { ...base.spec, rollbackOf: 'chat-00001' } };
  const first = buildPushedRevision(of, [revision(of)], commit(2));
  const second = buildPushedRevision(of, [revision(of), first]);
  expect([first, second].map(({ metadata }) => metadata.name)).toEqual([
    'chat-00001-1',
    'chat-00001-2',
  ]);
  expect([first, second].map(({ spec }) => [spec.push, spec.commit, spec.rollbackOf])).toEqual([
    [1, commit(2), undefined],
    [2, undefined, undefined],
  ]);
});
