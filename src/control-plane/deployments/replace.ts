import { Conflict, Rejected } from '../../errors.ts';
import { kinds } from '../../kube/kinds.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  toReplacementSpec,
  type ReplaceAsked,
} from '../../schema/platform/backup/restore-asked.ts';
import type { BackupRequested } from '../../schema/wire/backup-answer.ts';
import type { CallContext } from '../caller.ts';
import { retryConflicts } from '../conflict-retry.ts';
import type { ControlPlane } from '../control-plane.ts';
import { callKube } from '../kube-refusal.ts';
import { buildRequestedByPatch } from '../requested-by.ts';
import { readDeployment } from './lookup.ts';
import { deriveLaterTime } from './later-time.ts';
import { isManaged } from './resource.ts';
import {
  findDeploymentBackup,
  requireBackupByName,
  requireConfigMap,
  requireKeys,
} from './restore.ts';
import { isPresent } from '../../schema/json.ts';

/** Asks the operator to replace the data of a deployment. Whatever objects here show not to be possible is refused. */
export async function startReplacement(
  plane: ControlPlane,
  id: string,
  body: ReplaceAsked,
  call: CallContext,
): Promise<BackupRequested> {
  const stored = await retryConflicts(
    async () => {
      const live = await readDeployment(plane, id, call);
      await runBodyCheck(() => checkReplacement(plane, live, body, call));
      return live;
    },
    async (live) => {
      const { namespace, name, resourceVersion } = live.metadata;
      const { database } = live.spec;
      const restore = toReplacementSpec(
        body,
        deriveLaterTime(database?.restore?.replaceRequestedAt, plane.now()),
      );
      const patch = [
        { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion } as const,
        { op: 'add', path: '/spec/database', value: { ...database, restore } } as const,
        ...buildRequestedByPatch(live.metadata, call.caller),
      ];
      return plane.stored.note.deployment(
        await callKube(() => plane.kube.patchJson(kinds.deployment, { namespace, name }, patch)),
      );
    },
  );
  return { requested_at: stored.spec.database?.restore?.replaceRequestedAt ?? '' };
}

/** The fields of a restore stand in the body itself here. */
async function runBodyCheck(check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    throw new Rejected(error.message.replaceAll('database.restore.', ''), { cause: error });
  }
}

async function checkReplacement(
  plane: ControlPlane,
  live: DeploymentResource,
  body: ReplaceAsked,
  call: CallContext,
): Promise<void> {
  if (live.metadata.deletionTimestamp !== undefined)
    throw new Conflict('The deployment is being deleted.');
  if (live.status?.replacement !== undefined)
    throw new Conflict('A restore into this deployment is under way.');
  const broken = [...checkFields(body, plane.now()), ...checkDeployment(live, body)];
  if (broken.length > 0) throw new Rejected(broken.join('; '));
  const { namespace = '' } = live.metadata;
  if (isPresent(body.sql_config_map))
    await requireConfigMap(plane, body.sql_config_map, { namespace, signal: call.signal });
  if (isPresent(body.volume)) return;
  const found = isPresent(body.backup)
    ? await requireBackupByName(plane, body.backup, { namespace, ...call })
    : await findDeploymentBackup(plane, body, call);
  if (found !== undefined)
    requireKeys(found, await plane.secrets.read(live, { role: 'write', signal: call.signal }));
}

function checkFields(body: ReplaceAsked, now: Date): string[] {
  const sources = [body.backup, body.deployment_id, body.volume].filter(isPresent).length;
  const alone = (['target', 'at'] as const).filter(
    (field) => isPresent(body[field]) && !isPresent(body.deployment_id),
  );
  return [
    ...(sources === 1 ? [] : ['either backup, deployment_id or volume']),
    ...alone.map((field) => `${field}: only beside deployment_id`),
    ...(Date.parse(body.at ?? '') > now.getTime() ? ['at: is in the future'] : []),
  ];
}

function checkDeployment(
  { spec, status = {}, ...live }: DeploymentResource,
  { volume, without_backup }: ReplaceAsked,
): string[] {
  const isUnsaved =
    !isPresent(volume) && without_backup !== true && spec.database?.backup === undefined;
  const isUnknown =
    isPresent(volume) && !(status.formerVolumes ?? []).some(({ claim }) => claim === volume);
  return [
    ...(isManaged({ spec, status, ...live })
      ? []
      : ['only for a managed database; an external one is restored by its own administrator']),
    ...(spec.hibernate === true
      ? ['hibernate: the database is stopped; wake the deployment first']
      : []),
    ...(isUnsaved
      ? [
          "without_backup: the deployment names no backup target, so its data can't be backed up first",
        ]
      : []),
    ...(isUnknown ? [`volume: the deployment has no former volume ${volume}`] : []),
  ];
}
