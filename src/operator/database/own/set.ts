import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import {
  DEPLOYMENT,
  buildManagedLabels,
  buildPodSelector,
} from '../../../schema/platform/objects/labels.ts';
import { names } from '../../../schema/names.ts';
import { formatCores, formatMebibytes } from '../../kernel/quantity.ts';
import { OWNER } from '../../../schema/wire/database-session.ts';
import { DATABASE_PORT, resolveDatabaseSize } from './size.ts';
import { buildArchiveMount } from './archive-mount.ts';
import { buildGuardContainer } from './guard.ts';
import { buildDatabaseArguments } from './settings.ts';
import { buildChildMetadata, getDataOwner, buildAppliedMetadata } from '../../objects/metadata.ts';
import {
  DATA,
  PGDATA,
  restrictedContainer,
  buildRestrictedPod,
  SOCKETS,
} from './postgres-image.ts';
import { buildServedTls } from './tls/served.ts';
import { hasFixedUser, buildDataUser } from './data-user.ts';
import { buildDataAnnotation, resolveVolumeName } from './volume-name.ts';
import type { WorkloadSpec } from '../../objects/workload-spec.ts';

/**
 * Returns the StatefulSet of a managed database. It keeps the volume claim of `live`, which can't be changed later, and
 * its user, to whom the data in the volume belongs.
 */
export function buildDatabaseSet(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { live, replicas = 1 }: { live?: KubeObject | undefined; replicas?: number },
): KubeObject {
  const { metadata } = deployment;
  const name = names.database(metadata.name);
  const volume = resolveVolumeName(deployment, live);
  const own = {
    ...settings,
    fixedIds: live === undefined ? settings.fixedIds : hasFixedUser(live),
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: buildAppliedMetadata(deployment, 'database', name),
    spec: {
      serviceName: name,
      replicas,
      // A broken pod of an older template must not block the repaired one.
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: buildPodSelector(metadata.name, 'database') },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      template: {
        metadata: {
          labels: buildManagedLabels(metadata.name, 'database'),
          annotations: { [DEPLOYMENT]: metadata.name },
        },
        spec: buildPodSpec(deployment, own, volume),
      },
      volumeClaimTemplates: getClaims(live) ?? [claim(deployment, own, volume)],
    },
  };
}

function getClaims(live: KubeObject | undefined): object[] | undefined {
  const templates = (live?.spec as WorkloadSpec | undefined)?.volumeClaimTemplates;
  return templates?.map(({ metadata, spec: { accessModes, storageClassName, resources } }) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata,
    spec: { accessModes, ...(storageClassName !== undefined && { storageClassName }), resources },
  }));
}

function claim(deployment: DeploymentResource, settings: OperatorSettings, volume: string): object {
  const { labels, annotations } = buildChildMetadata(deployment, 'database', '');
  const storageClass = deployment.spec.database?.storageClass ?? settings.storageClass;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: volume,
      labels,
      annotations: {
        ...annotations,
        ...buildDataAnnotation(deployment, volume),
        ...buildDataUser(settings),
      },
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      resources: {
        requests: { storage: `${resolveDatabaseSize(deployment, settings).storageGi}Gi` },
      },
    },
  };
}

function buildPodSpec(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  volume: string,
): object {
  const size = resolveDatabaseSize(deployment, settings);
  return {
    ...buildRestrictedPod(deployment, settings),
    terminationGracePeriodSeconds: 120,
    containers: [
      buildContainer(deployment, settings, volume),
      buildGuardContainer(deployment, settings, volume),
    ],
    volumes: [
      { name: 'tmp', emptyDir: {} },
      { name: 'run', emptyDir: {} },
      buildServedTls(deployment).volume,
      buildArchiveMount(deployment).volume,
      {
        name: 'shm',
        emptyDir: {
          medium: 'Memory',
          sizeLimit: formatMebibytes(Math.max(64, Math.floor(size.memoryMb / 4))),
        },
      },
    ],
  };
}

