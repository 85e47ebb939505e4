import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toRevisionAnswer } from '../../src/control-plane/revisions/resource.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube } from '../../src/kube/kube.ts';
import { names } from '../../src/schema/names.ts';
import { REVISION } from '../../src/schema/platform/objects/labels.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';
import { withLog } from '../kit/given-log.ts';
import { newDeployment } from '../kit/objects.ts';
import { verdicts } from '../kit/verdict.ts';
import { look } from '../kit/operator.ts';

/*
 * A new revision fails in each possible way beside one that serves. Status, event and REST give the same reason and
 * words, and the serving one stays as it is. A double of the kubelet reports the pods' problems, and the quota is the
 * API server's own. Logs need a kubelet, so the test supplies them.
 */
const LAST_WORDS = 'starting\nlast words of the pod';
/** The seconds that a rollout gets: one that fails, and one that does not. */
const [DEADLINE, LONG] = [10, 600];
/** The milliseconds in which the tools that judge are built the first time. */
const BUILD = 600_000;
let kube: Kube;
let namespace: string;
let see: ReturnType<typeof look>;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage('failures');
  ({ kube, namespace, see } = stage);
  stage.startKubelet();
  await stage.startOperator({ through: (door) => withLog(door, LAST_WORDS) });
  await verdicts([]);
}, BUILD);
afterAll(() => stage.stop());

type Told = {
  reason?: string;
  note?: string;
  type?: string;
  regarding?: { kind: string; name: string };
};
const eventsOf = async (name: string): Promise<Told[]> =>
  ((await kube.listAll(kinds.event, { namespace })) as Told[]).filter(
    ({ regarding }) => regarding?.name === name,
  );

/** Returns everything that clients of the serving revision depend on. */
async function serving(name: string): Promise<object> {
  const pair = await Promise.all(
    ['api', 'queue'].map((part) => see.workload(`${name}-00001-${part}`)),
  );
  const pods = await kube.listAll(kinds.pod, {
    namespace,
    labelSelector: `${REVISION}=${name}-00001`,
  });
  const service = await see.service(names.service(name));
  const { status } = await see.deployment(name);
  return {
    generations: pair.map(({ metadata }) => metadata.generation),
    pods: pods.map(({ metadata }) => metadata.uid ?? '').toSorted((a, b) => (a < b ? -1 : 1)),
    selector: (service.spec as { selector: object }).selector,
    phase: status?.phase,
    active: status?.activeRevision,
    url: status?.url,
  };
}

/** Returns what kstatus and Argo CD make of the deployment and of its newest revision. */
const judged = async (name: string, number: number): Promise<string[]> => {
  const all = await verdicts([
    await see.deployment(name),
    await see.revision(`${name}-0000${number}`),
  ]);
  return all.map(({ status, health }) => `${status} ${health}`);
};
const FAILED = ['Failed Degraded', 'Failed Degraded'];

const quota: Kind = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  namespaced: true,
};

