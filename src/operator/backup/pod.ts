import type { NamedTarget } from '../../config/backups.ts';
import type { OperatorSettings } from '../../config/operator.ts';
import type { KubeObject } from '../../kube/kube.ts';
import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { DEPLOYMENT, ownLabels, type Component } from '../../schema/platform/labels.ts';
import { names } from '../../schema/names.ts';
import { isClaimTarget, type BackupTarget } from '../../schema/wire/backup-message.ts';
import { authorityMount } from '../database/address.ts';
import { databaseSize } from '../database/own/size.ts';
import { restrictedContainer, restrictedPod } from '../database/own/postgres-image.ts';
import { cores } from '../kernel/quantity.ts';
import { ownedMetadata } from '../objects/metadata.ts';

/*
 * The parts that Jobs between a database and a store have in common: a container with the programs of the database, and
 * one of the platform that speaks to the store. They share a folder with a pipe, so that nothing is written to a disk.
 */

/** The container that speaks to the store, and tells how the Job ended. */
export const SENDER = 'send';
/** The container that copies the files of a database. */
export const COPIER = 'copy';
/** The container that restores. */
export const RESTORER = 'restore';
/** The folder at which a target that is a volume claim is mounted. */
const MOUNT = '/gx/store';
/** The folder that both containers share. */
export const PIPE = '/gx/pipe';

type Asked = {
  component: Component;
  name: string;
  annotations?: Record<string, string>;
  /** The target of the installation that the Job works with. */
  target: string;
  containers: object[];
  volumes?: object[];
};

/** Returns a Job that is tried once, within the deadline of backups. */
export function storeJob(
  deployment: DeploymentResource,
  { component, name, annotations, target, containers, volumes = [] }: Asked,
  settings: OperatorSettings,
): KubeObject {
  const deploymentName = deployment.metadata.name;
  const common = { imagePullPolicy: settings.imagePullPolicy, securityContext: restrictedContainer };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: ownedMetadata(deployment, component, name),
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: settings.backups.deadlineMinutes * 60,
      template: {
        metadata: { labels: ownLabels(deploymentName, component), annotations: { [DEPLOYMENT]: deploymentName, ...annotations } },
        spec: {
          ...restrictedPod(deployment, settings),
          restartPolicy: 'Never',
          volumes: [
            authorityMount(names.databaseTls(deploymentName)).volume,
            { name: pipe.name, emptyDir: { sizeLimit: '16Mi' } },
            ...claimOf(target, settings).map((claimName) => ({ name: 'store', persistentVolumeClaim: { claimName } })),
            ...volumes,
          ],
          containers: containers.map((container) => ({ ...common, ...container })),
        },
      },
    },
  };
}

const pipe = { name: 'pipe', mountPath: PIPE };

/** Returns a variable with a value. */
export const literal = ([name, value]: [string, string]): object => ({ name, value });
/** Returns a variable whose value is in a Secret. An optional one may be missing. */
export const fromSecret = (name: string, secret: string, key: string, optional = false): object => ({
  name,
  valueFrom: { secretKeyRef: { name: secret, key, ...(optional && { optional }) } },
});

/**
 * Writes each `$` as an escape of JSON: Kubernetes would put the values of other variables, as the credential, in place
 * of `$(NAME)` in the Deployment.
 */
const withoutReferences = (json: string): string => json.replaceAll('$', String.raw`\u0024`);

/** Whether a Job works beside runs that must not slow down, or somebody waits for it. */
export type BackupPace = 'beside runs' | 'awaited';

/** The processor time that a container asks for. On a busy node it is its weight against agents and databases. */
const CPU: Record<BackupPace, string> = { 'beside runs': '10m', awaited: '50m' };
/** Cores of a container at most: a Job must leave the agents their share of the node. */
const MOST_CORES = 0.5;
/**
 * The cores of a dump beside runs, for each that the database may use, because the database spends more than that on
 * the data that it sends. At the smallest size, 1.2 GB take two minutes. With a third, runs may take twice as long.
 */
