import { kinds } from '../../kube/kinds.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { isBackupOver, type BackupSpec } from '../../schema/platform/backup/backup-spec.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { SET_ASIDE } from '../../schema/platform/objects/labels.ts';
import {
  FORMER_DAYS,
  MOST_FORMER,
  type FormerVolume,
} from '../../schema/platform/backup/replacement.ts';
import { isMove } from '../../schema/platform/backup/restore-spec.ts';
import { formatKubernetesTime } from '../../schema/types.ts';
import type { ReplaceFailure } from '../../schema/wire/restore-message.ts';
import { listDataClaims } from '../database/own/volume.ts';
import { deriveJobState } from '../pods/job-state.ts';
import type { OperatorDeps } from '../view/deps.ts';
import { beginBackup } from './make.ts';
import { checkJob, formatCheckName } from './replace-job.ts';
import type { ReplaceOrder } from './replace-plan.ts';
import {
  removeFailedRestore,
  findRestorePod,
  makeOrFollowRestore,
  type RestoreProgress,
} from './restore-make.ts';
import { RESTORE_CONTAINERS, restoreResult } from './restore-result.ts';
import { explainBackupFailure } from './statement.ts';

type ReplacementStep = { deployment: DeploymentResource; now: Date; signal: AbortSignal };
type BackupLook = ReplacementStep & { requestedAt: string; pods: readonly KubeObject[] };

/** Looks whether a backup can be restored, while the agents serve. Undefined while that is under way. */
export async function checkReplacement(
  deps: OperatorDeps,
  plan: ReplaceOrder,
  { requestedAt, pods, ...acting }: BackupLook,
): Promise<RestoreProgress> {
  const pod = findRestorePod(pods, formatCheckName(requestedAt));
  if (pod === undefined)
    return makeOrFollowRestore(
      deps,
      checkJob(acting.deployment, plan, requestedAt, deps.settings),
      acting,
    );
  return restoreResult(
    deriveJobState(pod, RESTORE_CONTAINERS, { now: acting.now, work: 'the check of the backup' }),
  );
}

/** Looks whether a backup can be restored, and looks again a while after it could not. */
export async function followLook(
  deps: OperatorDeps,
  plan: ReplaceOrder,
  looking: BackupLook,
): Promise<RestoreProgress> {
  const result = await checkReplacement(deps, plan, looking);
  const pod = findRestorePod(looking.pods, formatCheckName(looking.requestedAt));
  if (result !== undefined && 'reason' in result && pod !== undefined)
    await removeFailedRestore(deps, pod, looking);
  return result;
}

type Saving = ReplacementStep & {
  requestedAt: string;
  backups: readonly BackupResource[];
  /** The Secret with the address of the database. */
  secret: string;
  tenant: string;
  isUp: boolean;
};

/** Returns how the data is backed up. It moves by a dump, which another major version of Postgres reads, too. */
function chooseSaveSpec({ spec }: DeploymentResource): BackupSpec | undefined {
  const { backup, restore } = spec.database ?? {};
  if (backup === undefined || restore === undefined || !isMove(restore)) return backup;
  return { ...backup, method: 'dump' };
}

/** Backs up the data that is to be replaced. The part of backups follows it. Undefined while it is under way. */
export async function saveReplaced(
  deps: OperatorDeps,
  saving: Saving,
): Promise<'saved' | ReplaceFailure | undefined> {
  const { deployment, requestedAt, backups, isUp } = saving;
  const spec = chooseSaveSpec(deployment);
  if (spec === undefined) return 'saved';
  const made = backups.find((one) => one.spec.requestedAt === requestedAt);
  if (made?.status?.phase === 'Succeeded') return 'saved';
  if (made?.status?.phase === 'Failed')
    return { reason: 'BackupFailed', message: explainBackupFailure(made) };
  const others = backups.some(({ status }) => !isBackupOver(status?.phase));
  if (isUp && !others)
    await beginBackup(deps, {
      ...saving,
      plan: { spec, requestedAt },
      pods: [],
      revision: undefined,
    });
  return undefined;
}

