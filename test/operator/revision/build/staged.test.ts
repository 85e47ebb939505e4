import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { KubeObject } from '../../../../src/kube/kube.ts';
import { createCaches } from '../../../../src/operator/view/caches.ts';
import { BuildTurns } from '../../../../src/operator/view/build-turns.ts';
import { observeBuild } from '../../../../src/operator/revision/build/observe.ts';
import { decideBuild } from '../../../../src/operator/revision/build/staged.ts';
import { buildStagedJob } from '../../../../src/operator/revision/build/staged-job.ts';
import type { RevisionWorld } from '../../../../src/operator/revision/world.ts';
import { COMMIT, DIGEST } from '../../../kit/fake-kubelet.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../../../kit/objects.ts';
import { resolveAgentPlace } from '../../../../src/operator/objects/placed.ts';
import { stagedStatus } from '../../../kit/status-of-stages.ts';

const now = new Date('2026-01-01T01:00:00Z');
const of = revision(deployment(fromGit('main')));

const IMAGE = `registry.example/agents/team/chat@${DIGEST}`;

const pod = (status: object, seconds = 60): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'build',
    namespace: 'builds',
    creationTimestamp: new Date(now.getTime() - seconds * 1000).toISOString(),
  },
  status,
});
const next = (build: RevisionWorld['build']) =>
  decideBuild({
    revision: of,
    settings: settings({ builder: BUILDER }),
    world: { build, now } as unknown as RevisionWorld,
  });
const seen = (status: object, seconds?: number) =>
  next({ pod: pod(status, seconds), job: undefined });

test.each([
  [
    'with-a-credential',
    { commit: COMMIT, credentialSecret: 'git-acme-credential', insecureGit: false, tenant: 'a' },
    { registrySecretName: 'registry', serviceAccountName: 'gx-build' },
  ],
  ['with-private-indexes', { insecureGit: false, tenant: 'a' }, { indexSecretName: 'indexes' }],
  ['bare', { insecureGit: true, tenant: 'a' }, {}],
] as const)('the Job of a build in stages: %s', async (name, source, given) => {
  const job = buildStagedJob(of, source, {
    ...settings(),
    builder: { ...BUILDER, caConfigMapName: 'ca', ...given },
  });
  await expect(stringify(job, { aliasDuplicateObjects: false })).toMatchFileSnapshot(
    `../../../golden/build/staged-${name}.yaml`,
  );
});

test('what a user writes is put into no variable of the builder', () => {
  const asked = revision(deployment(fromGit('$(GIT_TOKEN)$')));
  const job = buildStagedJob(
    asked,
    { insecureGit: false, tenant: 'a' },
    { ...settings(), builder: BUILDER },
  );
  expect(JSON.stringify(job)).toContain('{"name":"GX_GIT_REF","value":"$$(GIT_TOKEN)$$"}');
});

type Mount = { name: string; readOnly?: boolean };
type Container = { name: string; volumeMounts: Mount[] };
type PodWithContainers = {
  initContainers: Container[];
  containers: Container[];
  shareProcessNamespace?: boolean;
};

test('the stage that runs the commands of a repository has no credential, no registry and no token', () => {
  const job = buildStagedJob(
    of,
    { commit: COMMIT, credentialSecret: 'git', insecureGit: false, tenant: 'a' },
    { ...settings(), builder: { ...BUILDER, registrySecretName: 'registry' } },
  );
  const { spec } = (
    job.spec as {
      template: {
        spec: {
          initContainers: { name: string; volumeMounts: Mount[] }[];
          automountServiceAccountToken: boolean;
        };
      };
    }
  ).template;
  const nameOf = ({ name, readOnly }: Mount): string =>
    readOnly === true ? `${name}, read-only` : name;
  const mounts = Object.fromEntries(
    spec.initContainers.map(({ name, volumeMounts }) => [name, volumeMounts.map(nameOf)]),
  );
  expect(mounts).toEqual({
    clone: ['work', 'kept', 'tmp', 'git, read-only'],
    restore: ['work', 'kept', 'tmp', 'registry, read-only'],
    // What is decided before its commands run is out of their reach.
    build: ['work', 'kept, read-only', 'tmp'],
  });
  expect(spec.automountServiceAccountToken).toBe(false);
  expect(job.metadata.ownerReferences).toBeUndefined();
});

test('the credentials of private indexes are in a container of their own, with no folder of the repository', () => {
  const job = buildStagedJob(
    of,
    { insecureGit: false, tenant: 'acme' },
    { ...settings(), builder: { ...BUILDER, indexSecretName: 'indexes', caConfigMapName: 'ca' } },
  );
  const { spec } = (job.spec as { template: { spec: PodWithContainers } }).template;
  const containers = [...spec.initContainers, ...spec.containers];
  const mounting = (volume: string): string[] =>
    containers
      .filter(({ volumeMounts }) => volumeMounts.some(({ name }) => name === volume))
      .map(({ name }) => name);
  expect(mounting('indexes')).toEqual(['indexes']);
  expect(
    containers.find(({ name }) => name === 'indexes')?.volumeMounts.map(({ name }) => name),
  ).toEqual(['indexes', 'ca']);
  expect(spec.shareProcessNamespace).toBeUndefined();
});

