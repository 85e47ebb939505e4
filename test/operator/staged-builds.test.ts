import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { operatorAccess } from '../../src/operator/access.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { INTERRUPT, PUSHED_AT } from '../../src/schema/platform/objects/labels.ts';
import { accountWith, grant, rightsIn } from '../kit/account.ts';
import { conditionOf } from '../kit/api-server.ts';
import { auditEvents, rightsUsed } from '../kit/audit-log.ts';
import { digestFor } from '../kit/fake-kubelet.ts';
import { withLog } from '../kit/given-log.ts';
import { startGitHttp, type GitHttp } from '../kit/git-http.ts';
import { BUILDER, fromGit, newDeployment } from '../kit/objects.ts';
import type { RunningOperator } from '../kit/operator.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { stagedStatus } from '../kit/status-of-stages.ts';
import { until } from '../kit/until.ts';

/* Builds in stages, in a namespace of their own. Jobs are the cluster's own, the test reports what the stages do. */
const ID = '44444444-4444-4444-8444-444444444444';
const INSIDE = '55555555-5555-4555-8555-555555555555';
const DIGEST = digestFor('built');
const LOG = '2026-01-01T00:00:01Z last words';
let git: GitHttp;
let stage: Stage;
let kube: Kube;
let namespace: string;
let builds: Stage;
let credentials: Stage;
let head: string;
let operator: RunningOperator;

beforeAll(async () => {
  git = await startGitHttp();
  head = git.push('main');
  stage = await openStage('staged');
  builds = await openStage('staged-builds');
  credentials = await openStage('staged-credentials');
  ({ kube, namespace } = stage);
  stage.startKubelet();
  await kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace },
    spec: { computeId: 'test', namespaces: [namespace] },
  });
  await kube.create(kinds.gitIntegration, {
    apiVersion: API_VERSION,
    kind: 'GitIntegration',
    metadata: { name: 'local', namespace },
    spec: {
      id: ID,
      name: 'local',
      kind: 'generic',
      host: git.url,
      repositories: ['team/*'],
      credentialSecret: 'local',
    },
  });
  const metadata = { name: 'local', namespace: credentials.namespace };
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
    stringData: { token: 'opens' },
  });
  const { worked, secrets, own, apiServer } = operatorAccess;
  await grant(kube, { namespace: 'default', rules: apiServer, to: namespace });
  await grant(kube, { namespace: builds.namespace, rules: operatorAccess.builds, to: namespace });
  await grant(kube, { namespace: credentials.namespace, rules: operatorAccess.git, to: namespace });
  const limited = await accountWith(kube, {
    namespace,
    kubeconfig: stage.kubeconfig,
    rules: [...worked, ...secrets, ...own],
  });
  operator = await stage.startOperator({
    ...given(),
    kubeconfig: limited,
    through: (door) => withLog(door, LOG),
  });
}, 600_000);
afterAll(async () => {
  await stage.stop();
  await builds.stop();
  await credentials.stop();
  await git.stop();
});

const given = () => ({
  settings: {
    gitHosts: [git.url],
    builder: {
      ...BUILDER,
      namespace: builds.namespace,
      gitNamespace: credentials.namespace,
      parallel: 1,
      parallelInAll: 1,
    },
  },
});
const apply = (name: string, repoRef = 'main', repoUrl = `${git.url}/team/chat`) =>
  kube.create(
    kinds.deployment,
    newDeployment(
      namespace,
      fromGit(repoRef, {
        metadata: { name },
        spec: { source: 'git', sourceConfig: { integrationId: ID, repoUrl } },
      }),
    ),
  );
