import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { REPLACES } from '../../schema/platform/labels.ts';
import { names } from '../../schema/names.ts';
import { databasePrograms, fromSecret, literal, PIPE, RESTORER, storeJob, storeSpeaker } from './pod.ts';
import type { RestorePlan } from './restore-plan.ts';
import { RUN_SCRIPTS } from './run-script.ts';
import { askUntilAdmitted, BEGIN_RESTORE, restoreDump } from './restore-script.ts';

/** The folder with the SQL that the deployment asks to run. */
const SQL = '/gx/sql';

/** Tells an empty database from others, by the comment of their schema. */
export const STATE = `select case when to_regnamespace('gx') is null then 'empty'
  else coalesce(obj_description(to_regnamespace('gx'), 'pg_namespace'), 'filled') end`;

/** Says what is in the database, and restores into it. */
export const RESTORE = `${BEGIN_RESTORE}
${askUntilAdmitted(`psql -X -q -A -t -v ON_ERROR_STOP=1 -c 'show server_version' -c "$STATE" "$ADDRESS" > asked 2> error`)}
mv asked found
quiet() { [ ! -e quiet.sql ] || cat quiet.sql; }
asked() { for file in "$SQL"/*; do [ ! -f "$file" ] || { cat "$file" && echo; } || return 1; done; }
${restoreDump('quiet && asked && cat marker.sql && ')}
ends "$status"`;

type Given = {
  plan: Extract<RestorePlan, { state: 'ready' }>;
  /** The Secret with the address of the database. */
  secret: string;
  /** The request, if the deployment lives. */
  requestedAt?: string | undefined;
};

/** Returns the variables with the encryption keys of a deployment's secrets. */
export function encryptionKeysOf({ spec }: DeploymentResource): object[] {
  const { secretName } = spec.template;
  return secretName === undefined ? [] : ['GX_AES_KEY', 'LANGGRAPH_AES_KEY'].map((key) => fromSecret(key, secretName, key, true));
}

/** Returns the Job that restores a backup: one container reads it from the store, the other restores it. */
export function restoreJob(deployment: DeploymentResource, { plan, secret, requestedAt }: Given, settings: OperatorSettings): KubeObject {
  const keys = encryptionKeysOf(deployment);
  const env = [literal(['PIPE', PIPE]), literal(['STATE', STATE]), literal(['SQL', SQL])];
  const name = deployment.spec.database?.restore?.sqlConfigMap;
  const mounts = name === undefined ? [] : [{ name: 'sql', mountPath: SQL, readOnly: true }];
  return storeJob(
    deployment,
    {
      component: 'restore',
      name: names.restore(deployment.metadata.name),
      target: plan.target,
      ...(requestedAt !== undefined && { annotations: { [REPLACES]: requestedAt } }),
      ...(name !== undefined && { volumes: [{ name: 'sql', configMap: { name } }] }),
      containers: [
        databasePrograms(
          deployment,
          { name: RESTORER, script: plan.order.filled === true ? RUN_SCRIPTS : RESTORE, secret, env, mounts },
          settings,
        ),
        storeSpeaker({ args: ['backup', 'restore'], variable: 'GX_RESTORE', order: plan.order, target: plan.target, env: keys }, settings),
      ],
    },
    settings,
  );
}
