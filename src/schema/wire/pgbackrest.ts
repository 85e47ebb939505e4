import type { BackupKeep, S3Target } from './backup-message.ts';

/*
 * All that is known of pgBackRest: its configuration, its commands, and the answer of its `info`. It keeps copies of a
 * database's files (base backups) and its log below one folder of a store that speaks S3, so that the database can be
 * restored as it was at any second since the oldest copy.
 */

/** The folder with its files in each container that runs it. */
const FOLDER = '/etc/gx-archive';
const CONFIGURATION = `${FOLDER}/pgbackrest.conf`;
/** Its name for the database. A folder has one. */
const STANZA = 'db';
/** Seconds for one segment of the log. A database that stops waits for the segment that is under way. */
const PUSH_SECONDS = 30;

/** Where the copies and the log of a database lie, and where the database is. */
export type ArchivePlace = {
  target: S3Target;
  keys: { accessKeyId: string; secretAccessKey: string };
  /** The folder in the bucket, without slashes at its ends. */
  folder: string;
  /** The folders of the database's files and of its socket. */
  data: string;
  socket: string;
  /** The door to the database's files, for its own side or for another pod. */
  door?: ArchiveDoor;
};

/**
 * The server of pgBackRest beside a database, which gives its files to pods with a certificate of the same authority
 * and this name. The database's side has no `host`.
 */
export type ArchiveDoor = {
  host?: string;
  port: number;
  /** The files of the certificate, its key and its authority, and the name in the certificate of those that come. */
  tls: { certificate: string; key: string; authority: string; name: string };
};

/** Returns why a target can't take the log. Undefined if it can. */
export const archiveTargetFault = ({ endpoint }: Pick<S3Target, 'endpoint'>): string | undefined =>
  new URL(endpoint).protocol === 'https:' ? undefined : `pgBackRest speaks to a store by TLS alone, and ${endpoint} has none.`;

/** Returns the files of the folder, by their names. `push` takes one segment of the log. */
export function archiveFiles(place: ArchivePlace): Record<string, string> {
  const { ca } = place.target;
  return {
    'pgbackrest.conf': configuration(place),
    push: `exec timeout ${PUSH_SECONDS} ${[...PROGRAM, 'archive-push'].join(' ')} "$1"\n`,
    ...(ca !== undefined && { 'ca.crt': ca }),
  };
}

const PROGRAM = ['pgbackrest', `--config=${CONFIGURATION}`, `--stanza=${STANZA}`];

function configuration({ target, keys, folder, data, socket, door }: ArchivePlace): string {
  const { hostname, port } = new URL(target.endpoint);
  const common = {
    'repo1-type': 's3',
    'repo1-path': `/${folder}`,
    'repo1-s3-endpoint': hostname,
    'repo1-storage-port': port === '' ? '443' : port,
    'repo1-s3-bucket': target.bucket,
    'repo1-s3-region': target.region,
    'repo1-s3-uri-style': target.pathStyle ? 'path' : 'host',
    'repo1-s3-key': keys.accessKeyId,
    'repo1-s3-key-secret': keys.secretAccessKey,
    ...(target.ca !== undefined && { 'repo1-storage-ca-file': `${FOLDER}/ca.crt` }),
    // Small files go together into objects, and a later copy holds the changed parts of large ones alone.
    'repo1-bundle': 'y',
    'repo1-block': 'y',
    'compress-type': 'zst',
    // A copy begins at once, and not with the next checkpoint.
    'start-fast': 'y',
    'lock-path': '/tmp/pgbackrest',
    'spool-path': '/tmp/pgbackrest',
    'log-level-file': 'off',
    'log-level-console': 'off',
    'log-level-stderr': 'warn',
    // It tries a store that is away for six times as long.
    'io-timeout': '20',
    'db-timeout': '120',
    'protocol-timeout': '150',
    ...(door && own(door)),
  };
  const database = { ...(door && other(door)), 'pg1-path': data, 'pg1-socket-path': socket, 'pg1-user': 'postgres' };
  return `[global]\n${settings(common)}[${STANZA}]\n${settings(database)}`;
}

