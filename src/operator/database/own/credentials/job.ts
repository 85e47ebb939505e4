import type { OperatorSettings } from '../../../../config/operator.ts';
import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/platform/custom-resources.ts';
import { DEPLOYMENT, ownLabels, PASSWORD_TASK } from '../../../../schema/platform/labels.ts';
import { names } from '../../../../schema/names.ts';
import { authorityMount } from '../../address.ts';
import { dataOwner, ownedMetadata } from '../../../objects/metadata.ts';
import { restrictedContainer, restrictedPod } from '../postgres-image.ts';
import type { Credential } from './credential.ts';
import type { Task } from './next-step.ts';
import { adoptSql, loginOf, retireSql, setSql } from './sql.ts';

const PSQL = 'psql -X -q -A -t -v ON_ERROR_STOP=1';
const SCRIPTS: Record<Task, string> = {
  // A login that already works was set before a crash.
  set: `${PSQL} "$NEXT" -c 'select 1' > /dev/null 2>&1 && exit 0
printf '%s' "$STATEMENTS" | ${PSQL} -1 -v verifier="$VERIFIER" "$ADMIN"
exec ${PSQL} "$NEXT" -c 'select 1'`,
  retire: `printf '%s' "$STATEMENTS" | ${PSQL} -1 "$ADMIN"`,
  adopt: `set -e
printf '%s' "$STATEMENTS" | ${PSQL} -1 -v verifier="$VERIFIER" "$ADMIN"
exec ${PSQL} "$NEXT" -c 'select 1'`,
};
/** The task is repeated until it succeeds, because a database may restart meanwhile. */
const FOR_EVER = 2_147_483_647;

/** A task of a pod: which one, and the former and the next credential. */
export type PasswordTask = { task: Task; from: Credential; to: Credential };

/** Returns the Job whose pod does one task in the database. The operator itself connects to no database. */
export function passwordJob(deployment: DeploymentResource, { task, from, to }: PasswordTask, settings: OperatorSettings): KubeObject {
  const { name } = deployment.metadata;
  const job = names.passwordJob(name, task, to.number);
  const tls = authorityMount(names.databaseTls(name));
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: ownedMetadata(deployment, 'password', job),
    spec: {
      backoffLimit: FOR_EVER,
      template: {
        metadata: { labels: ownLabels(name, 'password'), annotations: { [DEPLOYMENT]: name, [PASSWORD_TASK]: job } },
        spec: {
          ...restrictedPod(deployment, settings),
          restartPolicy: 'OnFailure',
          volumes: [tls.volume],
          containers: [
            {
              name: 'psql',
              image: settings.databaseImage,
              imagePullPolicy: settings.imagePullPolicy,
              command: ['/bin/sh', '-c', SCRIPTS[task]],
              env: [...environment(deployment, { task, from, to }), ...connecting(tls.parameters)],
              // It runs only psql, which takes a few megabytes.
              resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } },
              securityContext: restrictedContainer,
              volumeMounts: [tls.mount],
            },
          ],
        },
      },
    },
  };
}

/** Returns the variables that psql needs besides an address. */
function connecting({ sslmode, sslrootcert }: ReturnType<typeof authorityMount>['parameters']): object[] {
  // A password is set even in a database that its guard has made read-only, because it takes only some hundred bytes.
  const options = { PGCONNECT_TIMEOUT: '10', PGOPTIONS: '-c default_transaction_read_only=off' };
  const given = { ...options, PGSSLMODE: sslmode, PGSSLROOTCERT: sslrootcert };
  return Object.entries(given).map(([name, value]) => ({ name, value }));
}

function environment(deployment: DeploymentResource, { task, from, to }: PasswordTask): object[] {
  const admin = names.databaseAdmin(deployment.metadata.name, dataOwner(deployment));
  const known = (variable: string, secret: string, key: string): object => ({
    name: variable,
    valueFrom: { secretKeyRef: { name: secret, key } },
  });
  const literal = (name: string, value: string): object => ({ name, value });
  const next = [known('NEXT', to.secret, 'uri'), known('VERIFIER', to.secret, 'verifier')];
  const tasks: Record<Task, object[]> = {
    set: [...next, literal('STATEMENTS', setSql(loginOf(to.number)))],
    adopt: [...next, literal('STATEMENTS', adoptSql(loginOf(to.number)))],
    retire: [literal('STATEMENTS', retireSql(loginOf(from.number)))],
  };
  return [known('ADMIN', admin, 'uri'), ...tasks[task]];
}