describe.concurrent('a new revision', () => {
  test.each<[string, { image: string; secretName?: string; hasLog?: true }, string, string]>([
    ['whose image is missing', { image: 'missing:2' }, 'ImagePullFailed', "can't be pulled"],
    ['whose server crashes', { image: 'crash:2', hasLog: true }, 'CrashLooping', 'exit code 1'],
    [
      'whose server needs more memory',
      { image: 'hungry:2', hasLog: true },
      'OOMKilled',
      'more memory than its limit',
    ],
    [
      'whose server can not migrate',
      { image: 'stuck:2', hasLog: true },
      'MigrationFailed',
      'could not bring the database',
    ],
    [
      'whose server never gets ready',
      { image: 'mute:2', hasLog: true },
      'ProbeFailed',
      'readiness probe',
    ],
    [
      'whose pods are never heard of',
      { image: 'silent:2' },
      'DeadlineExceeded',
      'Not ready in time. The pods are starting.',
    ],
    ['that no node takes', { image: 'unplaced:2' }, 'Unschedulable', 'insufficient memory'],
    [
      'whose container lacks a Secret',
      { image: 'unset:2' },
      'SecretMissing',
      'secret "chat-env" not found',
    ],
    [
      'whose volume does not come',
      { image: 'held:2' },
      'DeadlineExceeded',
      'waits for a volume or for the network',
    ],
    [
      'whose own Secret is not there',
      { image: 'agent:2', secretName: 'nowhere' },
      'SecretMissing',
      'nowhere is not there',
    ],
  ])(
    '%s fails, says why everywhere in the same words, and touches nothing',
    async (_, template, reason, words) => {
      const hasLog = template.hasLog === true;
      const name = `${reason.toLowerCase()}-${template.secretName ?? template.image.split(':')[0]}`;
      await kube.create(
        kinds.deployment,
        newDeployment(namespace, { metadata: { name }, spec: { progressDeadlineSeconds: LONG } }),
      );
      await see.untilReady(name);
      const before = await serving(name);
      await kube.patchJson(kinds.deployment, { namespace, name }, [
        {
          op: 'replace',
          path: '/spec/template/sourceRevisionConfig/imageUri',
          value: template.image,
        },
        { op: 'replace', path: '/spec/progressDeadlineSeconds', value: DEADLINE },
        ...(template.secretName === undefined
          ? []
          : [
              { op: 'add' as const, path: '/spec/template/secretName', value: template.secretName },
            ]),
      ]);
      await see.untilPhase(`${name}-00002`, 'DEPLOY_FAILED');
      const revision = await see.revision(`${name}-00002`);
      const { message = '', logTail } = revision.status ?? {};
      expect(revision.status).toMatchObject({ reason });
      expect(message).toContain(words);
      expect(logTail).toBe(hasLog ? LAST_WORDS : undefined);
      expect(toRevisionAnswer(revision, { deploymentId: 'id', serving: 0 })).toMatchObject({
        status: 'DEPLOY_FAILED',
        reason,
        status_message: message,
        log_tail: logTail ?? null,
      });
      const isFailure = ({ reason: said, type }: Told): boolean =>
        said === reason && type === 'Warning';
      await until('the event is there', async () =>
        (await eventsOf(`${name}-00002`)).some(isFailure),
      );
      const [event] = (await eventsOf(`${name}-00002`)).filter(isFailure);
      expect(event?.note).toBe(hasLog ? `${message}\n${LAST_WORDS}` : message);
      await until(
        'the deployment says so',
        async () => (await see.deployment(name)).status?.reason === reason,
      );
      const { status } = await see.deployment(name);
      expect(status?.message).toBe(`Revision ${name}-00002 ended as DEPLOY_FAILED. ${message}`);
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({ type: 'Stalled', status: 'True', reason }),
      );
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({ type: 'Serving', status: 'True' }),
      );
      expect(await serving(name)).toEqual(before);
      expect(await judged(name, 2)).toEqual(FAILED);
    },
  );
});

