import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toRevisionAnswer } from '../../src/control-plane/revisions/resource.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import type { DeploymentSpec } from '../../src/schema/platform/resources/custom-resources.ts';
import { until } from '../kit/until.ts';
import { fromGit, newDeployment } from '../kit/objects.ts';
import type { look } from '../kit/operator.ts';
import { policyFor } from '../kit/policy.ts';
import { setBuildStage } from '../kit/build-stage.ts';
import type { OperatedStage } from '../kit/stage.ts';
import { verdicts } from '../kit/verdict.ts';

/*
 * The border between a revision that could not be created and one that did not roll out. The API server's own quota,
 * policy and validation refuse its objects, before or after one exists.
 */
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;
let endPolicy: () => Promise<void>;

const quota: Kind = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
};
const workload = (name: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    },
  },
});
const isRefused = (object: KubeObject, kind: Kind = kinds.workload): Promise<boolean> =>
  kube.create(kind, object, { dryRun: true }).then(
    () => false,
    () => true,
  );

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setBuildStage('refused');
  ({ kube, namespace, see } = stage);
  const rule =
    "!object.metadata.name.startsWith('unwanted-') && !object.metadata.name.matches('^half-.*-queue$')";
  const policy = {
    name: 'workloads',
    namespace,
    apiGroup: 'apps',
    resource: 'deployments',
    operation: 'CREATE',
    rule,
  } as const;
  endPolicy = await policyFor(kube, { ...policy, message: 'no such workloads here' }, () =>
    isRefused(workload('unwanted-x')),
  );
  await kube.apply(quota, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'builds', namespace },
    spec: { hard: { 'count/jobs.batch': '0' } },
  });
  const spec = {
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
  };
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'x', namespace }, spec };
  await until('the quota is counted', () => isRefused(job, kinds.job));
  await verdicts([]);
}, 600_000);
afterAll(async () => {
  await endPolicy();
  await stage.stop();
});

type Template = DeploymentSpec['template'];
const image = { sourceRevisionConfig: { imageUri: 'agent:1' } };
/**
 * The volume has two sources at once. The API server refuses that for pods, but the resource definition does not know
 * the rule.
 */
const doubled: Template = {
  ...image,
  resourceSpec: { volumes: [{ name: 'v', emptyDir: {}, configMap: { name: 'c' } }] },
};

const FULL = { metadata: { name: 'full' }, spec: { progressDeadlineSeconds: 10 } };

describe('a revision whose objects the API server refuses', () => {
  test.each<[string, string, Parameters<typeof newDeployment>[1], string, string]>([
    [
      'by a policy',
      'CREATE_FAILED',
      { metadata: { name: 'unwanted' } },
      'Refused',
      'no such workloads here',
    ],
    [
      'by a quota until its deadline',
      'BUILD_FAILED',
      fromGit('main', FULL),
      'QuotaExceeded',
      'exceeded quota: builds',
    ],
    [
      'by its own rules',
      'CREATE_FAILED',
      { metadata: { name: 'doubled' }, template: doubled },
      'Refused',
      'may not specify more than 1',
    ],
    [
      'when one of them is there',
      'DEPLOY_FAILED',
      { metadata: { name: 'half' } },
      'Refused',
      'no such workloads here',
    ],
  ])(
    '%s ends as %s, and says why everywhere in the same words',
    async (...[, phase, given, reason, words]) => {
      await kube.create(kinds.deployment, newDeployment(namespace, given));
      const deployment = given?.metadata?.name ?? '';
      const name = `${deployment}-00001`;
      await see.untilPhase(name, phase);
      const revision = await see.revision(name);
      const { message = '' } = revision.status ?? {};
      expect(revision.status).toMatchObject({
        reason,
        message: expect.stringContaining(words),
        endedAt: expect.any(String),
      });
      expect(toRevisionAnswer(revision, { deploymentId: 'id', serving: 0 })).toMatchObject({
        status: phase,
        reason,
        status_message: message,
      });
      type Told = { reason?: string; note?: string; type?: string; regarding?: { name: string } };
      const told = async () =>
        ((await kube.listAll(kinds.event, { namespace })) as Told[]).find(
          ({ regarding, type }) => regarding?.name === name && type === 'Warning',
        );
      await until('the event is there', async () => (await told()) !== undefined);
      expect(await told()).toMatchObject({ reason, note: message.slice(0, 1024) });
      await until(
        'the deployment says so',
        async () => (await see.deployment(deployment)).status?.reason === reason,
      );
      expect((await see.deployment(deployment)).status?.message).toBe(
        `Revision ${name} ended as ${phase}. ${message}`,
      );
      const judged = await verdicts([await see.deployment(deployment), await see.revision(name)]);
      expect(judged.map(({ status, health }) => `${status} ${health}`)).toEqual([
        'Failed Degraded',
        'Failed Degraded',
      ]);
    },
  );

  test('rolls out when it is asked for again after the policy has gone', async () => {
    await kube.create(
      kinds.deployment,
      newDeployment(namespace, { metadata: { name: 'unwanted-then' } }),
    );
    await see.untilPhase('unwanted-then-00001', 'CREATE_FAILED');
    await endPolicy();
    endPolicy = () => Promise.resolve();
    await until('the policy is gone', async () => !(await isRefused(workload('unwanted-y'))));
    await kube.patchJson(kinds.deployment, { namespace, name: 'unwanted-then' }, [
      { op: 'add', path: '/spec/requestedAt', value: '2026-01-01T00:00:00Z' },
    ]);
    await see.untilPhase('unwanted-then-00002', 'DEPLOYED');
    expect((await see.revision('unwanted-then-00001')).status?.phase).toBe('CREATE_FAILED');
  });
});
