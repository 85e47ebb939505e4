import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toRevisionAnswer } from '../../src/control-plane/revisions/resource.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../src/kube/kube.ts';
import { names } from '../../src/schema/names.ts';
import { conditionOf } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';
import { buildsIn, setBuildStage } from '../kit/build-stage.ts';
import { COMMIT, DIGEST } from '../kit/fake-kubelet.ts';
import { withLog } from '../kit/given-log.ts';
import { fromGit, newDeployment } from '../kit/objects.ts';
import type { look, RunningOperator } from '../kit/operator.ts';
import type { OperatedStage } from '../kit/stage.ts';
import { stagedStatus } from '../kit/status-of-stages.ts';
import { verdicts } from '../kit/verdict.ts';

/*
 * Revisions are built from git. Jobs and pods are the cluster's own. The test, or a double of the kubelet, reports what
 * a builder does.
 */
const LOG = 'cloning\nbuilding\nlast words of the builder';
let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setBuildStage('builds', { through: (door: Kube) => withLog(door, LOG) });
  ({ kube, namespace, operator, see } = stage);
  await verdicts([]);
}, 600_000);
afterAll(() => stage.stop());

const apply = (name: string, ref: string): Promise<object> =>
  kube.create(kinds.deployment, newDeployment(namespace, fromGit(ref, { metadata: { name } })));
const change = (name: string, ref: string): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'replace', path: '/spec/template/sourceRevisionConfig/repoRef', value: ref },
  ]);
const jobs = async (name: string): Promise<KubeObject[]> =>
  kube.listAll(kinds.job, {
    namespace,
    labelSelector: `gx.dev/deployment=${name},gx.dev/component=build`,
  });
const buildPod = async (name: string): Promise<KubeObject> => {
  const find = () =>
    kube.listAll(kinds.pod, {
      namespace,
      labelSelector: `gx.dev/deployment=${name},gx.dev/component=build`,
    });
  await until(`the build of ${name} has a pod`, async () => (await find()).length === 1);
  return (await find())[0] as KubeObject;
};
const imagesOf = async (workload: string): Promise<string[]> => {
  const { spec } = (await see.workload(workload)) as { spec?: unknown };
  return (
    spec as { template: { spec: { containers: { image: string }[] } } }
  ).template.spec.containers.map(({ image }) => image);
};