test.each([
  // There are a database, an api pod and a queue pod.
  ['pods', '3'],
  ['count/deployments.apps', '2'],
])(
  'a quota of %s that leaves no room is told as such, by the words of the API server, and room in time lets the revision go on',
  async (counted, most) => {
    const own = await openStage('quota');
    const there = own.see;
    own.startKubelet();
    await own.startOperator();
    const ref = { namespace: own.namespace, name: 'chat' };
    const change = (image: string, seconds = DEADLINE): Promise<object> =>
      own.kube.patchJson(kinds.deployment, ref, [
        { op: 'replace', path: '/spec/template/sourceRevisionConfig/imageUri', value: image },
        { op: 'replace', path: '/spec/progressDeadlineSeconds', value: seconds },
      ]);
    const limit = (to: string): Promise<object> =>
      own.kube.apply(quota, {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'small', namespace: own.namespace },
        spec: { hard: { [counted]: to } },
      });
    const told = (revision: string): Promise<true> =>
      until(
        `${revision} tells it early`,
        async () => (await there.revision(revision)).status?.reason === 'QuotaExceeded',
      );
    await limit(most);
    await own.kube.create(
      kinds.deployment,
      newDeployment(own.namespace, { spec: { progressDeadlineSeconds: LONG } }),
    );
    await there.untilReady('chat');
    await change('agent:2');
    await told('chat-00002');
    await there.untilPhase('chat-00002', 'DEPLOY_FAILED');
    expect((await there.revision('chat-00002')).status).toMatchObject({
      reason: 'QuotaExceeded',
      message: expect.stringMatching(/^Not ready in time\. .*exceeded quota: small/),
    });
    await until(
      "the deployment has its revision's reason",
      async () => (await there.deployment('chat')).status?.reason === 'QuotaExceeded',
    );
    expect((await there.deployment('chat')).status).toMatchObject({
      phase: 'READY',
      activeRevision: 'chat-00001',
    });
    await change('agent:3', LONG);
    await told('chat-00003');
    await limit('10');
    await there.untilReady('chat');
    expect((await there.deployment('chat')).status).toMatchObject({
      phase: 'READY',
      activeRevision: 'chat-00003',
    });
    await own.stop();
  },
);

test('a volume of a Secret that is not there is told while it can still be made, and no more once it is there', async () => {
  const volumes = [
    { name: 'keys', secret: { secretName: 'volume-keys' } },
    { name: 'maybe', secret: { secretName: 'not-needed', optional: true } },
    { name: 'both', projected: { sources: [{ secret: { name: 'volume-certs' } }] } },
  ];
  const template = { sourceRevisionConfig: { imageUri: 'held:1' }, resourceSpec: { volumes } };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: 'volume' }, template }),
  );
  const said = async (): Promise<string | undefined> =>
    (await see.revision('volume-00001')).status?.message;
  await until(
    'both are told',
    async () => (await said())?.endsWith('no Secret volume-keys, volume-certs.') === true,
  );
  expect((await see.revision('volume-00001')).status).toMatchObject({
    phase: 'DEPLOYING',
    reason: 'SecretMissing',
  });
  for (const name of ['volume-keys', 'volume-certs'])
    await kube.create(kinds.secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      stringData: { a: 'b' },
    });
  await until(
    'they are found',
    async () => (await see.revision('volume-00001')).status?.reason === undefined,
  );
});

const untilReasonIs = (name: string, reason: string): Promise<true> =>
  until(
    `${name} says ${reason}`,
    async () =>
      (await see.deployment(name)).status?.conditions?.find(({ type }) => type === 'Ready')
        ?.reason === reason,
  );

test('a revision that serves while its queue pods break: not ready with their reason, still serving, and well again by itself', async () => {
  const name = 'halved';
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name } }));
  await see.untilReady(name);
  const [pod] = await kube.listAll(kinds.pod, {
    namespace,
    labelSelector: `${REVISION}=${name}-00001,gx.dev/component=queue`,
  });
  const well = pod?.status as { conditions: { type: string }[]; containerStatuses: object[] };
  const tell = (status: object): Promise<object> =>
    kube.patchStatus(kinds.pod, { namespace, name: pod?.metadata.name ?? '' }, status);
  const crashed = {
    ready: false,
    restartCount: 5,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 9 } },
  };
  await tell({
    conditions: well.conditions.map((known) =>
      known.type === 'Ready' ? { ...known, status: 'False' } : known,
    ),
    containerStatuses: well.containerStatuses.map((known) => ({ ...known, ...crashed })),
  });
  await untilReasonIs(name, 'CrashLooping');
  expect(await judged(name, 1)).toEqual(['InProgress Progressing', 'InProgress Progressing']);
  const { status } = await see.deployment(name);
  expect(status).toMatchObject({
    phase: 'READY',
    message: expect.stringContaining('ends with exit code 9'),
  });
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Serving', status: 'True' }),
  );
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Reconciling', status: 'True', reason: 'CrashLooping' }),
  );
  await tell(well);
  await untilReasonIs(name, 'Serving');
});