const of = (kind: Kind, name: string): Promise<KubeObject[]> =>
  kube.listAll(kind, {
    namespace: builds.namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component=build`,
  });
const podOf = async (name: string): Promise<string> => {
  await until(
    `the build of ${name} has a pod`,
    async () => (await of(kinds.pod, name)).length === 1,
  );
  return (await of(kinds.pod, name))[0]!.metadata.name;
};
const tell = async (name: string, status: object) =>
  kube.patchStatus(kinds.pod, { namespace: builds.namespace, name: await podOf(name) }, status);
const image = (name: string) => `registry.example/agents/${namespace}/${name}@${DIGEST}`;
const built = (name: string, commit = head) =>
  stagedStatus({
    succeeded: {
      clone: { commit },
      push: { image: image(name), commit, digest: DIGEST, builder: '1.0.0', architecture: 'arm64' },
    },
  });
const untilGone = (name: string) =>
  until(
    'Job and credential are gone',
    async () => [...(await of(kinds.job, name)), ...(await of(kinds.secret, name))].length === 0,
  );
const remove = async (name: string) => {
  await kube.delete(kinds.deployment, { namespace, name });
  await until(
    `${name} is gone`,
    async () => (await kube.find(kinds.deployment, { namespace, name })) === undefined,
  );
};

describe('a revision that is built in stages', () => {
  test('is of the head that its branch has when the build begins, and takes its Job along when it goes', async () => {
    await apply('whole');
    await stage.see.untilPhase('whole-00001', 'AWAITING_BUILD');
    await podOf('whole');
    const [job] = await of(kinds.job, 'whole');
    expect(job?.metadata.ownerReferences).toBeUndefined();
    expect(job?.metadata.annotations).toMatchObject({
      'gx.dev/agents-namespace': namespace,
      'gx.dev/revision': 'whole-00001',
    });
    // Its credential is a copy of its own. The one of all builds is in a namespace where no pod runs.
    const [shown] = await of(kinds.secret, 'whole');
    expect(shown).toMatchObject({
      metadata: { name: job?.metadata.name },
      data: { token: Buffer.from('opens').toString('base64') },
    });
    expect(JSON.stringify(job?.spec)).toContain(`"secretName":"${job?.metadata.name}"`);
    const { metadata, status } = await stage.see.revision('whole-00001');
    expect(metadata.finalizers).toContain('gx.dev/build');
    expect(status?.commitSha).toBe(head);
    await tell('whole', stagedStatus({ running: 'clone' }));
    await stage.see.untilPhase('whole-00001', 'BUILDING');
    expect((await stage.see.revision('whole-00001')).status?.message).toBe(
      'The builder is running: stage clone.',
    );
    await tell('whole', built('whole'));
    await stage.see.untilPhase('whole-00001', 'DEPLOYED');
    const revision = await stage.see.revision('whole-00001');
    expect(revision.status).toMatchObject({
      image: image('whole'),
      imageDigest: DIGEST,
      commitSha: head,
      builderVersion: '1.0.0',
      imageArchitecture: 'arm64',
      buildSeconds: expect.any(Number),
    });
    expect(conditionOf(revision, 'BuildSucceeded')).toBe('True');
    // The image runs on processors of the kind that built it.
    const workloads = await kube.listAll(kinds.workload, {
      namespace,
      labelSelector: 'gx.dev/revision=whole-00001',
    });
    expect(workloads.length).toBeGreaterThan(0);
    for (const { spec } of workloads)
      expect(spec).toMatchObject({
        template: { spec: { nodeSelector: { 'kubernetes.io/arch': 'arm64' } } },
      });
    expect(revision.status?.buildLog).toBe('whole-00001-build-log');
    const kept = await kube.get(kinds.configMap, { namespace, name: 'whole-00001-build-log' });
    expect(
      gunzipSync(Buffer.from(kept.binaryData?.['log.gz'] ?? '', 'base64')).toString(),
    ).toContain('[clone] last words');
    expect(kept.metadata.ownerReferences).toMatchObject([
      { kind: 'Revision', name: 'whole-00001' },
    ]);
    await remove('whole');
    await untilGone('whole');
  });

  test('waits in line while another one is built, and begins when that one has failed', async () => {
    await apply('first');
    await tell('first', stagedStatus({ running: 'build' }));
    await stage.see.untilPhase('first-00001', 'BUILDING');
    await apply('second');
    await until(
      'it is in line',
      async () => (await stage.see.revision('second-00001')).status?.reason === 'BuildQueued',
    );
    expect((await stage.see.revision('second-00001')).status?.message).toBe(
      'Waiting for other builds to end: 1st in line.',
    );
    expect(await of(kinds.job, 'second')).toEqual([]);
    await tell(
      'first',
      stagedStatus({
        failed: 'build',
        message: JSON.stringify({ reason: 'InstallFailed', message: 'npm ci failed' }),
      }),
    );
    await stage.see.untilPhase('first-00001', 'BUILD_FAILED');
    expect((await stage.see.revision('first-00001')).status).toMatchObject({
      reason: 'InstallFailed',
      message: 'npm ci failed',
      logTail: LOG,
    });
    // Only the job controller ends the Job of a pod that failed, and frees its place.
    await podOf('second');
    await remove('first');
    await remove('second');
  });

  test('begins in turn with those that are asked for at the same moment', async () => {
    const names = ['crowd-a', 'crowd-b', 'crowd-c'];
    const ended = new Set<string>();
    await Promise.all(names.map((name) => apply(name)));
    for (const _ of names) {
      const building = await until('one has a pod', async () => {
        const jobs = await Promise.all(names.map((name) => of(kinds.job, name)));
        const at = names.find((name, index) => jobs[index]!.length > 0 && !ended.has(name));
        return at !== undefined && (await of(kinds.pod, at)).length === 1 ? at : undefined;
      });
      ended.add(building);
      await tell(
        building,
        stagedStatus({
          failed: 'build',
          message: JSON.stringify({ reason: 'BuildFailed', message: 'no' }),
        }),
      );
    }
    for (const name of names) await stage.see.untilPhase(`${name}-00001`, 'BUILD_FAILED');
    const made = auditEvents(inject('auditLog'), operator.userAgent).filter(
      ({ verb, objectRef }) =>
        verb === 'create' && objectRef?.resource === 'jobs' && objectRef.name?.startsWith('crowd-'),
    );
    expect(made).toHaveLength(names.length);
    await Promise.all(names.map(remove));
  });

  test('whose Job somebody removes is built again', async () => {
    await apply('again');
    await tell('again', stagedStatus({ running: 'build' }));
    await stage.see.untilPhase('again-00001', 'BUILDING');
    const [first] = await of(kinds.job, 'again');
    await kube.delete(kinds.job, { namespace: builds.namespace, name: first!.metadata.name });
    await until('there is another Job', async () => {
      const [job] = await of(kinds.job, 'again');
      return job !== undefined && job.metadata.uid !== first!.metadata.uid;
    });
    await tell('again', built('again'));
    await stage.see.untilPhase('again-00001', 'DEPLOYED');
    expect((await stage.see.revision('again-00001')).status?.image).toBe(image('again'));
    await remove('again');
  });

  test('that is interrupted loses its Job, and keeps its log', async () => {
    await apply('stopped');
    await tell('stopped', stagedStatus({ running: 'build' }));
    await stage.see.untilPhase('stopped-00001', 'BUILDING');
    await kube.patchJson(kinds.revision, { namespace, name: 'stopped-00001' }, [
      { op: 'add', path: '/metadata/annotations', value: { [INTERRUPT]: 'now' } },
    ]);
    await stage.see.untilPhase('stopped-00001', 'INTERRUPTED');
    await untilGone('stopped');
    const name = 'stopped-00001-build-log';
    expect((await stage.see.revision('stopped-00001')).status).toMatchObject({
      reason: 'Interrupted',
      buildLog: name,
    });
    const kept = await kube.get(kinds.configMap, { namespace, name });
    expect(
      gunzipSync(Buffer.from(kept.binaryData?.['log.gz'] ?? '', 'base64')).toString(),
    ).toContain('[build] last words');
  });

  test('has failed where its branch is not', async () => {
    await apply('branchless', 'nowhere');
    await stage.see.untilPhase('branchless-00001', 'BUILD_FAILED');
    expect((await stage.see.revision('branchless-00001')).status).toMatchObject({
      reason: 'RefMissing',
      message: expect.stringContaining('There is no nowhere'),
    });
  });

  test('has failed where its git host has a private address that the installation does not list, and nothing asked it', async () => {
    const host = git.url.replace('127.0.0.1', 'localhost');
    await kube.create(kinds.gitIntegration, {
      apiVersion: API_VERSION,
      kind: 'GitIntegration',
      metadata: { name: 'inside', namespace },
      spec: { id: INSIDE, name: 'inside', kind: 'generic', host },
    });
    const before = git.asked.length;
    const sourceConfig = { integrationId: INSIDE, repoUrl: `${host}/team/chat` };
    const asked = fromGit('main', {
      metadata: { name: 'inside' },
      spec: { source: 'git', sourceConfig },
    });
    await kube.create(kinds.deployment, newDeployment(namespace, asked));
    await stage.see.untilPhase('inside-00001', 'BUILD_FAILED');
    expect((await stage.see.revision('inside-00001')).status).toMatchObject({
      reason: 'CloneFailed',
      message: expect.stringContaining(
        'leads to a loopback address, which its host is not listed for',
      ),
    });
    expect(git.asked).toHaveLength(before);
  });

  test('has failed where its repository is no one of its integration, as kubectl may ask for', async () => {
    await apply('strange', 'main', 'https://evil.example/team/chat');
    await stage.see.untilPhase('strange-00001', 'BUILD_FAILED');
    expect((await stage.see.revision('strange-00001')).status).toMatchObject({
      reason: 'Refused',
      message: expect.stringMatching(/^sourceConfig.repoUrl: /),
    });
    expect(await of(kinds.job, 'strange')).toEqual([]);
  });
});

describe('a deployment that follows its branch', () => {
  const pushed = async (name: string, commit: string, when: string) => {
    const { metadata } = await stage.see.deployment(name);
    const annotations = { ...metadata.annotations, [PUSHED_AT]: `${commit} ${when}` };
    await kube.patchJson(kinds.deployment, { namespace, name }, [
      { op: 'add', path: '/metadata/annotations', value: annotations },
    ]);
    await until(
      'the event is handled',
      async () => (await stage.see.deployment(name)).status?.pushHandled === `${commit} ${when}`,
    );
  };
  const revisionsOf = async (name: string) =>
    (await kube.listAll(kinds.revision, { namespace, labelSelector: `gx.dev/deployment=${name}` }))
      .map(({ metadata }) => metadata.name)
      .toSorted();

  test('gets a revision of each new head, none of events that come again or late, and skips what is overtaken', async () => {
    const first = git.push('live');
    const spec = {
      source: 'git' as const,
      sourceConfig: { integrationId: ID, repoUrl: `${git.url}/team/chat`, buildOnPush: true },
    };
    await kube.create(
      kinds.deployment,
      newDeployment(namespace, fromGit('live', { metadata: { name: 'live' }, spec })),
    );
    await tell('live', stagedStatus({ running: 'build' }));
    await stage.see.untilPhase('live-00001', 'BUILDING');
    expect((await stage.see.revision('live-00001')).status?.commitSha).toBe(first);
    const second = git.push('live');
    await pushed('live', second, 'a');
    await stage.see.untilPhase('live-00001-1', 'QUEUED');
    await pushed('live', second, 'b');
    await pushed('live', first, 'c');
    expect(await revisionsOf('live')).toEqual(['live-00001', 'live-00001-1']);
    const third = git.push('live');
    await pushed('live', third, 'd');
    await stage.see.untilPhase('live-00001-1', 'SKIPPED');
    expect((await stage.see.revision('live-00001-2')).spec.commit).toBe(third);
    await tell('live', built('live', first));
    await stage.see.untilPhase('live-00001', 'DEPLOYED');
    await until('the next one has a pod', async () => (await of(kinds.pod, 'live')).length === 2);
    const next = (await of(kinds.pod, 'live')).find(
      ({ metadata }) => metadata.annotations?.['gx.dev/revision'] === 'live-00001-2',
    );
    const status = stagedStatus({
      succeeded: { clone: { commit: third }, push: { image: image('live'), digest: DIGEST } },
    });
    await kube.patchStatus(
      kinds.pod,
      { namespace: builds.namespace, name: next!.metadata.name },
      status,
    );
    await stage.see.untilPhase('live-00001-2', 'DEPLOYED');
    await until(
      'it serves',
      async () => (await stage.see.deployment('live')).status?.activeRevision === 'live-00001-2',
    );
    expect((await stage.see.deployment('live')).status).toMatchObject({
      followedRef: 'live',
      followedCommit: third,
    });
    await remove('live');
  });
});

test('builds use the rights that the operator has for them, and no others', () => {
  const requests = auditEvents(inject('auditLog'), operator.userAgent);
  expect(
    requests
      .filter(({ responseStatus }) => responseStatus?.code === 403)
      .map(({ requestURI }) => requestURI),
  ).toEqual([]);
  const used = rightsUsed(requests);
  expect(rightsIn(operatorAccess.staged).filter((right) => !used.has(right))).toEqual([]);
});
