import type { OperatorSettings } from '../../../../config/platform/operator.ts';
import type { KubeObject } from '../../../../kube/kube.ts';
import type { DeploymentResource } from '../../../../schema/platform/resources/custom-resources.ts';
import {
  DEPLOYMENT,
  buildManagedLabels,
  PASSWORD_TASK,
} from '../../../../schema/platform/objects/labels.ts';
import { names } from '../../../../schema/names.ts';
import { ask, WRITES_ALWAYS } from '../../../../schema/wire/database-session.ts';
import { buildAuthorityMount } from '../../address.ts';
import { buildJob } from '../../../objects/job.ts';
import { getDataOwner, buildOwnedMetadata } from '../../../objects/metadata.ts';
import { restrictedContainer, buildRestrictedPod } from '../postgres-image.ts';
import type { Credential } from './credential.ts';
import type { Task } from './next-step.ts';
import { adoptSql, getLogin, buildRetireSql, setSql } from './sql.ts';

/** The container that does the task. Its end is the task's. */
export const PSQL = 'psql';
const FOLDERS = { admin: '/gx/admin', next: '/gx/next' };
/** The group of the image's user reads them. */
const READABLE = 0o440;
const getFilePath = (folder: keyof typeof FOLDERS, key: string): string =>
  `${FOLDERS[folder]}/${key}`;

/** The admin's session. Its database is `postgres`, because the tenant owns the other one, and may give it settings. */
const ADMINS = `"$(sed 's|/[^/]*$|/postgres|' ${getFilePath('admin', 'uri')})"`;
/** The next login's own session. */
const NEXT = `"$(cat ${getFilePath('next', 'uri')})"`;
const VERIFIER = `-v verifier="$(cat ${getFilePath('next', 'verifier')})"`;

const buildAdminCommand = (args = ''): string =>
  `printf '%s' "$STATEMENTS" | ${ask(ADMINS, { args: `-1${args === '' ? '' : ` ${args}`}`, options: [WRITES_ALWAYS] })}`;
const LOGS_IN = ask(NEXT, { args: "-c 'select 1'" });

const SCRIPTS: Record<Task, string> = {
  // A login that already works was set before a crash.
  set: `${LOGS_IN} > /dev/null 2>&1 && exit 0
${buildAdminCommand(VERIFIER)}
exec ${LOGS_IN}`,
  retire: buildAdminCommand(),
  adopt: `set -e
${buildAdminCommand(VERIFIER)}
exec ${LOGS_IN}`,
};
/** Ends a pod whose Secrets are not there with a sentence on that, which the operator finds in the pod's status. */
const buildMountCheck = (folders: readonly string[]): string =>
  folders
    .map(
      (folder) =>
        `[ -s ${folder}/uri ] || { echo "The Secret with the credential at ${folder} is not there." > /dev/termination-log; exit 1; }`,
    )
    .join('\n');

/** The task is repeated until it succeeds, because a database may restart meanwhile. */
const FOR_EVER = 2_147_483_647;

/** A task of a pod: which one, and the former and the next credential. */
export type PasswordTask = { task: Task; from: Credential; to: Credential };

/** Returns the Job whose pod does one task in the database. The operator itself connects to no database. */
export function buildPasswordJob(
  deployment: DeploymentResource,
  { task, from, to }: PasswordTask,
  settings: OperatorSettings,
): KubeObject {
  const { name } = deployment.metadata;
  const job = names.passwordJob(name, task, to.number);
  const tls = buildAuthorityMount(names.databaseTls(name));
  const credentials = buildPasswordFiles(deployment, { task, to });
  return buildJob(
    buildOwnedMetadata(deployment, 'password', job),
    { backoffLimit: FOR_EVER },
    {
      labels: buildManagedLabels(name, 'password'),
      annotations: { [DEPLOYMENT]: name, [PASSWORD_TASK]: job },
      spec: {
        ...buildRestrictedPod(deployment, settings),
        restartPolicy: 'OnFailure',
        volumes: [tls.volume, ...credentials.map(({ volume }) => volume)],
        containers: [
          {
            name: PSQL,
            image: settings.databaseImage,
            imagePullPolicy: settings.imagePullPolicy,
            command: [
              '/bin/sh',
              '-c',
              `${buildMountCheck(credentials.map(({ mount }) => mount.mountPath))}\n${SCRIPTS[task]}`,
            ],
            env: buildEnvironment({ task, from, to }, tls.parameters),
            // It runs only psql, which takes a few megabytes.
            resources: {
              requests: { cpu: '10m', memory: '32Mi' },
              limits: { cpu: '100m', memory: '64Mi' },
            },
            securityContext: restrictedContainer,
            volumeMounts: [tls.mount, ...credentials.map(({ mount }) => mount)],
          },
        ],
      },
    },
  );
}

/** Returns the files with credentials: no environment holds one. A pod that waits for a volume could not say so. */
function buildPasswordFiles(
  deployment: DeploymentResource,
  { task, to }: { task: Task; to: Credential },
) {
  const buildFiles = (name: keyof typeof FOLDERS, secretName: string, keys: readonly string[]) => ({
    volume: {
      name,
      secret: {
        secretName,
        optional: true,
        defaultMode: READABLE,
        items: keys.map((key) => ({ key, path: key })),
      },
    },
    mount: { name, mountPath: FOLDERS[name], readOnly: true },
  });
  const admin = buildFiles(
    'admin',
    names.databaseAdmin(deployment.metadata.name, getDataOwner(deployment)),
    ['uri'],
  );
  return task === 'retire' ? [admin] : [admin, buildFiles('next', to.secret, ['uri', 'verifier'])];
}

function buildEnvironment(
  { task, from, to }: PasswordTask,
  { sslmode, sslrootcert }: ReturnType<typeof buildAuthorityMount>['parameters'],
): object[] {
  const statements: Record<Task, string> = {
    set: setSql(getLogin(to.number)),
    adopt: adoptSql(getLogin(to.number)),
    retire: buildRetireSql(getLogin(from.number)),
  };
  const given = {
    STATEMENTS: statements[task],
    PGCONNECT_TIMEOUT: '10',
    PGSSLMODE: sslmode,
    PGSSLROOTCERT: sslrootcert,
  };
  return Object.entries(given).map(([name, value]) => ({ name, value }));
}
