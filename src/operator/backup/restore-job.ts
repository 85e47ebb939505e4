import type { OperatorSettings } from '../../config/platform/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { REPLACES } from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import { ask, OWN_DATABASE } from '../../schema/wire/database-session.ts';
import {
  buildAddressFile,
  buildDatabaseContainer,
  buildEncryptionFiles,
  toVariable,
  PIPE,
  RESTORER,
  storeJob,
  storeSpeaker,
} from './pod.ts';
import type { RestorePlan } from './restore-plan.ts';
import { RUN_SCRIPTS } from './run-script.ts';
import { askUntilAdmitted, BEGIN_RESTORE, restoreDump } from './restore-script.ts';

/** The folder with the SQL that the deployment asks to run. */
const SQL = '/gx/sql';

/** Tells an empty database from others, by the comment of their schema. */
export const STATE = `select case when pg_catalog.to_regnamespace('gx') is null then 'empty'
  else coalesce(pg_catalog.obj_description(pg_catalog.to_regnamespace('gx'), 'pg_namespace'), 'filled') end`;

/** Says what is in the database, and restores into it. */
export const RESTORE = `${BEGIN_RESTORE}
${askUntilAdmitted(`${ask(OWN_DATABASE, { args: `-c 'show server_version' -c "$STATE"` })} > asked 2> error`)}
mv asked found
quiet() { [ ! -e ../orders/quiet.sql ] || cat ../orders/quiet.sql; }
asked() { for file in "$SQL"/*; do [ ! -f "$file" ] || { cat "$file" && echo; } || return 1; done; }
${restoreDump(OWN_DATABASE, 'quiet && asked && cat ../orders/marker.sql && ')}
ends "$status"`;

/** Returns the Job that restores a backup: one container reads it from the store, the other restores it. */
export function restoreJob(
  deployment: DeploymentResource,
  {
    plan,
    secret,
    requestedAt,
  }: {
    plan: Extract<RestorePlan, { state: 'ready' }>;
    /** The Secret with the address of the database. */
    secret: string;
    /** The request, if the deployment lives. */
    requestedAt?: string | undefined;
  },
  settings: OperatorSettings,
): KubeObject {
  const [address, keys] = [buildAddressFile(secret), buildEncryptionFiles(deployment)];
  const env = [toVariable(['PIPE', PIPE]), toVariable(['STATE', STATE]), toVariable(['SQL', SQL])];
  const name = deployment.spec.database?.restore?.sqlConfigMap;
  const mounts = name === undefined ? [] : [{ name: 'sql', mountPath: SQL, readOnly: true }];
  return storeJob(
    deployment,
    {
      component: 'restore',
      name: names.restore(deployment.metadata.name),
      target: plan.target,
      ...(requestedAt !== undefined && { annotations: { [REPLACES]: requestedAt } }),
      volumes: [
        ...[address, ...keys].map(({ volume }) => volume),
        ...(name === undefined ? [] : [{ name: 'sql', configMap: { name } }]),
      ],
      containers: [
        buildDatabaseContainer(
          deployment,
          {
            name: RESTORER,
            script: plan.order.filled === true ? RUN_SCRIPTS : RESTORE,
            address,
            env,
            mounts,
          },
          settings,
        ),
        storeSpeaker(
          {
            args: ['backup', 'restore'],
            variable: 'GX_RESTORE',
            order: plan.order,
            target: plan.target,
            secrets: keys,
          },
          settings,
        ),
      ],
    },
    settings,
  );
}