/** Data that comes back after a restore which failed gets its own image: another major version would not start. */
function chooseImage({ status }: DeploymentResource, { databaseImage }: OperatorSettings): string {
  const replacement = status?.replacement;
  return replacement?.step === 'Returning' ? (replacement.image ?? databaseImage) : databaseImage;
}

/** Returns the image with which a live database runs. */
export const getDatabaseImage = (live: KubeObject | undefined): string | undefined =>
  (live?.spec as WorkloadSpec | undefined)?.template.spec.containers.find(
    ({ name }) => name === 'postgres',
  )?.image;

function buildContainer(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  volume: string,
): object {
  const size = resolveDatabaseSize(deployment, settings);
  const [first, admin] = [names.databaseSecret, names.databaseAdmin].map((nameOf) =>
    nameOf(deployment.metadata.name, getDataOwner(deployment)),
  );
  // A later volume is made with the password of its time.
  const secret =
    deployment.status?.replacement?.former === undefined
      ? first
      : (deployment.status.databaseSecret ?? first);
  return {
    name: 'postgres',
    image: chooseImage(deployment, settings),
    imagePullPolicy: settings.imagePullPolicy,
    args: buildDatabaseArguments(size, buildServedTls(deployment).settings),
    env: [
      { name: 'POSTGRES_USER', value: OWNER },
      // Only an empty volume reads it. It is gone once the password has been changed.
      {
        name: 'POSTGRES_PASSWORD',
        valueFrom: { secretKeyRef: { name: secret, key: 'password', optional: true } },
      },
      // It gives the image's superuser a role of its own, without a password. Only an empty volume reads it.
      {
        name: 'POSTGRES_ADMIN_PASSWORD',
        valueFrom: { secretKeyRef: { name: admin, key: 'password', optional: true } },
      },
      { name: 'POSTGRES_DB', value: OWNER },
      { name: 'PGDATA', value: PGDATA },
      {
        name: 'POSTGRES_INITDB_ARGS',
        value: '--data-checksums --auth-host=scram-sha-256 --locale=C.UTF-8',
      },
    ],
    ports: [{ name: 'postgres', containerPort: DATABASE_PORT, protocol: 'TCP' }],
    resources: {
      requests: { cpu: formatCores(size.cpu), memory: formatMebibytes(size.memoryMb) },
      limits: { cpu: formatCores(size.cpuLimit), memory: formatMebibytes(size.memoryLimitMb) },
    },
    securityContext: restrictedContainer,
    // The deployment reports its last lines if it does not start, because nobody reads the log of a database.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...probes,
    // A SIGTERM alone waits for every client to leave. SIGINT rolls back and stops, and a SIGTERM after it changes
    // nothing.
    lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', 'kill -INT 1'] } } },
    volumeMounts: [
      { name: volume, mountPath: DATA },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'run', mountPath: SOCKETS },
      { name: 'shm', mountPath: '/dev/shm' },
      buildServedTls(deployment).mount,
      buildArchiveMount(deployment).mount,
    ],
  };
}

// A TLS handshake would be the most expensive part of each probe.
const ask = `PGSSLMODE=disable pg_isready -q -h 127.0.0.1 -p ${DATABASE_PORT} -U "$POSTGRES_USER"`;
const isAlive = `${ask}; [ $? -le 1 ]`;
const buildExecProbe = (command: string): object => ({
  exec: { command: ['/bin/sh', '-c', command] },
});

/**
 * No probe needs a password. pg_isready exits with 1 for "up but refusing", which a database says while it replays its
 * log after a crash: it is started and alive, but not ready. So no replay is cut short, however long it takes. The
 * first answer may take an hour, for an empty or slow volume (as CloudNativePG's startDelay).
 */
const probes = {
  startupProbe: {
    ...buildExecProbe(isAlive),
    periodSeconds: 1,
    timeoutSeconds: 5,
    failureThreshold: 3600,
  },
  readinessProbe: {
    ...buildExecProbe(ask),
    periodSeconds: 5,
    timeoutSeconds: 5,
    failureThreshold: 3,
  },
  livenessProbe: {
    ...buildExecProbe(isAlive),
    periodSeconds: 10,
    timeoutSeconds: 5,
    failureThreshold: 6,
  },
};
