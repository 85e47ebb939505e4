import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { BackupResource, DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { idOfBackups } from '../../schema/platform/backup-choice.ts';
import { BACKUP } from '../../schema/platform/labels.ts';
import { names } from '../../schema/names.ts';
import type { VerifyOrder } from '../../schema/wire/restore-message.ts';
import { databaseSize } from '../database/own/size.ts';
import { COUNTS } from './dump-script.ts';
import { literal, PIPE, targetInOrder, scratchPrograms, storeJob, storeSpeaker } from './pod.ts';
import { BEGIN_RESTORE, restoreDump } from './restore-script.ts';
import { RUN_SCRIPTS } from './run-script.ts';

const SCRATCH = '/gx/scratch';

/**
 * Restores into a database of its own, which nobody else reaches and which goes with the pod. It keeps nothing safe
 * from a crash, because nothing in it is needed later. Then it counts the rows.
 */
export const VERIFY = `${BEGIN_RESTORE}
export PGHOST="$SCRATCH" PGDATA="$SCRATCH/data" PGUSER=postgres ADDRESS=dbname=postgres
{
  $(command -v gx-named) initdb --auth=trust --username=postgres --encoding=UTF8 --locale-provider=builtin --locale=C.UTF-8 --no-sync &&
    pg_ctl start --silent --wait --timeout=120 --log="$SCRATCH/log" \\
      --options="-c listen_addresses= -c unix_socket_directories=$SCRATCH -c fsync=off -c full_page_writes=off -c max_parallel_maintenance_workers=0"
} > started 2>&1 || { cat started > error; ends 2; }
{ psql -X -q -A -t -c 'show server_version' "$ADDRESS" && echo empty; } > asked 2> error || ends 2
mv asked found
${restoreDump('')}
[ "$status" = 0 ] || ends "$status"
printf 'select coalesce(max(number), 0) from gx.migration;\\n%s\\n' "$COUNTS" |
  psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 "$ADDRESS" > counted 2>> error
ends $?`;

/**
 * Returns the GiB that a verification may use: data may grow while they are restored, and Postgres keeps up to a GiB of
 * its log.
 */
const scratchGi = ({ storageGi }: { storageGi: number }): number => 2 * storageGi + 1;

type Given = { backup: BackupResource; tenant: string };

/** Returns the Job that verifies a backup. Undefined if its target is gone. */
export function verifyJob(deployment: DeploymentResource, { backup, tenant }: Given, settings: OperatorSettings): KubeObject | undefined {
  const target = settings.backups.targets[backup.spec.target];
  if (target === undefined) return undefined;
  const { name } = deployment.metadata;
  const isCopy = backup.spec.method === 'continuous';
  const order: VerifyOrder = {
    target: targetInOrder(target),
    owner: { tenant, id: idOfBackups(deployment) },
    name: backup.spec.backup,
    ...(isCopy && { scratch: SCRATCH }),
  };
  const scratch = { name: 'scratch', mountPath: SCRATCH };
  return storeJob(
    deployment,
    {
      component: 'verify',
      name: names.verify(name),
      annotations: { [BACKUP]: backup.metadata.name },
      target: backup.spec.target,
      volumes: [{ name: scratch.name, emptyDir: { sizeLimit: `${scratchGi(databaseSize(deployment, settings))}Gi` } }],
      containers: [
        scratchPrograms(
          { script: isCopy ? RUN_SCRIPTS : VERIFY, env: Object.entries({ PIPE, SCRATCH, COUNTS }).map(literal), mounts: [scratch] },
          settings,
        ),
        storeSpeaker({ args: ['backup', 'verify'], variable: 'GX_VERIFY', order, target: backup.spec.target }, settings),
      ],
    },
    settings,
  );
}
