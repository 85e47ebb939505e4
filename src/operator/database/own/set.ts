import type { OperatorSettings } from '../../../config/operator.ts';
import type { KubeObject } from '../../../kube/kube.ts';
import type { DeploymentResource } from '../../../schema/platform/custom-resources.ts';
import { DEPLOYMENT, ownLabels, selectorOf } from '../../../schema/platform/labels.ts';
import { names } from '../../../schema/names.ts';
import { cores, mebibytes } from '../../kernel/quantity.ts';
import { OWNER } from '../../../schema/wire/database-session.ts';
import { DATABASE_PORT, databaseSize } from './size.ts';
import { archiveMount } from './archive-mount.ts';
import { guard } from './guard.ts';
import { databaseArguments } from './settings.ts';
import { childMetadata, dataOwner, appliedMetadata } from '../../objects/metadata.ts';
import { DATA, PGDATA, restrictedContainer, restrictedPod, SOCKETS } from './postgres-image.ts';
import { servedTls } from './tls/served.ts';
import { namesIds, usersOf } from './data-user.ts';
import { dataOf, volumeName } from './volume-name.ts';

/**
 * Returns the StatefulSet of a managed database. It keeps the volume claim of `live`, which can't be changed later, and
 * its user, to whom the data in the volume belongs.
 */
export function databaseSet(
  deployment: DeploymentResource,
  settings: OperatorSettings,
  { live, replicas = 1 }: { live?: KubeObject | undefined; replicas?: number },
): KubeObject {
  const { metadata } = deployment;
  const name = names.database(metadata.name);
  const volume = volumeName(deployment, live);
  const own = { ...settings, fixedIds: live === undefined ? settings.fixedIds : namesIds(live) };
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: appliedMetadata(deployment, 'database', name),
    spec: {
      serviceName: name,
      replicas,
      // A broken pod of an older template must not block the repaired one.
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: selectorOf(metadata.name, 'database') },
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      template: {
        metadata: { labels: ownLabels(metadata.name, 'database'), annotations: { [DEPLOYMENT]: metadata.name } },
        spec: podSpec(deployment, own, volume),
      },
      volumeClaimTemplates: claimsOf(live) ?? [claim(deployment, own, volume)],
    },
  };
}

type StatefulSetSpec = { volumeClaimTemplates?: { apiVersion?: string; kind?: string; metadata: object; spec: Record<string, unknown> }[] };

function claimsOf(live: KubeObject | undefined): object[] | undefined {
  const templates = (live?.spec as StatefulSetSpec | undefined)?.volumeClaimTemplates;
  return templates?.map(({ metadata, spec: { accessModes, storageClassName, resources } }) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata,
    spec: { accessModes, ...(storageClassName !== undefined && { storageClassName }), resources },
  }));
}

function claim(deployment: DeploymentResource, settings: OperatorSettings, volume: string): object {
  const { labels, annotations } = childMetadata(deployment, 'database', '');
  const storageClass = deployment.spec.database?.storageClass ?? settings.storageClass;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: volume, labels, annotations: { ...annotations, ...dataOf(deployment, volume), ...usersOf(settings) } },
    spec: {
      accessModes: ['ReadWriteOnce'],
      ...(storageClass !== undefined && { storageClassName: storageClass }),
      resources: { requests: { storage: `${databaseSize(deployment, settings).storageGi}Gi` } },
    },
  };
}

function podSpec(deployment: DeploymentResource, settings: OperatorSettings, volume: string): object {
  const size = databaseSize(deployment, settings);
  return {
    ...restrictedPod(deployment, settings),
    terminationGracePeriodSeconds: 120,
    containers: [container(deployment, settings, volume), guard(deployment, settings, volume)],
    volumes: [
      { name: 'tmp', emptyDir: {} },
      { name: 'run', emptyDir: {} },
      servedTls(deployment).volume,
      archiveMount(deployment).volume,
      { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: mebibytes(Math.max(64, Math.floor(size.memoryMb / 4))) } },
    ],
  };
}

/** Data that comes back after a restore which failed gets its own image: another major version would not start. */
function imageFor({ status }: DeploymentResource, { databaseImage }: OperatorSettings): string {
  const replacement = status?.replacement;
  return replacement?.step === 'Returning' ? (replacement.image ?? databaseImage) : databaseImage;
}

type Containers = { template: { spec: { containers: { name: string; image: string }[] } } };

/** Returns the image with which a live database runs. */
export const imageOfSet = (live: KubeObject | undefined): string | undefined =>
  (live?.spec as Containers | undefined)?.template.spec.containers.find(({ name }) => name === 'postgres')?.image;

function container(deployment: DeploymentResource, settings: OperatorSettings, volume: string): object {
  const size = databaseSize(deployment, settings);
  const [first, admin] = [names.databaseSecret, names.databaseAdmin].map((nameOf) =>
    nameOf(deployment.metadata.name, dataOwner(deployment)),
  );
  // A later volume is made with the password of its time.
  const secret = deployment.status?.replacement?.former === undefined ? first : (deployment.status.databaseSecret ?? first);
  return {
    name: 'postgres',
    image: imageFor(deployment, settings),
    imagePullPolicy: settings.imagePullPolicy,
    args: databaseArguments(size, servedTls(deployment).settings),
    env: [
      { name: 'POSTGRES_USER', value: OWNER },
      // Only an empty volume reads it. It is gone once the password has been changed.
      { name: 'POSTGRES_PASSWORD', valueFrom: { secretKeyRef: { name: secret, key: 'password', optional: true } } },
      // It gives the image's superuser a role of its own, without a password. Only an empty volume reads it.
      { name: 'POSTGRES_ADMIN_PASSWORD', valueFrom: { secretKeyRef: { name: admin, key: 'password', optional: true } } },
      { name: 'POSTGRES_DB', value: OWNER },
      { name: 'PGDATA', value: PGDATA },
      { name: 'POSTGRES_INITDB_ARGS', value: '--data-checksums --auth-host=scram-sha-256 --locale=C.UTF-8' },
    ],
    ports: [{ name: 'postgres', containerPort: DATABASE_PORT, protocol: 'TCP' }],
    resources: {
      requests: { cpu: cores(size.cpu), memory: mebibytes(size.memoryMb) },
      limits: { cpu: cores(size.cpuLimit), memory: mebibytes(size.memoryLimitMb) },
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
      servedTls(deployment).mount,
      archiveMount(deployment).mount,
    ],
  };
}

// A TLS handshake would be the most expensive part of each probe.
const ask = `PGSSLMODE=disable pg_isready -q -h 127.0.0.1 -p ${DATABASE_PORT} -U "$POSTGRES_USER"`;
const isAlive = `${ask}; [ $? -le 1 ]`;
const shell = (command: string): object => ({ exec: { command: ['/bin/sh', '-c', command] } });

/**
 * No probe needs a password. pg_isready exits with 1 for "up but refusing", which a database says while it replays its
 * log after a crash: it is started and alive, but not ready. So no replay is cut short, however long it takes. The
 * first answer may take an hour, for an empty or slow volume (as CloudNativePG's startDelay).
 */
const probes = {
  startupProbe: { ...shell(isAlive), periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 3600 },
  readinessProbe: { ...shell(ask), periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 3 },
  livenessProbe: { ...shell(isAlive), periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
};
