import type { OperatorSettings } from '../../../config/platform/operator.ts';
import type { DeploymentResource } from '../../../schema/platform/resources/custom-resources.ts';
import { buildArchiveMount } from './archive-mount.ts';
import { DATA, PGDATA, restrictedContainer, SOCKETS } from './postgres-image.ts';
import { buildServedTls } from './tls/served.ts';

export const GUARD = 'guard';

/**
 * The container beside Postgres. It has Postgres reload a renewed certificate, makes the database read-only before its
 * volume is full, gives its files to copies, and reports how full it is by its termination message, for which a pod
 * needs no rights and no requests (dev/images/postgres/gx-postgres-guard; read in fullness.ts).
 */
export const buildGuardContainer = (
  deployment: DeploymentResource,
  settings: OperatorSettings,
  volume: string,
): object => ({
  name: GUARD,
  image: settings.databaseImage,
  imagePullPolicy: settings.imagePullPolicy,
  command: ['gx-postgres-guard'],
  env: [
    { name: 'PGDATA', value: PGDATA },
    { name: 'CERTIFICATE', value: buildServedTls(deployment).settings.ssl_cert_file },
  ],
  // The guard is a shell that sleeps. On a full volume it runs psql, which takes some ten megabytes. While copies are
  // asked for it runs pgBackRest, too, and while one is made it sends the database's files.
  resources: { requests: { cpu: '5m', memory: '16Mi' }, limits: { cpu: '500m', memory: '192Mi' } },
  securityContext: restrictedContainer,
  volumeMounts: [
    { name: volume, mountPath: DATA },
    { name: 'tmp', mountPath: '/tmp' },
    { name: 'run', mountPath: SOCKETS },
    buildServedTls(deployment).mount,
    buildArchiveMount(deployment).mount,
  ],
});