test('a build with BuildKit has no proxy of private indexes', () => {
  const asked = { ...of, status: { ...of.status, buildsWith: 'buildkit' } } as typeof of;
  const builder = {
    ...BUILDER,
    indexSecretName: 'indexes',
    buildkit: { namespace: 'buildkit', image: 'buildkit:1' },
  };
  expect(
    JSON.stringify(
      buildStagedJob(asked, { insecureGit: false, tenant: 'a' }, { ...settings(), builder }),
    ),
  ).not.toContain('indexes');
});

describe('a build in stages', () => {
  const job = (seconds: number, status: object): KubeObject => ({
    ...pod(status, seconds),
    kind: 'Job',
  });
  const ended = (reason: string): object => ({
    conditions: [{ type: 'Failed', status: 'True', reason }],
  });

  const besideMesh = (given: Parameters<typeof stagedStatus>[0]): KubeObject => {
    const { containerStatuses, ...status } = stagedStatus(given) as { containerStatuses: object[] };
    return pod({
      ...status,
      phase: 'Running',
      containerStatuses: [...containerStatuses, { name: 'mesh', state: { running: {} } }],
    });
  };
  test('whose last stage has ended is over, and gone, while a container of a mesh runs on', () => {
    const succeeded = besideMesh({ succeeded: { push: { image: IMAGE, commit: COMMIT } } });
    expect(next({ pod: succeeded, job: undefined })).toMatchObject({
      phase: 'AWAITING_DEPLOY',
      image: IMAGE,
      build: 'drop',
    });
    const message = JSON.stringify({ reason: 'PushFailed', message: 'no room' });
    const failed = besideMesh({ failed: 'push', message });
    expect(next({ pod: failed, job: undefined })).toMatchObject({
      phase: 'BUILD_FAILED',
      message: 'no room',
      build: 'drop',
    });
  });

  test('names the processors that run its image, and agents go to nodes that have them', () => {
    const decided = seen(
      stagedStatus({
        succeeded: { push: { image: IMAGE, commit: COMMIT, architecture: 'arm64' } },
      }),
    );
    expect(decided).toMatchObject({ image: IMAGE, architecture: 'arm64' });
    for (const odd of [undefined, 7, 'x86 64', 'a'.repeat(17)])
      expect(
        seen(
          stagedStatus({
            succeeded: { push: { image: IMAGE, commit: COMMIT, architecture: odd } },
          }),
        ),
      ).not.toHaveProperty('architecture');
    const placed = (own?: object) =>
      resolveAgentPlace(
        {
          spec: {
            ...of.spec,
            template: { ...of.spec.template, sourceRevisionConfig: { placement: own } },
          },
          status: { imageArchitecture: 'arm64' },
        } as never,
        settings(),
      );
    expect(placed()).toMatchObject({ nodeSelector: { 'kubernetes.io/arch': 'arm64' } });
    expect(placed({ nodeSelector: { pool: 'a' } })).toMatchObject({
      nodeSelector: { 'kubernetes.io/arch': 'arm64', pool: 'a' },
    });
    expect(resolveAgentPlace(of, settings())).toEqual({});
  });

  test('that a quota leaves without a pod says so', () => {
    const hindrance = { reason: 'QuotaExceeded', message: 'exceeded quota' } as const;
    expect(next({ pod: undefined, job: job(40, {}), hindrance })).toMatchObject({
      phase: 'AWAITING_BUILD',
      ...hindrance,
      again: 5,
    });
  });

  test.each<[string, KubeObject, object]>([
    [
      'has no pod yet names its Job',
      job(10, {}),
      { phase: 'AWAITING_BUILD', message: expect.stringContaining('its Job is build'), again: 5 },
    ],
    [
      'never gets a pod has failed',
      job(700, {}),
      {
        phase: 'BUILD_FAILED',
        reason: 'DeadlineExceeded',
        message: expect.stringContaining('its Job is build'),
        build: 'drop',
      },
    ],
    [
      'was ended by Kubernetes has failed',
      job(10, ended('DeadlineExceeded')),
      { phase: 'BUILD_FAILED', reason: 'DeadlineExceeded' },
    ],
    [
      'lost its pod is interrupted',
      job(10, ended('BackoffLimitExceeded')),
      { phase: 'BUILD_FAILED', reason: 'Interrupted' },
    ],
  ])('that %s', (_, own, expected) => {
    expect(next({ pod: undefined, job: own })).toMatchObject(expected);
  });

  test.each([
    ['ImagePullBackOff', { phase: 'AWAITING_BUILD', reason: 'ImagePullFailed' }],
    ['InvalidImageName', { phase: 'BUILD_FAILED', reason: 'ImagePullFailed', build: 'drop' }],
  ])('whose own image is not there (%s) says so', (reason, expected) => {
    const waiting = {
      name: 'build',
      image: 'builder:1',
      state: { waiting: { reason, message: 'not found' } },
    };
    expect(seen({ phase: 'Pending', containerStatuses: [waiting] }, 10)).toMatchObject(expected);
  });

  test('has the commit of its clone, not one that user code names', () => {
    const ends = {
      clone: { commit: COMMIT },
      push: { image: IMAGE, commit: 'f'.repeat(40), digest: DIGEST },
    };
    expect(seen(stagedStatus({ succeeded: ends }))).toMatchObject({
      phase: 'AWAITING_DEPLOY',
      image: IMAGE,
      commitSha: COMMIT,
    });
  });

  test.each([
    ['of somebody else', `registry.example/agents/other/chat@${DIGEST}`],
    ['without a digest', 'registry.example/agents/team/chat:1'],
  ])('that names an image %s has failed', (_, image) => {
    expect(
      seen(stagedStatus({ succeeded: { clone: { commit: COMMIT }, push: { image } } })),
    ).toMatchObject({
      phase: 'BUILD_FAILED',
      reason: 'PushFailed',
    });
  });

  test.each([
    ['clone', undefined, 'CloneFailed', 'The stage clone ended with exit code 1.'],
    ['restore', { reason: 'ConfigMissing', message: 'no gx.json' }, 'ConfigMissing', 'no gx.json'],
    ['build', { reason: 'OutOfMemory', message: 'I say so' }, 'BuildFailed', 'I say so'],
  ])('whose stage %s fails says why: %o', (stage, said, reason, message) => {
    const decision = seen(stagedStatus({ failed: stage, message: said && JSON.stringify(said) }));
    expect(decision).toMatchObject({ phase: 'BUILD_FAILED', reason, message });
    expect(decision?.diagnosis?.log).toEqual({
      pod: 'build',
      container: stage,
      previous: false,
      namespace: 'builds',
    });
  });

  test.each([
    ['OutOfMemory', stagedStatus({ failed: 'build', how: 'OOMKilled' })],
    [
      'DiskFull',
      {
        ...stagedStatus({ failed: 'build' }),
        reason: 'Evicted',
        message: 'Usage of EmptyDir volume "work" exceeds the limit "4Gi".',
      },
    ],
    [
      'Interrupted',
      {
        ...stagedStatus({ running: 'build' }),
        phase: 'Failed',
        reason: 'NodeShutdown',
        message: 'bye',
      },
    ],
    ['Interrupted', { phase: 'Failed' }],
    [
      'DeadlineExceeded',
      { ...stagedStatus({ failed: 'build' }), reason: 'DeadlineExceeded', message: 'late' },
    ],
  ])('is told as %s by its pod', (reason, status) => {
    expect(seen(status)).toMatchObject({ phase: 'BUILD_FAILED', reason });
  });
});

