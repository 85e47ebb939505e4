import type { OperatorSettings } from '../../../../config/operator.ts';
import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/custom-resources.ts';
import { DEPLOYMENT, ownLabels, PASSWORD_TASK } from '../../../../schema/labels.ts';
import { names } from '../../../../schema/names.ts';
import { authorityMount } from '../../address.ts';
import { dataOwner, ownedMetadata } from '../../../family/metadata.ts';
import { restrictedContainer, restrictedPod } from '../postgres-image.ts';
import { authorityOf } from '../tls/served.ts';
import type { Credential } from './credential.ts';
import type { Task } from './next-step.ts';
import { separationSql } from './roles-sql.ts';
import { loginOf, retireSql, setSql } from './sql.ts';

const PSQL = 'psql -X -q -A -t -v ON_ERROR_STOP=1';
/** A login that already works was set before a crash. A database whose agents are superusers gets its admin first. */
const SEPARATE = `${PSQL} "$ADMIN" -c 'select 1' > /dev/null 2>&1 ||
  printf '%s' "$SEPARATION" | ${PSQL} -v verifier="$ADMIN_VERIFIER" "$FORMER" > /dev/null`;
const SCRIPTS: Record<Task, string> = {
  separate: `${SEPARATE}
exec ${PSQL} "$ADMIN" -c 'select 1'`,
  set: `${SEPARATE}
${PSQL} "$NEXT" -c 'select 1' > /dev/null 2>&1 && exit 0
printf '%s' "$STATEMENTS" | ${PSQL} -1 -v verifier="$VERIFIER" "$ADMIN"
exec ${PSQL} "$NEXT" -c 'select 1'`,
  retire: `printf '%s' "$STATEMENTS" | ${PSQL} -1 "$ADMIN"`,
};
/** The task is repeated until it succeeds, because a database may restart meanwhile. */
const FOR_EVER = 2_147_483_647;

/** A task of a pod. In a separation, `from` and `to` are the only credential that exists. */
export type PasswordTask = { task: Task; from: Credential; to: Credential };

/** Returns the Job whose pod does one task in the database. The operator itself connects to no database. */
export function passwordJob(deployment: DeploymentResource, { task, from, to }: PasswordTask, settings: OperatorSettings): KubeObject {
  const { name } = deployment.metadata;
  const job = names.passwordJob(name, task, to.number);
  const authority = authorityOf(deployment);
  const tls = authority === undefined ? undefined : authorityMount(authority);
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: ownedMetadata(deployment, 'password', job),
    spec: {
      backoffLimit: FOR_EVER,
      template: {
        metadata: { labels: ownLabels(name, 'password'), annotations: { [DEPLOYMENT]: name, [PASSWORD_TASK]: job } },
        spec: {
          ...restrictedPod(deployment),
          restartPolicy: 'OnFailure',
          ...(tls && { volumes: [tls.volume] }),
          containers: [
            {
              name: 'psql',
              image: settings.databaseImage,
              imagePullPolicy: settings.imagePullPolicy,
              command: ['/bin/sh', '-c', SCRIPTS[task]],
              env: [...environment(deployment, { task, from, to }), ...connecting(tls)],
              // It runs only psql, which takes a few megabytes.
              resources: { requests: { cpu: '10m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } },
              securityContext: restrictedContainer,
              ...(tls && { volumeMounts: [tls.mount] }),
            },
          ],
        },
      },
    },
  };
}

/** Returns the variables that psql needs besides an address. */
function connecting(tls: ReturnType<typeof authorityMount> | undefined): object[] {
  const { sslmode, sslrootcert } = tls?.parameters ?? {};
  // A password is set even in a database that its guard has made read-only, because it takes only some hundred bytes.
  const options = { PGCONNECT_TIMEOUT: '10', PGOPTIONS: '-c default_transaction_read_only=off' };
  const given = { ...options, PGSSLMODE: sslmode, PGSSLROOTCERT: sslrootcert };
  return Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
}

function environment(deployment: DeploymentResource, { task, from, to }: PasswordTask): object[] {
  const admin = names.databaseAdmin(deployment.metadata.name, dataOwner(deployment));
  const known = (variable: string, secret: string, key: string, optional = false): object => ({
    name: variable,
    valueFrom: { secretKeyRef: { name: secret, key, ...(optional && { optional }) } },
  });
  const said = (name: string, value: string): object => ({ name, value });
  // A database that was made with its admin needs no verifier of it, so the admin's Secret has none.
  const separating = [
    ...(from.isLost === true ? [] : [known('FORMER', from.secret, 'uri')]),
    known('ADMIN_VERIFIER', admin, 'verifier', true),
    said('SEPARATION', separationSql()),
  ];
  const setting = [
    known('NEXT', to.secret, 'uri'),
    known('VERIFIER', to.secret, 'verifier'),
    said('STATEMENTS', setSql(loginOf(to.number))),
  ];
  const tasks: Record<Task, object[]> = {
    separate: separating,
    set: [...separating, ...setting],
    retire: [said('STATEMENTS', retireSql(loginOf(from.number)))],
  };
  return [known('ADMIN', admin, 'uri'), ...tasks[task]];
}
