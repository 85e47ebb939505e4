import type { NamedTarget } from '../../config/platform/backups.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { toLabelValue, names } from '../../schema/names.ts';
import type { DeploymentResource } from '../../schema/platform/resources/custom-resources.ts';
import { SECRETS_OF } from '../../schema/platform/objects/labels.ts';
import { isClaimTarget, type S3Target } from '../../schema/wire/backup-message.ts';
import {
  ARCHIVE_PORT,
  buildArchiveFiles,
  buildArchivePath,
  buildRefillFiles,
  type ArchivePlace,
  type Refill,
} from '../../schema/wire/pgbackrest.ts';
import { PGDATA, SOCKETS } from '../database/own/postgres-image.ts';
import { buildServedTls } from '../database/own/tls/served.ts';
import { buildOwnedMetadata } from '../objects/metadata.ts';

type LogTarget = S3Target & { secretName: string };

type LogPlace = { target: LogTarget; owner: { tenant: string; id: string } };

/** The use of the files: the log is taken, or the volume filled. */
export type ArchiveUse = {
  log?: LogPlace & {
    /** False while there is no copy, and none is being made: then the log is let go. */
    isTaken: boolean;
  };
  fill?: LogPlace & { refill: Refill };
};

/** Returns a target as one that takes logs. Undefined if it is none. */
export const toLogTarget = (target: NamedTarget | undefined): LogTarget | undefined =>
  target === undefined || isClaimTarget(target) ? undefined : target;

/** Returns the Secret with the files of pgBackRest for the pod of a database. */
export function buildArchiveSecret(
  deployment: DeploymentResource,
  { log, fill }: ArchiveUse,
  keysOf: (secretName: string) => ArchivePlace['keys'],
): KubeObject & { data: Record<string, string> } {
  const buildPlace = ({ target, owner }: LogPlace): ArchivePlace => ({
    target,
    keys: keysOf(target.secretName),
    folder: buildArchivePath(target, owner),
    data: PGDATA,
    socket: SOCKETS,
  });
  const files = {
    ...(log &&
      buildPushFiles(
        { ...buildPlace(log), door: { port: ARCHIVE_PORT, tls: buildServedTls(deployment).files } },
        log.isTaken,
      )),
    ...(fill && buildRefillFiles(buildPlace(fill), fill.refill)),
  };
  const metadata = buildOwnedMetadata(
    deployment,
    'backup',
    names.archive(deployment.metadata.name),
  );
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [SECRETS_OF]: toLabelValue(deployment.metadata.name) },
    },
    type: 'Opaque',
    data: Object.fromEntries(
      Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
    ),
  };
}

function buildPushFiles(place: ArchivePlace, isTaken: boolean): Record<string, string> {
  const { push = '', ...others } = buildArchiveFiles(place);
  return { ...others, ...(isTaken && { push }) };
}