test('a pod whose volumes are not there in its first moments is starting, and after a minute says what it waits for', () => {
  const status = {
    ...stagedStatus({ running: 'clone' }),
    initContainerStatuses: [{ name: 'clone', state: { waiting: { reason: 'ContainerCreating' } } }],
  };
  const early = seen(status, 20);
  expect(early).toMatchObject({
    phase: 'AWAITING_BUILD',
    message: "The build's pod is starting.",
    again: 40,
  });
  expect(early?.reason).toBeUndefined();
  expect(seen(status, 61)).toMatchObject({
    reason: 'DeadlineExceeded',
    message: expect.stringContaining('waits for a volume'),
  });
});

test.each([
  ['killed', stagedStatus({ failed: 'clone' }), undefined],
  ['whose stages all succeeded', stagedStatus({ succeeded: {} }), 'build'],
])('a pod that is being removed and was %s', async (_, status, expected) => {
  const { uid = '' } = of.metadata;
  const removed = pod(status);
  Object.assign(removed.metadata, {
    deletionTimestamp: now.toISOString(),
    labels: { 'gx.dev/component': 'build', 'gx.dev/revision-uid': uid },
  });
  const deps = {
    kube: { listAll: () => Promise.resolve([{ metadata: { name: 'another' } }]) },
    settings: settings({ builder: BUILDER }),
    caches: EMPTY,
    buildTurns: new BuildTurns(),
  };
  const given = {
    deployment: deployment(fromGit('main')),
    pods: [removed],
    now,
    signal: new AbortController().signal,
  };
  const seenBuild = await observeBuild(
    deps as unknown as Parameters<typeof observeBuild>[0],
    of,
    given,
  );
  expect(seenBuild?.pod?.metadata.name).toBe(expected);
});
const EMPTY = createCaches();
