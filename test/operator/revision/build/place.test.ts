import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { KubeObject } from '../../../../src/kube/kube.ts';
import {
  hasUserNamespace,
  mayHaveOwnUsers,
  chooseBuildPlace,
} from '../../../../src/operator/revision/build/place.ts';
import { decideBuild } from '../../../../src/operator/revision/build/staged.ts';
import { buildStagedJob } from '../../../../src/operator/revision/build/staged-job.ts';
import type { RevisionWorld } from '../../../../src/operator/revision/world.ts';
import { NEEDS_DOCKERFILE } from '../../../../src/schema/wire/build-message.ts';
import { COMMIT } from '../../../kit/fake-kubelet.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../../../kit/objects.ts';
import { stagedStatus } from '../../../kit/status-of-stages.ts';

/* Builds that need the lines of a Dockerfile, and where these are run. */

const now = new Date('2026-01-01T01:00:00Z');
const plain = revision(deployment(fromGit('main')));
const handed = {
  ...plain,
  status: {
    ...plain.status,
    phase: 'AWAITING_BUILD' as const,
    buildsWith: 'buildkit' as const,
    commitSha: COMMIT,
  },
};
const buildkit = { namespace: 'builds-buildkit', image: 'buildkit:1' };
const builder = { ...BUILDER, buildkit };

const ended = (told: object): KubeObject => {
  const status = stagedStatus({ failed: 'restore', message: JSON.stringify(told) }) as {
    initContainerStatuses: { state: object }[];
  };
  const clone = { reason: 'Completed', exitCode: 0, message: JSON.stringify({ commit: COMMIT }) };
  status.initContainerStatuses[0]!.state = { terminated: clone };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'build', namespace: 'builds', creationTimestamp: now.toISOString() },
    status,
  };
};
const next = (of: typeof plain, given: typeof BUILDER, told: object) =>
  decideBuild({
    revision: of,
    settings: settings({ builder: given }),
    world: { build: { pod: ended(told), job: undefined }, now } as unknown as RevisionWorld,
  });
const needs = { reason: NEEDS_DOCKERFILE, message: '"dockerfile_lines" needs more.' };

describe('a build that finds that it needs a Dockerfile', () => {
  test('goes on with BuildKit, at the same commit', () => {
    expect(next(plain, builder, needs)).toMatchObject({
      phase: 'AWAITING_BUILD',
      build: 'drop',
      buildsWith: 'buildkit',
      commitSha: COMMIT,
      again: 1,
    });
  });

  test('has failed where there is no BuildKit, with what its author can do', () => {
    expect(next(plain, BUILDER, needs)).toMatchObject({
      phase: 'BUILD_FAILED',
      reason: 'BuildFailed',
      message: needs.message,
    });
  });

  test('has failed if BuildKit says so, too, and is not started for ever', () => {
    expect(next(handed, builder, needs)).toMatchObject({
      phase: 'BUILD_FAILED',
      reason: 'BuildFailed',
    });
  });

  test('is told that its pod has no users of its own', () => {
    const off = { reason: 'UserNamespacesOff', message: 'turn them on' };
    expect(next(handed, builder, off)).toMatchObject({
      phase: 'BUILD_FAILED',
      reason: 'UserNamespacesOff',
      message: 'turn them on',
    });
  });
});

test('without BuildKit all is built without root, also what was handed over before', () => {
  expect(chooseBuildPlace(plain, builder)).toEqual({
    namespace: 'builds',
    image: 'builder:1',
    hasBuildkit: false,
  });
  expect(chooseBuildPlace(handed, builder)).toEqual({ ...buildkit, hasBuildkit: true });
  expect(chooseBuildPlace(handed, BUILDER)).toMatchObject({
    namespace: 'builds',
    hasBuildkit: false,
  });
});

const node = (userNamespaces: boolean | undefined, status = 'True'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node' },
  status: {
    conditions: [{ type: 'Ready', status }],
    runtimeHandlers: [{ name: '', features: { userNamespaces } }],
  },
});

test.each<[string, KubeObject[], boolean]>([
  ['no node', [], true],
  ['a node that has them', [node(true)], true],
  ['one of two', [node(false), node(true)], true],
  ['a node whose runtime lacks them', [node(false)], false],
  ['an old node, which says nothing', [node(undefined)], false],
  [
    'a node that has them and is not ready, beside one without',
    [node(true, 'False'), node(false)],
    false,
  ],
  ['no node that is ready', [node(false, 'Unknown')], true],
])('users of its own for a pod on %s', (_situation, nodes, expected) => {
  expect(mayHaveOwnUsers(nodes)).toBe(expected);
});

const lent = { secret: 'lent', git: ['token'], registry: true, authorities: true };
const job = buildStagedJob(
  handed,
  { commit: COMMIT, credentialSecret: 'git', insecureGit: false, tenant: 'a', lent },
  {
    ...settings(),
    builder: { ...builder, registrySecretName: 'registry', serviceAccountName: 'gx-build' },
  },
);

test('the Job has users of its own, and lends each stage its own keys alone', async () => {
  await expect(stringify(job, { aliasDuplicateObjects: false })).toMatchFileSnapshot(
    '../../../golden/build/staged-with-buildkit.yaml',
  );
});

test('an API server that drops the field is found out', () => {
  expect(hasUserNamespace(job)).toBe(true);
  expect(hasUserNamespace(undefined)).toBe(true);
  expect(hasUserNamespace({ ...job, spec: { template: { spec: {} } } })).toBe(false);
});
