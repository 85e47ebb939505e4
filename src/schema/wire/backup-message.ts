import { BACKUP_NAME } from '../platform/backup/backup-spec.ts';

/*
 * Messages between the operator and the Job of a backup, and the files below a target that say what is there.
 */

/** A place for backups that speaks S3. */
export type S3Target = {
  endpoint: string;
  bucket: string;
  region: string;
  /** Folders before all others, without slashes at its ends. Empty: none. */
  prefix: string;
  /** True if the bucket stands in the path of addresses, and not in their host. */
  pathStyle: boolean;
  /** Certificates of authorities that the store's certificate is checked by, in PEM. */
  ca?: string;
};

/** A volume claim in the namespace of each deployment. */
export type ClaimTarget = { claim: string; prefix: string };

export type BackupTarget = S3Target | ClaimTarget;

/** Tells a volume claim from a store that speaks S3. */
export const isClaimTarget = (target: BackupTarget): target is ClaimTarget => 'claim' in target;

/** Which backups are kept beside the newest: so many, or those of so many days. */
export type BackupKeep = { count: number } | { days: number };

/** Whose data a folder below a target is. */
export type BackupOwner = { tenant: string; id: string; uid: string };

export type BackupOrder = {
  name: string;
  target: BackupTarget;
  owner: BackupOwner;
  keep: BackupKeep;
  /** The Deployment and the template of its revision, as they were. They name Secrets and hold no secret value. */
  holds: object;
  /** Where the files of the database are, if a copy of them is made. Unset: a dump. */
  files?: DatabaseFiles;
};

/**
 * The server beside a database that gives its files to pods with a certificate of the same authority and this name. The
 * database's side has no `host`.
 */
export type ArchiveDoor = {
  host?: string;
  port: number;
  /** The files of the certificate, its key and its authority, and the name in the certificate of those that come. */
  tls: { certificate: string; key: string; authority: string; name: string };
};

/** The files of a database: the door to them, and the folders of its data and its socket. */
export type DatabaseFiles = { door: ArchiveDoor; data: string; socket: string };

/** The facts of a backup in the catalogue. They are written last, so that a backup without them does not count. */
type EntryFacts = {
  name: string;
  owner: BackupOwner;
  /** The moment that the data is of, and the end of the backup. With a copy, each later moment can be restored, too. */
  from: string;
  until: string;
  bytes: number;
  /** The version of Postgres, the newest migration of the schema, and its major version. */
  postgres: string;
  migration: number;
  schema: number;
  /** The rows of each table, and a checksum of their keys, as text. */
  counts: Record<string, string>;
  /** Ids of the keys that have encrypted values in it (src/schema/agent/aes-key-id.ts), never a key. */
  keys: string[];
  holds: object;
};

export type DumpEntry = EntryFacts & { method: 'dump'; sha256: string };
/** The entry of a copy of the files, with its name beside the log. */
export type CopyEntry = EntryFacts & { method: 'continuous'; copy: string };
export type CatalogueEntry = DumpEntry | CopyEntry;

export type BackupDone = Pick<CatalogueEntry, 'from' | 'until' | 'bytes' | 'migration' | 'keys'> & {
  /** A sentence on backups that could not be removed. */
  trouble?: string;
};

export const BACKUP_FAILURES = [
  'TargetMissing',
  'TargetUnreachable',
  'TargetRefused',
  'NoRoom',
  'TargetNotEmpty',
  'DumpFailed',
  'CopyFailed',
] as const;
export type BackupFailureReason = (typeof BACKUP_FAILURES)[number];
export type BackupFailure = { reason: BackupFailureReason; message: string };

/** Returns the name of a backup that begins now. Names sort by time. */
export const backupName = (now: Date): string =>
  now
    .toISOString()
    .replace(/\.\d+Z$/, 'z')
    .replace(/[-:]/g, '')
    .toLowerCase();

/** Returns the moment that a name stands for, in milliseconds since the epoch. NaN for other names. */
export function parseBackupTime(name: string): number {
  const [, year, month, day, hour, minute, second] = BACKUP_NAME.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}