/** Returns true if a volume claim has no volume any more, so that its data can't be backed up. */
export async function isVolumeLost(
  { kube }: OperatorDeps,
  claim: string,
  { deployment, signal }: Pick<ReplacementStep, 'deployment' | 'signal'>,
): Promise<boolean> {
  const found = await kube.find(
    kinds.volumeClaim,
    { namespace: deployment.metadata.namespace, name: claim },
    signal,
  );
  return found === undefined || (found.status as { phase?: string } | undefined)?.phase === 'Lost';
}

/** Notes on a claim until when it stays, so that nobody takes it for the one in use, and returns the note. */
export async function setAside(
  { kube }: OperatorDeps,
  claim: string,
  { deployment, now, signal }: ReplacementStep,
): Promise<FormerVolume> {
  const until = formatKubernetesTime(new Date(now.getTime() + FORMER_DAYS * 86_400_000));
  await setAnnotation(kube, claim, { deployment, signal, value: until });
  return { claim, until };
}

/** Takes the note off a claim that is in use again. */
export const takeBack = (
  { kube }: OperatorDeps,
  claim: string,
  { deployment, signal }: ReplacementStep,
): Promise<void> => setAnnotation(kube, claim, { deployment, signal, value: null });

async function setAnnotation(
  kube: OperatorDeps['kube'],
  claim: string,
  {
    deployment,
    signal,
    value,
  }: Pick<ReplacementStep, 'deployment' | 'signal'> & { value: string | null },
): Promise<void> {
  const ref = { namespace: deployment.metadata.namespace, name: claim };
  const found = await kube.find(kinds.volumeClaim, ref, signal);
  if (found === undefined) return;
  const { [SET_ASIDE]: _note, ...others } = found.metadata.annotations ?? {};
  const annotations = value === null ? others : { ...others, [SET_ASIDE]: value };
  const version = {
    op: 'test',
    path: '/metadata/resourceVersion',
    value: found.metadata.resourceVersion,
  } as const;
  await kube.patchJson(
    kinds.volumeClaim,
    ref,
    [version, { op: 'add', path: '/metadata/annotations', value: annotations }],
    {},
    signal,
  );
}

/**
 * Finds the former volumes by the notes on their claims, where the status does not name them. One without a note is of
 * a restore that was under way when the status was lost: it is set aside now.
 */
export async function findFormerVolumes(
  deps: OperatorDeps,
  used: string,
  acting: ReplacementStep,
): Promise<FormerVolume[]> {
  const claims = await listDataClaims(deps, acting.deployment, acting.signal);
  const others = claims.filter(
    ({ metadata }) => metadata.name !== used && metadata.deletionTimestamp === undefined,
  );
  const found = others.map(async ({ metadata: { name, annotations } }) => {
    const time = Date.parse(annotations?.[SET_ASIDE] ?? '');
    return Number.isNaN(time)
      ? await setAside(deps, name, acting)
      : { claim: name, until: formatKubernetesTime(new Date(time)) };
  });
  return (await Promise.all(found))
    .toSorted((a, b) => Date.parse(a.until) - Date.parse(b.until))
    .slice(-MOST_FORMER);
}

/** Deletes a claim with its data. */
export async function removeVolume(
  { kube }: OperatorDeps,
  claim: string,
  { deployment, signal }: ReplacementStep,
): Promise<void> {
  await kube.delete(
    kinds.volumeClaim,
    { namespace: deployment.metadata.namespace, name: claim },
    {},
    signal,
  );
}

/** Deletes the former volumes whose time is over, but for those that a restore needs. Returns the others. */
export async function removeExpiredVolumes(
  deps: OperatorDeps,
  needed: readonly (string | undefined)[],
  acting: ReplacementStep,
): Promise<FormerVolume[]> {
  const former = acting.deployment.status?.formerVolumes ?? [];
  const isOver = ({ claim, until }: FormerVolume): boolean =>
    Date.parse(until) <= acting.now.getTime() && !needed.includes(claim);
  for (const { claim } of former.filter(isOver)) await removeVolume(deps, claim, acting);
  return former.filter((each) => !isOver(each));
}