/** The settings of a door on the database's side. */
const own = ({ host, port, tls }: ArchiveDoor): Record<string, string> =>
  host !== undefined
    ? {}
    : {
        'tls-server-address': '*',
        'tls-server-port': String(port),
        'tls-server-cert-file': tls.certificate,
        'tls-server-key-file': tls.key,
        'tls-server-ca-file': tls.authority,
        'tls-server-auth': `${tls.name}=${STANZA}`,
      };

/** The settings of a door on the other side. */
const other = ({ host, port, tls }: ArchiveDoor): Record<string, string> =>
  host === undefined
    ? {}
    : {
        'pg1-host': host,
        'pg1-host-type': 'tls',
        'pg1-host-port': String(port),
        'pg1-host-cert-file': tls.certificate,
        'pg1-host-key-file': tls.key,
        'pg1-host-ca-file': tls.authority,
        'pg1-host-config': CONFIGURATION,
      };

/** A value ends with its line. */
const settings = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value.replaceAll(/[\r\n]/g, '')}\n`)
    .join('');

/** Serves the database's files, until it is stopped. */
export const SERVE_ARCHIVE = ['pgbackrest', `--config=${CONFIGURATION}`, 'server'];

/** Makes the folder at the store ready, as often as one likes. */
export const PREPARE_ARCHIVE = [...PROGRAM, 'stanza-create'];

/**
 * Lets the folder take the log of another database than before, as of one into which a dump was restored. The earlier
 * copies stay.
 */
export const RENEW_ARCHIVE = [...PROGRAM, 'stanza-upgrade'];

/**
 * Makes a copy of the database's files, and removes those that are not to be kept any more, with their log. It succeeds
 * only if all of the log that the copy needs is at the store.
 */
export const copyCommand = (type: 'full' | 'diff', keep: BackupKeep): string[] => [
  ...PROGRAM,
  `--type=${type}`,
  ...('count' in keep
    ? ['--repo1-retention-full-type=count', `--repo1-retention-full=${Math.max(1, keep.count)}`]
    : ['--repo1-retention-full-type=time', `--repo1-retention-full=${keep.days}`]),
  'backup',
];

/**
 * Fills an empty folder with the files of a copy. Started on it, Postgres applies the log up to the moment, or all. It
 * does not start if no transaction of the log is later than the moment.
 */
export const refillCommand = (at?: Date): string[] => [
  ...PROGRAM,
  ...(at === undefined
    ? []
    : ['--type=time', `--target=${at.toISOString().replace('T', ' ').replace('Z', '+00')}`, '--target-action=promote']),
  'restore',
];

/** Asks what is at the store. */
export const ASK_ARCHIVE = [...PROGRAM, 'info', '--output=json'];

/** One copy of a database's files. Every moment since `from` can be restored with it: the second after its last one. */
export type BaseCopy = { label: string; type: string; from: string; bytes: number };
/** The copies, oldest first, or why nothing is known of them. */
export type ArchiveFound = { copies: BaseCopy[] } | { trouble: string };

/** The status of a folder in which there is nothing yet. */
const NOTHING = new Set([1, 2, 3]);

type Info = {
  status: { code: number; message: string };
  repo?: { status: { code: number; message: string } }[];
  backup: {
    label: string;
    type: string;
    error?: boolean | null;
    timestamp: { stop: number };
    info: { repository: { delta?: number | null } };
  }[];
};

/** Reads the answer of `ASK_ARCHIVE`. A copy in which pages were damaged does not count. */
export function archiveIn(answer: string): ArchiveFound {
  const [stanza] = JSON.parse(answer) as Info[];
  if (stanza === undefined) return { copies: [] };
  const { status, repo, backup } = stanza;
  const troubled = repo?.find((one) => one.status.code !== 0)?.status ?? status;
  if (troubled.code !== 0 && !NOTHING.has(troubled.code)) return { trouble: troubled.message };
  const copies = backup.filter(({ error }) => error !== true);
  return {
    copies: copies.map(({ label, type, timestamp, info }) => ({
      label,
      type,
      from: new Date((timestamp.stop + 1) * 1000).toISOString(),
      bytes: info.repository.delta ?? 0,
    })),
  };
}
