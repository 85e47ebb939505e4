import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
  RevisionResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { getBackupOwnerId } from '../../schema/platform/resources/backup-choice.ts';
import { AWAITED_BACKUP, BACKUP } from '../../schema/platform/objects/labels.ts';
import { isReplacing } from '../../schema/platform/backup/replacement.ts';
import type { BackupOrder, DatabaseFiles } from '../../schema/wire/backup-message.ts';
import { ARCHIVE_PORT } from '../../schema/wire/pgbackrest.ts';
import { PGDATA, SOCKETS } from '../database/own/postgres-image.ts';
import { listDatabaseHosts } from '../database/own/tls/secret.ts';
import { buildServedTls } from '../database/own/tls/served.ts';
import { COUNTS, DUMP, FACTS } from './dump-script.ts';
import { resolveKeptBackups } from './plan.ts';
import {
  buildAddressFile,
  buildCopierContainer,
  limitCores,
  buildDatabaseContainer,
  toVariable,
  PIPE,
  storeJob,
  storeSpeaker,
  stripTargetSecret,
  type BackupPace,
} from './pod.ts';
import { RUN_SCRIPTS } from './run-script.ts';

/** Characters of the Deployment and its revision: a variable of a process has 128 KiB. Larger ones are left out. */
const MOST_HELD = 100_000;

export type BackupGiven = {
  /** The Secret with the address of the database. */
  secret: string;
  tenant: string;
  revision: RevisionResource | undefined;
};

/** Returns the order for a backup. */
export function backupOrder(
  deployment: DeploymentResource,
  backup: BackupResource,
  { tenant, revision, settings }: Omit<BackupGiven, 'secret'> & { settings: OperatorSettings },
): BackupOrder | undefined {
  const target = settings.backups.targets[backup.spec.target];
  const spec = deployment.spec.database?.backup;
  if (target === undefined || spec === undefined) return undefined;
  const { uid = '', name, namespace } = deployment.metadata;
  const holds = {
    deployment: { name, namespace, spec: deployment.spec },
    ...(revision && {
      revision: { name: revision.metadata.name, template: revision.spec.template },
    }),
  };
  return {
    name: backup.spec.backup,
    target: stripTargetSecret(target),
    owner: { tenant, id: getBackupOwnerId(deployment), uid },
    keep: resolveKeptBackups(spec),
    ...(backup.spec.method === 'continuous' && { files: buildDatabaseFiles(deployment, settings) }),
    holds: JSON.stringify(holds).length > MOST_HELD ? {} : holds,
  };
}

const buildDatabaseFiles = (
  deployment: DeploymentResource,
  settings: OperatorSettings,
): DatabaseFiles => ({
  door: {
    host: listDatabaseHosts(deployment, settings).at(-1) ?? '',
    port: ARCHIVE_PORT,
    tls: buildServedTls(deployment).files,
  },
  data: PGDATA,
  socket: SOCKETS,
});

/** Returns the pace of a backup. A clone waits for it, or agents that have stopped until the data is safe. */
function choosePace(
  { metadata, status }: DeploymentResource,
  { spec }: BackupResource,
): BackupPace {
  const asked = metadata.annotations?.[AWAITED_BACKUP];
  const isForClone = asked !== undefined && asked === spec.requestedAt;
  return isForClone || isReplacing({ status }) || metadata.deletionTimestamp !== undefined
    ? 'awaited'
    : 'beside runs';
}

/**
 * Returns the Job that makes a backup: one container dumps, the other sends the bytes that it reads. A copy is made by
 * the container with pgBackRest, with the certificate of the database, while another one counts the rows.
 */
export function backupJob(
  deployment: DeploymentResource,
  backup: BackupResource,
  order: BackupOrder,
  secret: string,
  settings: OperatorSettings,
): KubeObject {
  const env = Object.entries({ PIPE, FACTS, COUNTS }).map(toVariable);
  const tls = buildServedTls(deployment);
  const pace = choosePace(deployment, backup);
  const { target } = backup.spec;
  const copies = order.files !== undefined;
  const address = buildAddressFile(secret);
  const work = copies ? { name: 'ask', script: RUN_SCRIPTS } : { name: 'dump', script: DUMP };
  const copying = { target, pace, mounts: [tls.mount] };
  return storeJob(
    deployment,
    {
      component: 'backup',
      name: backup.metadata.name,
      annotations: { [BACKUP]: backup.metadata.name },
      target,
      copies,
      volumes: [address.volume, ...(copies ? [tls.volume] : [])],
      containers: [
        buildDatabaseContainer(deployment, { ...work, address, env, pace }, settings),
        ...(copies
          ? [buildCopierContainer(copying, limitCores(deployment, pace, settings), settings)]
          : []),
        storeSpeaker(
          { args: ['backup'], variable: 'GX_BACKUP', order, target, writes: true, pace, copies },
          settings,
        ),
      ],
    },
    settings,
  );
}