describe('a git revision', () => {
  test('goes from AWAITING_BUILD by BUILDING to DEPLOYED with what was built, and a rollback builds nothing', async () => {
    await apply('whole', 'waits');
    await see.untilPhase('whole-00001', 'AWAITING_BUILD');
    const { metadata } = await buildPod('whole');
    const tell = (status: object) =>
      kube.patchStatus(kinds.pod, { namespace, name: metadata.name }, status);
    expect(conditionOf(await see.revision('whole-00001'), 'BuildSucceeded')).toBe('Unknown');

    await tell(stagedStatus({ running: 'build' }));
    await see.untilPhase('whole-00001', 'BUILDING');
    const image = `registry.example/agents/${namespace}/whole:whole-00001@${DIGEST}`;
    await tell(stagedStatus({ succeeded: { clone: { commit: COMMIT }, push: { image } } }));
    await see.untilPhase('whole-00001', 'DEPLOYED');
    const revision = await see.revision('whole-00001');
    expect(revision.status).toMatchObject({
      image,
      commitSha: COMMIT,
      imageDigest: DIGEST,
      builtAt: expect.any(String),
    });
    expect(conditionOf(revision, 'BuildSucceeded')).toBe('True');
    expect(await imagesOf('whole-00001-api')).toEqual([image]);
    expect(
      toRevisionAnswer(revision, { deploymentId: 'id', serving: 1 }).source_revision_config,
    ).toMatchObject({
      image_uri: image,
      repo_commit_sha: COMMIT,
      repo_ref: 'waits',
    });

    const patch = { requestedAt: '2026-01-01T00:00:00Z', rollbackOf: 'whole-00001' };
    const changes = Object.entries(patch).map(([name, value]) => ({
      op: 'add' as const,
      path: `/spec/${name}`,
      value,
    }));
    await kube.patchJson(kinds.deployment, { namespace, name: 'whole' }, changes);
    await see.untilPhase('whole-00002', 'DEPLOYED');
    expect((await see.revision('whole-00002')).status?.image).toBe(
      `registry.example/agents/${namespace}/whole@${DIGEST}`,
    );
    expect((await jobs('whole')).length).toBe(1);
  });

  test.each([
    ['breaks', 'InstallFailed', 'npm ci failed'],
    ['mumbles', 'PushFailed', 'its termination message is empty'],
  ])(
    'whose build %s ends as BUILD_FAILED and says why everywhere in the same words',
    async (ref, reason, words) => {
      await apply(ref, ref);
      const name = `${ref}-00001`;
      await see.untilPhase(name, 'BUILD_FAILED');
      const revision = await see.revision(name);
      const { message = '' } = revision.status ?? {};
      expect(revision.status).toMatchObject({
        reason,
        logTail: LOG,
        message: expect.stringContaining(words),
      });
      expect(toRevisionAnswer(revision, { deploymentId: 'id', serving: 1 })).toMatchObject({
        status: 'BUILD_FAILED',
        reason,
        status_message: message,
        log_tail: LOG,
      });
      expect(conditionOf(revision, 'BuildSucceeded')).toBe('False');
      type Told = { reason?: string; note?: string; type?: string; regarding?: { name: string } };
      const told = async () =>
        ((await kube.listAll(kinds.event, { namespace })) as Told[]).find(
          ({ regarding, type }) => regarding?.name === name && type === 'Warning',
        );
      await until('the event is there', async () => (await told()) !== undefined);
      expect(await told()).toMatchObject({ reason, note: `${message}\n${LOG}` });
      await until(
        'the deployment says so',
        async () => (await see.deployment(ref)).status?.reason === reason,
      );
      const judged = await verdicts([await see.deployment(ref), await see.revision(name)]);
      expect(judged.map(({ status, health }) => `${status} ${health}`)).toEqual([
        'Failed Degraded',
        'Failed Degraded',
      ]);
    },
  );

  test('that waits for its build is skipped when a newer one comes; one that is being built is not', async () => {
    await apply('passed', 'waits');
    await see.untilPhase('passed-00001', 'AWAITING_BUILD');
    await change('passed', 'runs');
    await see.untilPhase('passed-00001', 'SKIPPED');
    await see.untilPhase('passed-00002', 'BUILDING');
    const { uid = '' } = (await see.revision('passed-00002')).metadata;
    const own = names.stagedBuild('passed-00002', uid);
    await until(
      'one Job is left',
      async () => (await jobs('passed')).map(({ metadata }) => metadata.name).join() === own,
    );
    await change('passed', 'main');
    await see.untilPhase('passed-00003', 'QUEUED');
    expect((await see.revision('passed-00002')).status?.phase).toBe('BUILDING');
  });

  test('whose build an operator left to its successor goes on from there', async () => {
    await apply('handed', 'waits');
    await see.untilPhase('handed-00001', 'AWAITING_BUILD');
    const { metadata } = await buildPod('handed');
    await operator.stop();
    const image = `registry.example/agents/${namespace}/handed:handed-00001@${DIGEST}`;
    await kube.patchStatus(
      kinds.pod,
      { namespace, name: metadata.name },
      stagedStatus({ succeeded: { push: { image } } }),
    );
    await stage.startOperator({ identity: 'next', settings: buildsIn(namespace) });
    await see.untilPhase('handed-00001', 'DEPLOYED');
    expect((await jobs('handed')).length).toBe(1);
  });
});

test('a build that does not end in time ends as BUILD_FAILED, with its last lines, and its Job goes', async () => {
  const late = await setBuildStage(
    'builds-late',
    { through: (door: Kube) => withLog(door, LOG) },
    { deadlineSeconds: 10 },
  );
  await late.kube.create(kinds.deployment, newDeployment(late.namespace, fromGit('runs')));
  await late.see.untilPhase('chat-00001', 'BUILD_FAILED');
  const { status } = await late.see.revision('chat-00001');
  expect(status).toMatchObject({
    reason: 'DeadlineExceeded',
    logTail: LOG,
    message: expect.stringContaining('within 10 seconds'),
  });
  await until(
    'the Job is gone',
    async () => (await late.kube.listAll(kinds.job, { namespace: late.namespace })).length === 0,
  );
  await late.stop();
});
