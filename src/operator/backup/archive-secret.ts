import type { NamedTarget } from '../../config/backups.ts';
import type { KubeObject } from '../../kube/kube.ts';
import { labelValue, names } from '../../schema/names.ts';
import type { DeploymentResource } from '../../schema/platform/custom-resources.ts';
import { SECRETS_OF } from '../../schema/platform/labels.ts';
import { isClaimTarget, type BackupOwner, type S3Target } from '../../schema/wire/backup-message.ts';
import { ARCHIVE_PORT, archiveFiles, archiveFolder, refillFiles, type ArchivePlace, type Refill } from '../../schema/wire/pgbackrest.ts';
import { PGDATA, SOCKETS } from '../database/own/postgres-image.ts';
import { servedTls } from '../database/own/tls/served.ts';
import { ownedMetadata } from '../objects/metadata.ts';

/** A target that takes logs, with its Secret. */
type LogTarget = S3Target & { secretName: string };

/** Whose log lies where. */
type LogPlace = { target: LogTarget; owner: Pick<BackupOwner, 'tenant' | 'id'> };

/** The use of the files: the log is taken, or the volume filled. */
export type ArchiveUse = {
  log?: LogPlace & {
    /** False while there is no copy, and none is being made: then the log is let go. */
    isTaken: boolean;
  };
  fill?: LogPlace & { refill: Refill };
};

/** Returns a target as one that takes logs. Undefined if it is none. */
export const asLogTarget = (target: NamedTarget | undefined): LogTarget | undefined =>
  target === undefined || isClaimTarget(target) ? undefined : target;

type Keys = (secretName: string) => ArchivePlace['keys'];

/** Returns the Secret with the files of pgBackRest for the pod of a database. */
export function archiveSecret(
  deployment: DeploymentResource,
  { log, fill }: ArchiveUse,
  keysOf: Keys,
): KubeObject & { data: Record<string, string> } {
  const place = ({ target, owner }: LogPlace): ArchivePlace => ({
    target,
    keys: keysOf(target.secretName),
    folder: archiveFolder(target, owner),
    data: PGDATA,
    socket: SOCKETS,
  });
  const files = {
    ...(log && taking({ ...place(log), door: { port: ARCHIVE_PORT, tls: servedTls(deployment).files } }, log.isTaken)),
    ...(fill && refillFiles(place(fill), fill.refill)),
  };
  const metadata = ownedMetadata(deployment, 'backup', names.archive(deployment.metadata.name));
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, labels: { ...metadata.labels, [SECRETS_OF]: labelValue(deployment.metadata.name) } },
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(files).map(([name, text]) => [name, Buffer.from(text).toString('base64')])),
  };
}

function taking(place: ArchivePlace, isTaken: boolean): Record<string, string> {
  const { push = '', ...others } = archiveFiles(place);
  return { ...others, ...(isTaken && { push }) };
}
