import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { getBackupOwnerId } from '../../schema/platform/resources/backup-choice.ts';
import { BACKUP } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import type { VerifyOrder } from '../../schema/wire/restore-message.ts';
import { formatCores } from '../kernel/quantity.ts';
import { resolveDatabaseSize } from '../database/own/size.ts';
import { ask, OWNER, buildPsqlCommand } from '../../schema/wire/database-session.ts';
import { COUNTS, MIGRATION } from './dump-script.ts';
import {
  buildCopierContainer,
  toVariable,
  MOST_CORES,
  PIPE,
  stripTargetSecret,
  buildScratchContainer,
  storeJob,
  storeSpeaker,
} from './pod.ts';
import { BEGIN_RESTORE, restoreDump } from './restore-script.ts';
import { RUN_SCRIPTS } from './run-script.ts';

const SCRATCH = '/gx/scratch';

/** The scratch server for its superuser, in a database without an object of the dump, and for the dump's owner. */
const [SUPERUSER, TENANT] = ['"user=postgres dbname=postgres"', `"user=${OWNER} dbname=${OWNER}"`];

/**
 * Restores into a database of its own, which nobody else reaches and which goes with the pod. It keeps nothing safe
 * from a crash, because nothing in it is needed later. Then it counts the rows.
 *
 * A dump may call functions of its tenant while it is restored, so a role without further rights restores it, as the
 * agents' own role would. The superuser makes that role, its database and the extension that is no trusted one, and has
 * no login from then on.
 */
export const VERIFY = `${BEGIN_RESTORE}
export PGHOST="$SCRATCH" PGDATA="$SCRATCH/data"
{
  $(command -v gx-named) initdb --auth=trust --username=postgres --encoding=UTF8 --locale-provider=builtin --locale=C.UTF-8 --no-sync &&
    pg_ctl start --silent --wait --timeout=120 --log="$SCRATCH/log" \\
      --options="-c listen_addresses= -c unix_socket_directories=$SCRATCH -c fsync=off -c full_page_writes=off -c max_parallel_maintenance_workers=0"
} > started 2>&1 || { cat started > error; ends 2; }
{
  ${buildPsqlCommand(SUPERUSER, { args: `-c 'create role ${OWNER} login' -c 'create database ${OWNER} owner ${OWNER}'` })} &&
    ${buildPsqlCommand(`"user=postgres dbname=${OWNER}"`, { args: `-c 'create extension vector with schema public'` })} &&
    ${buildPsqlCommand(SUPERUSER, { args: `-c 'alter role postgres nologin'` })} &&
    ${ask(TENANT, { args: `-c 'show server_version'` })} && echo empty
} > asked 2> error || ends 2
mv asked found
${restoreDump(TENANT)}
[ "$status" = 0 ] || ends "$status"
printf '%s\\n' "$MIGRATION" "$COUNTS" | ${ask(TENANT)} > counted 2>> error
ends $?`;

/**
 * Returns the GiB that a verification may use: data may grow while they are restored, and Postgres keeps up to a GiB of
 * its log.
 */
const estimateScratchGi = ({ storageGi }: { storageGi: number }): number => 2 * storageGi + 1;

/** Returns the Job that verifies a backup. Undefined if its target is gone. */
export function verifyJob(
  deployment: DeploymentResource,
  backup: BackupResource,
  tenant: string,
  settings: OperatorSettings,
): KubeObject | undefined {
  const target = settings.backups.targets[backup.spec.target];
  if (target === undefined) return undefined;
  const { name } = deployment.metadata;
  const isCopy = backup.spec.method === 'continuous';
  const order: VerifyOrder = {
    target: stripTargetSecret(target),
    owner: { tenant, id: getBackupOwnerId(deployment) },
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
      copies: isCopy,
      volumes: [
        {
          name: scratch.name,
          emptyDir: {
            sizeLimit: `${estimateScratchGi(resolveDatabaseSize(deployment, settings))}Gi`,
          },
        },
      ],
      containers: [
        buildScratchContainer(
          {
            script: isCopy ? RUN_SCRIPTS : VERIFY,
            env: Object.entries({ PIPE, SCRATCH, MIGRATION, COUNTS }).map(toVariable),
            mounts: [scratch],
          },
          settings,
        ),
        ...(isCopy
          ? [
              buildCopierContainer(
                { target: backup.spec.target, mounts: [scratch] },
                formatCores(MOST_CORES),
                settings,
              ),
            ]
          : []),
        storeSpeaker(
          {
            args: ['backup', 'verify'],
            variable: 'GX_VERIFY',
            order,
            target: backup.spec.target,
            copies: isCopy,
          },
          settings,
        ),
      ],
    },
    settings,
  );
}