const BESIDE_RUNS = 0.25;
/** Cores of such a dump at least, so that it starts within its time. */
const LEAST_CORES = 0.02;

/** Returns the cores with which a container may work with a database. */
function coresBeside(deployment: DeploymentResource, pace: BackupPace, settings: OperatorSettings): string {
  const share = databaseSize(deployment, settings).cpuLimit * BESIDE_RUNS;
  return cores(pace === 'awaited' ? MOST_CORES : Math.min(MOST_CORES, Math.max(LEAST_CORES, share)));
}

type Programs = { name: string; script: string; secret: string; pace?: BackupPace; env?: object[]; mounts?: object[] };

/** Returns the container with the programs of the database. `ADDRESS` holds where it is. */
export function databasePrograms(
  deployment: DeploymentResource,
  { name, script, secret, pace = 'awaited', env = [], mounts = [] }: Programs,
  settings: OperatorSettings,
): object {
  const { mount, parameters } = authorityMount(names.databaseTls(deployment.metadata.name));
  const connecting = { PGCONNECT_TIMEOUT: '10', PGSSLMODE: parameters.sslmode, PGSSLROOTCERT: parameters.sslrootcert };
  return {
    name,
    image: settings.databaseImage,
    command: ['/bin/sh', '-c', script],
    env: [fromSecret('ADDRESS', secret, 'uri'), ...Object.entries(connecting).map(literal), ...env],
    resources: { requests: { cpu: CPU[pace], memory: '64Mi' }, limits: { cpu: coresBeside(deployment, pace, settings), memory: '512Mi' } },
    volumeMounts: [mount, pipe, ...mounts],
  };
}

/** Returns the container that restores into a database of its own, which knows no credential. */
export const scratchPrograms = (
  { script, env = [], mounts = [] }: Pick<Programs, 'script' | 'env' | 'mounts'>,
  { databaseImage }: OperatorSettings,
): object => ({
  name: RESTORER,
  image: databaseImage,
  command: ['/bin/sh', '-c', script],
  env,
  resources: { requests: { cpu: CPU.awaited, memory: '256Mi' }, limits: { cpu: cores(MOST_CORES), memory: '768Mi' } },
  volumeMounts: [pipe, ...mounts],
});

/** Returns the volume claim of a target, if it is one. */
function claimOf(name: string, { backups: { targets } }: OperatorSettings): string[] {
  const target = targets[name];
  return target !== undefined && isClaimTarget(target) ? [target.claim] : [];
}

/** Returns a target as orders name it, without its Secret. */
export function targetInOrder(target: NamedTarget): BackupTarget {
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
  env?: object[];
};

/** Returns the container that speaks to the store of a target. */
export function storeSpeaker(
  { args, variable, order, target, writes = false, pace = 'awaited', env = [] }: Speaking,
  settings: OperatorSettings,
): object {
  const { image, targets } = settings.backups;
  const claims = claimOf(target, settings);
  return {
    name: SENDER,
    image,
    args,
    env: [
      ...(claims.length > 0 ? [literal(['GX_BACKUP_MOUNT', MOUNT])] : credentialOf(targets[target])),
      literal([variable, withoutReferences(JSON.stringify(order))]),
      literal(['GX_BACKUP_PIPE', PIPE]),
      ...env,
    ],
    // Two parts of 16 MB at first, and the program itself. Parts of a dump that is sent grow with its size.
    resources: { requests: { cpu: CPU[pace], memory: '160Mi' }, limits: { cpu: cores(MOST_CORES), memory: '640Mi' } },
    volumeMounts: [pipe, ...claims.map(() => ({ name: 'store', mountPath: MOUNT, readOnly: !writes }))],
  };
}

/** Returns the variables with the credential of a store that speaks S3. */
function credentialOf(target: NamedTarget | undefined): object[] {
  const secret = target === undefined || isClaimTarget(target) ? '' : target.secretName;
  return [
    fromSecret('GX_BACKUP_ACCESS_KEY_ID', secret, 'accessKeyId'),
    fromSecret('GX_BACKUP_SECRET_ACCESS_KEY', secret, 'secretAccessKey'),
  ];
}
