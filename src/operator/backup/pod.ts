import type { NamedTarget } from '../../config/platform/backups.ts';
import { ENCRYPTION_KEYS } from '../../schema/agent/aes-key-id.ts';
import type { OperatorSettings } from '../../config/platform/operator.ts';
import { buildProxyVariables } from '../objects/proxy-variables.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import {
  DEPLOYMENT,
  buildManagedLabels,
  type Component,
} from '../../schema/platform/objects/labels.ts';
import { names } from '../../schema/names.ts';
import { URI_KEY } from '../../schema/platform/spec/database-spec.ts';
import { isClaimTarget, type BackupTarget } from '../../schema/wire/backup-message.ts';
import { ADDRESS_FOLDER } from '../../schema/wire/database-session.ts';
import { buildAuthorityMount } from '../database/address.ts';
import { resolveDatabaseSize } from '../database/own/size.ts';
import { restrictedContainer, buildRestrictedPod } from '../database/own/postgres-image.ts';
import { formatCores } from '../kernel/quantity.ts';
import { buildJob } from '../objects/job.ts';
import { buildOwnedMetadata } from '../objects/metadata.ts';
import { RUN_SCRIPTS } from './run-script.ts';

/*
 * The parts that Jobs between a database and a store have in common: containers with the programs of the database, and
 * one of the platform that speaks to the store. Between two of them there is one folder for each way, which the other
 * side can only read. Data goes through a pipe, so that nothing is written to a disk.
 *
 * A container that works with data of a tenant has no credential but the tenant's own. Credentials are files of the
 * containers that need them, and in no environment.
 */

/** The container that speaks to the store, and tells how the Job ended. */
export const SENDER = 'send';
/** The container with pgBackRest, which copies the files of a database from and to the store. */
export const COPIER = 'copy';
/** The container that restores. */
export const RESTORER = 'restore';
/** The folder at which a target that is a volume claim is mounted. */
const MOUNT = '/gx/store';
/** Where the folders between the sender and the container with the database's programs are. */
export const PIPE = '/gx/pipe';
/** Where those between the sender and the copier are. */
const COPIER_PIPE = '/gx/copier';
const CREDENTIAL = '/gx/credential';
const ENCRYPTION = '/gx/encryption';

type BackupJob = {
  component: Component;
  name: string;
  annotations?: Record<string, string>;
  /** The target of the installation that the Job works with. */
  target: string;
  containers: object[];
  /** True if one of the containers is the copier. */
  copies?: boolean;
  volumes?: object[];
};

