import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import type { BackupDone, BackupFailure } from '../../../src/schema/wire/backup-message.ts';
import type { RestoreDone, RestoreFailure } from '../../../src/schema/wire/restore-message.ts';
import { until } from '../../kit/until.ts';

/* Nobody runs the pods of Jobs on an API server alone: a test reports of them what they would. */
export const TARGET = {
  endpoint: 'https://s3.example.com',
  bucket: 'b',
  region: 'eu-1',
  prefix: '',
  pathStyle: true,
  secretName: 'store',
};
export const BACKUPS = {
  targets: { main: TARGET },
  atOnce: 2,
  deadlineMinutes: 60,
  verifyDays: 0,
  image: 'silent-platform',
};
export const SOURCE = '44444444-4444-4444-8444-444444444444';
export const FOUND: RestoreDone = {
  backup: `${SOURCE}/20261125t020000z`,
  from: '2026-11-25T02:00:01.000Z',
};
export const SAVED: BackupDone = {
  from: '2026-11-27T05:00:01.000Z',
  until: '2026-11-27T05:00:09.000Z',
  bytes: 1000,
  migration: 1,
  keys: [],
};

export type JobPod = KubeObject & {
  spec: {
    containers: { name: string; args?: string[]; env: { name: string; value?: string }[] }[];
  };
};
type Message = RestoreDone | RestoreFailure | BackupDone | BackupFailure;
type Place = { kube: Kube; namespace: string };

type Ending = {
  step: 'backup' | 'check' | 'restore';
  message: Message | ((pod: JobPod) => Promise<Message>);
};

/** Reports the end of the pod that works at a step for a deployment, once there is one. */
export async function endJob(
  { kube, namespace }: Place,
  name: string,
  { step, message: given }: Ending,
): Promise<JobPod> {
  const labelSelector = `gx.dev/deployment=${name},gx.dev/component=${step === 'backup' ? 'backup' : 'restore'}`;
  const isOpen = ({ metadata, status, spec }: JobPod): boolean =>
    metadata.deletionTimestamp === undefined &&
    (status as { phase?: string }).phase === 'Pending' &&
    (step === 'backup' || spec.containers.some(({ args }) => args?.[1] === step));
  const pod = await until(
    `${name} has a pod for ${step}`,
    async () =>
      ((await kube.listAll(kinds.pod, { namespace, labelSelector })) as JobPod[]).find(isOpen),
    40,
  );
  const message = typeof given === 'function' ? await given(pod) : given;
  const exitCode = 'reason' in message ? 1 : 0;
  const terminated = {
    exitCode,
    reason: 'Ended',
    message: JSON.stringify(message),
    startedAt: null,
    finishedAt: null,
  };
  const containerStatuses = [
    { name: 'send', image: 'x', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ];
  const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
  await kube.patchStatus(
    kinds.pod,
    { namespace, name: pod.metadata.name },
    { phase, containerStatuses },
  );
  return pod;
}
