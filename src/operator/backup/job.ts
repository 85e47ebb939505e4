import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { BackupResource, DeploymentResource, RevisionResource } from '../../schema/platform/custom-resources.ts';
import { BACKUP, DEPLOYMENT, ownLabels } from '../../schema/platform/labels.ts';
import { names } from '../../schema/names.ts';
import type { BackupOrder } from '../../schema/wire/backup-message.ts';
import { authorityMount } from '../database/address.ts';
import { restrictedContainer, restrictedPod } from '../database/own/postgres-image.ts';
import { ownedMetadata } from '../objects/metadata.ts';
import { keepOf } from './plan.ts';

/** The container that sends the backup, and tells how it ended. */
export const SENDER = 'send';
const PIPE = '/gx/pipe';
/** Characters of the Deployment and its revision: a variable of a process has 128 KiB. Larger ones are left out. */
const MOST_HELD = 100_000;
const FACTS = [
  'show server_version',
  'select coalesce(max(number), 0) from gx.migration',
  `select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
];

/**
 * Dumps into a pipe, once the other container says that the target takes it. Nothing is written to a disk. The exit
 * status comes last, so that a dump that was cut off is never taken for a whole one.
 */
const DUMP = `cd ${PIPE} && mkfifo dump || exit 1
while [ ! -e go ]; do [ ! -e stop ] || exit 0; sleep 0.2; done
exec 3> dump
psql -X -q -A -t -v ON_ERROR_STOP=1 ${FACTS.map((_, index) => `-c "$FACT_${index}"`).join(' ')} "$ADDRESS" > facts 2> error &&
  pg_dump --format=custom --compress=zstd:1 --no-unlogged-table-data --lock-wait-timeout=60s --dbname="$ADDRESS" >&3 2>> error
status=$?
exec 3>&-
echo $status > ended && mv ended end
exit $status`;

export type BackupGiven = {
  /** The Secret with the address of the database. */
  secret: string;
  tenant: string;
  /** The revision that serves, if there is one. */
  revision: RevisionResource | undefined;
};

/** Returns the order for a backup. */
export function backupOrder(
  deployment: DeploymentResource,
  backup: BackupResource,
  { tenant, revision, settings }: Ordered,
): BackupOrder | undefined {
  const target = settings.backups.targets[backup.spec.target];
  const spec = deployment.spec.database?.backup;
  if (target === undefined || spec === undefined) return undefined;
  const { secretName: _secret, ...place } = target;
  const { uid = '', name, namespace } = deployment.metadata;
  const holds = {
    deployment: { name, namespace, spec: deployment.spec },
    ...(revision && { revision: { name: revision.metadata.name, template: revision.spec.template } }),
  };
  return {
    name: backup.spec.backup,
    target: place,
    owner: { tenant, id: (deployment.spec.id ?? uid).toLowerCase(), uid },
    keep: keepOf(spec),
    holds: JSON.stringify(holds).length > MOST_HELD ? {} : holds,
  };
}

type Ordered = Omit<BackupGiven, 'secret'> & { settings: OperatorSettings };

type Given = { backup: BackupResource; order: BackupOrder; secret: string };

/** Returns the Job that makes a backup: one container dumps, the other sends the bytes that it reads. */
export function backupJob(deployment: DeploymentResource, given: Given, settings: OperatorSettings): KubeObject {
  const { name } = deployment.metadata;
  const { backup } = given;
  const tls = authorityMount(names.databaseTls(name));
  const common = { imagePullPolicy: settings.imagePullPolicy, securityContext: restrictedContainer };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: ownedMetadata(deployment, 'backup', backup.metadata.name),
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: settings.backups.deadlineMinutes * 60,
      template: {
        metadata: { labels: ownLabels(name, 'backup'), annotations: { [DEPLOYMENT]: name, [BACKUP]: backup.metadata.name } },
        spec: {
          ...restrictedPod(deployment, settings),
          restartPolicy: 'Never',
          volumes: [tls.volume, { name: pipe.name, emptyDir: { sizeLimit: '16Mi' } }],
          containers: [
            { ...common, ...dumper(given, settings, tls) },
            { ...common, ...sender(given, settings) },
          ],
        },
      },
    },
  };
}

const pipe = { name: 'pipe', mountPath: PIPE };
const literal = ([name, value]: [string, string]): object => ({ name, value });
const known = (name: string, secret: string, key: string): object => ({ name, valueFrom: { secretKeyRef: { name: secret, key } } });

/**
 * Writes each `$` as an escape of JSON: Kubernetes would put the values of other variables, as the credential, in place
 * of `$(NAME)` in the Deployment.
 */
const withoutReferences = (json: string): string => json.replaceAll('$', String.raw`\u0024`);

function dumper({ secret }: Given, { databaseImage }: OperatorSettings, { mount, parameters }: ReturnType<typeof authorityMount>): object {
  const { sslmode, sslrootcert } = parameters;
  const connecting = { PGCONNECT_TIMEOUT: '10', PGSSLMODE: sslmode, PGSSLROOTCERT: sslrootcert };
  return {
    name: 'dump',
    image: databaseImage,
    command: ['/bin/sh', '-c', DUMP],
    env: [
      known('ADDRESS', secret, 'uri'),
      ...Object.entries(connecting).map(literal),
      ...FACTS.map((text, index) => literal([`FACT_${index}`, text])),
    ],
    // A dump must leave the agents their share of the node.
    resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { cpu: '500m', memory: '512Mi' } },
    volumeMounts: [mount, pipe],
  };
}

function sender({ backup, order }: Given, { backups: { image, targets } }: OperatorSettings): object {
  const secret = targets[backup.spec.target]?.secretName ?? '';
  return {
    name: SENDER,
    image,
    args: ['backup'],
    env: [
      known('GX_BACKUP_ACCESS_KEY_ID', secret, 'accessKeyId'),
      known('GX_BACKUP_SECRET_ACCESS_KEY', secret, 'secretAccessKey'),
      literal(['GX_BACKUP', withoutReferences(JSON.stringify(order))]),
      literal(['GX_BACKUP_PIPE', PIPE]),
    ],
    // Two parts of 16 MB at first, and the program itself. Parts grow with the size of the dump.
    resources: { requests: { cpu: '50m', memory: '160Mi' }, limits: { cpu: '500m', memory: '640Mi' } },
    volumeMounts: [pipe],
  };
}