/** Returns a Job that is tried once, within the deadline of backups. */
export function storeJob(
  deployment: DeploymentResource,
  { component, name, annotations, target, containers, copies = false, volumes = [] }: BackupJob,
  settings: OperatorSettings,
): KubeObject {
  const deploymentName = deployment.metadata.name;
  const common = {
    imagePullPolicy: settings.imagePullPolicy,
    securityContext: restrictedContainer,
  };
  return buildJob(
    buildOwnedMetadata(deployment, component, name),
    { backoffLimit: 0, activeDeadlineSeconds: settings.backups.deadlineMinutes * 60 },
    {
      labels: buildManagedLabels(deploymentName, component),
      annotations: { [DEPLOYMENT]: deploymentName, ...annotations },
      spec: {
        ...buildRestrictedPod(deployment, settings),
        restartPolicy: 'Never',
        volumes: [
          buildAuthorityMount(names.databaseTls(deploymentName)).volume,
          ...pipe.volumes,
          ...(copies
            ? [
                ...copierPipe.volumes,
                { name: OWN.name, emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
              ]
            : []),
          ...listTargetClaims(target, settings).map((claimName) => ({
            name: 'store',
            persistentVolumeClaim: { claimName },
          })),
          ...buildCredentialFiles(target, settings).map(({ volume }) => volume),
          ...volumes,
        ],
        containers: containers.map((container) => ({ ...common, ...container })),
      },
    },
  );
}

/** The folders between two containers: each side writes its own, and can only read the other's. */
const buildFolders = (name: string, at: string) => {
  const [orders, answers] = ['orders', 'answers'].map((way) => ({
    name: `${name}-${way}`,
    mountPath: `${at}/${way}`,
  }));
  return {
    volumes: [orders, answers].map((mount) => ({
      name: mount?.name,
      emptyDir: { sizeLimit: '16Mi' },
    })),
    /** Those of the sender, and those of the container with programs of the database. */
    sender: [orders, { ...answers, readOnly: true }],
    programs: [{ ...orders, readOnly: true }, answers],
  };
};
const pipe = buildFolders('pipe', PIPE);
const copierPipe = buildFolders('copier', COPIER_PIPE);
/** The copier's own folder, for its configuration. It lies in memory, because the credential is in it. */
const OWN = { name: 'copier-own', mountPath: '/tmp' };

/** A Secret's files are the group's to read, because a container's user is not their owner. */
const READABLE = 0o440;

/**
 * Returns the volume with values of a Secret and its mount. The Secret may be missing, or lack a value: then the
 * program says so, while a pod that waits for its volume would not.
 */
const buildSecretFiles = (
  name: string,
  mountPath: string,
  { secretName, keys }: { secretName: string; keys: readonly string[] },
) => ({
  volume: {
    name,
    secret: {
      secretName,
      optional: true,
      defaultMode: READABLE,
      items: keys.map((key) => ({ key, path: key })),
    },
  },
  mount: { name, mountPath, readOnly: true },
});
export type SecretFiles = ReturnType<typeof buildSecretFiles>;

/** Returns the file with the address of a deployment's database. */
export const buildAddressFile = (secretName: string): SecretFiles =>
  buildSecretFiles('address', ADDRESS_FOLDER, { secretName, keys: [URI_KEY] });

/** Returns the files with the encryption keys of a deployment's secrets. Empty if it has none. */
export const buildEncryptionFiles = ({ spec }: DeploymentResource): SecretFiles[] => {
  const { secretName } = spec.template;
  return secretName === undefined
    ? []
    : [buildSecretFiles('encryption', ENCRYPTION, { secretName, keys: ENCRYPTION_KEYS })];
};

/** Returns a variable with a value. */
export const toVariable = ([name, value]: [string, string]): object => ({ name, value });

/**
 * Writes each `$` as an escape of JSON: Kubernetes would put the values of other variables, as the credential, in place
 * of `$(NAME)` in the Deployment.
 */
const escapeReferences = (json: string): string => json.replaceAll('$', String.raw`\u0024`);

/** Whether a Job works beside runs that must not slow down, or somebody waits for it. */
export type BackupPace = 'beside runs' | 'awaited';

/** The processor time that a container asks for. On a busy node it is its weight against agents and databases. */
const CPU: Record<BackupPace, string> = { 'beside runs': '10m', awaited: '50m' };
/** Cores of a container at most: a Job must leave the agents their share of the node. */
export const MOST_CORES = 0.5;
/**
 * The cores of a dump beside runs, for each that the database may use, because the database spends more than that on
 * the data that it sends. At the smallest size, 1.2 GB take two minutes. With a third, runs may take twice as long.
 */
const BESIDE_RUNS = 0.25;
/** Cores of such a dump at least, so that it starts within its time. */
const LEAST_CORES = 0.02;

/** Returns the cores with which a container may work with a database. */
export function limitCores(
  deployment: DeploymentResource,
  pace: BackupPace,
  settings: OperatorSettings,
): string {
  const share = resolveDatabaseSize(deployment, settings).cpuLimit * BESIDE_RUNS;
  return formatCores(
    pace === 'awaited' ? MOST_CORES : Math.min(MOST_CORES, Math.max(LEAST_CORES, share)),
  );
}

type Programs = {
  name: string;
  script: string;
  address: SecretFiles;
  pace?: BackupPace;
  env?: object[];
  mounts?: object[];
};

/** Returns the container with the programs of the database. The file `ADDRESS_FILE` holds where it is. */
export function buildDatabaseContainer(
  deployment: DeploymentResource,
  { name, script, address, pace = 'awaited', env = [], mounts = [] }: Programs,
  settings: OperatorSettings,
): object {
  const { mount, parameters } = buildAuthorityMount(names.databaseTls(deployment.metadata.name));
  const connecting = {
    ADDRESS_FILE: `${ADDRESS_FOLDER}/${URI_KEY}`,
    PGCONNECT_TIMEOUT: '10',
    PGSSLMODE: parameters.sslmode,
    PGSSLROOTCERT: parameters.sslrootcert,
  };
  return {
    name,
    image: settings.databaseImage,
    command: ['/bin/sh', '-c', script],
    env: [...Object.entries(connecting).map(toVariable), ...env],
    resources: {
      requests: { cpu: CPU[pace], memory: '64Mi' },
      limits: { cpu: limitCores(deployment, pace, settings), memory: '512Mi' },
    },
    volumeMounts: [mount, address.mount, ...pipe.programs, ...mounts],
  };
}

/**
 * Returns the container with pgBackRest, which has the credential of the store. It runs no statement in a tenant's
 * database, and no other container sees its files.
 */
export const buildCopierContainer = (
  {
    target,
    pace = 'awaited',
    mounts = [],
  }: { target: string; pace?: BackupPace; mounts?: object[] },
  cpu: string,
  settings: OperatorSettings,
): object => ({
  name: COPIER,
  image: settings.databaseImage,
  command: ['/bin/sh', '-c', RUN_SCRIPTS],
  env: Object.entries({ PIPE: COPIER_PIPE, CREDENTIAL }).map(toVariable),
  resources: { requests: { cpu: CPU[pace], memory: '64Mi' }, limits: { cpu, memory: '768Mi' } },
  volumeMounts: [
    ...copierPipe.programs,
    OWN,
    ...buildCredentialFiles(target, settings).map(({ mount }) => mount),
    ...mounts,
  ],
});

/** Returns the container that restores into a database of its own, which knows no credential. */
export const buildScratchContainer = (
  { script, env = [], mounts = [] }: Pick<Programs, 'script' | 'env' | 'mounts'>,
  { databaseImage }: OperatorSettings,
): object => ({
  name: RESTORER,
  image: databaseImage,
  command: ['/bin/sh', '-c', script],
  env,
  resources: {
    requests: { cpu: CPU.awaited, memory: '256Mi' },
    limits: { cpu: formatCores(MOST_CORES), memory: '768Mi' },
  },
  volumeMounts: [...pipe.programs, ...mounts],
});

function listTargetClaims(name: string, { backups: { targets } }: OperatorSettings): string[] {
  const target = targets[name];
  return target !== undefined && isClaimTarget(target) ? [target.claim] : [];
}

/** Returns a target as orders name it, without its Secret. */
export function stripTargetSecret(target: NamedTarget): BackupTarget {
  if (isClaimTarget(target)) return target;
  const { secretName: _secret, ...place } = target;
  return place;
}

type Speaking = {
  args: string[];
  variable: string;
  order: object;
  target: string;
  /** True if it makes backups. Otherwise it only reads. */
  writes?: boolean;
  pace?: BackupPace;
  copies?: boolean;
  secrets?: readonly SecretFiles[];
};

/** Returns the container that speaks to the store of a target. */
export function storeSpeaker(
  {
    args,
    variable,
    order,
    target,
    writes = false,
    pace = 'awaited',
    copies = false,
    secrets = [],
  }: Speaking,
  settings: OperatorSettings,
): object {
  const { image } = settings.backups;
  const claims = listTargetClaims(target, settings);
  return {
    name: SENDER,
    image,
    args,
    env: [
      claims.length > 0
        ? toVariable(['GX_BACKUP_MOUNT', MOUNT])
        : toVariable(['GX_BACKUP_CREDENTIAL', CREDENTIAL]),
      toVariable([variable, escapeReferences(JSON.stringify(order))]),
      toVariable(['GX_BACKUP_PIPE', PIPE]),
      ...Object.entries(buildProxyVariables(settings.proxies)).flatMap(([name, value]) =>
        value === undefined ? [] : [toVariable([name, value])],
      ),
      ...(copies ? [toVariable(['GX_BACKUP_COPIER', COPIER_PIPE])] : []),
      ...(secrets.length > 0 ? [toVariable(['GX_BACKUP_ENCRYPTION', ENCRYPTION])] : []),
    ],
    // Two parts of 16 MB at first, and the program itself. Parts of a dump that is sent grow with its size.
    resources: {
      requests: { cpu: CPU[pace], memory: '160Mi' },
      limits: { cpu: formatCores(MOST_CORES), memory: '640Mi' },
    },
    volumeMounts: [
      ...pipe.sender,
      ...(copies ? copierPipe.sender : []),
      ...[...buildCredentialFiles(target, settings), ...secrets].map(({ mount }) => mount),
      ...claims.map(() => ({ name: 'store', mountPath: MOUNT, readOnly: !writes })),
    ],
  };
}

function buildCredentialFiles(
  name: string,
  { backups: { targets } }: OperatorSettings,
): SecretFiles[] {
  const target = targets[name];
  if (target === undefined || isClaimTarget(target)) return [];
  return [
    buildSecretFiles('credential', CREDENTIAL, {
      secretName: target.secretName,
      keys: ['accessKeyId', 'secretAccessKey'],
    }),
  ];
}
