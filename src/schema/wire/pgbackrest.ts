import type { ArchiveDoor, BackupKeep, ClaimTarget, S3Target } from './backup-message.ts';

/*
 * All that is known of pgBackRest: its configuration, its commands, and the answer of its `info`. It keeps copies of a
 * database's files (base backups) and its log below one folder of a store that speaks S3, so that the database can be
 * restored as it was at any second since the oldest copy.
 */

/** The folder with its files in the pod of a database. A Secret brings them, which may be missing. */
export const ARCHIVE_FOLDER = '/etc/gx-archive';
/** Its name for the database. A folder has one. */
const STANZA = 'db';
/** The port of its server in the pod of a database. */
export const ARCHIVE_PORT = 8432;

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
  /** The folder in which the configuration lies, and one for its locks. */
  at?: string;
  locks?: string;
};

/** Returns the folder with the copies and the log of a deployment's database, without slashes at its ends. */
export const buildArchivePath = (
  { prefix }: { prefix: string },
  { tenant, id }: { tenant: string; id: string },
): string => [prefix, tenant, id, 'archive'].filter((part) => part !== '').join('/');

/** Returns why a target can't take the log. Undefined if it can. */
export function checkArchiveTarget(target: { endpoint: string } | ClaimTarget): string | undefined {
  if ('claim' in target) return 'A volume claim takes no log.';
  const { endpoint } = target;
  return new URL(endpoint).protocol === 'https:'
    ? undefined
    : `pgBackRest needs a store with TLS, and ${endpoint} has none.`;
}

/**
 * Returns the files of the folder of a database whose log is taken, by their names. `push` takes one segment within so
 * many seconds.
 */
export const buildArchiveFiles = (place: ArchivePlace): Record<string, string> => ({
  'pgbackrest.conf': formatConfiguration(place),
  push: `exec timeout "$2" ${[...buildBaseCommand(getConfigPath(place.at)), 'archive-push'].join(' ')} "$1"\n`,
  ...buildAuthorityFile(place, 'ca.crt'),
});

/**
 * The files of a process elsewhere, which reaches the database by its door or only reads at the store. They lack the
 * credential.
 */
export const buildRemoteFiles = (place: Omit<ArchivePlace, 'keys'>): Record<string, string> => ({
  'pgbackrest.conf': formatConfiguration(place),
  ...buildAuthorityFile(place, 'ca.crt'),
});

/** Prints the section with the credential, whose files `CREDENTIAL` names the folder of. Sections go together. */
export const CREDENTIAL_SECTION = `printf '[global]\\nrepo1-s3-key=%s\\nrepo1-s3-key-secret=%s\\n' \\
  "$(head -n 1 "$CREDENTIAL/accessKeyId")" "$(head -n 1 "$CREDENTIAL/secretAccessKey")"`;

/** A copy to restore: to a moment, to the end of the log, or as it was at its own end. */
export type Refill = { copy: string; to: 'end of copy' | 'end of log' | { at: string } };

/** Returns the files by which a database that is started on an empty volume fills it first. */
export const buildRefillFiles = (place: ArchivePlace, refill: Refill): Record<string, string> => ({
  'refill.conf': formatConfiguration(place, 'refill-ca.crt'),
  refill: `exec ${buildArchiveCommands(`${ARCHIVE_FOLDER}/refill.conf`).refill(refill).map(quoteWord).join(' ')}\n`,
  ...buildAuthorityFile(place, 'refill-ca.crt'),
});

const buildAuthorityFile = (
  { target: { ca } }: { target: S3Target },
  name: string,
): Record<string, string> => (ca === undefined ? {} : { [name]: ca });

const quoteWord = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** Returns a command as a shell reads it. */
export const formatShellCommand = (command: readonly string[]): string =>
  command.map(quoteWord).join(' ');

const getConfigPath = (folder = ARCHIVE_FOLDER): string => `${folder}/pgbackrest.conf`;
const buildBaseCommand = (file: string): string[] => [
  'pgbackrest',
  `--config=${file}`,
  `--stanza=${STANZA}`,
];

function formatConfiguration(
  {
    target,
    keys,
    folder,
    data,
    socket,
    door,
    ...own
  }: Omit<ArchivePlace, 'keys'> & Partial<Pick<ArchivePlace, 'keys'>>,
  authority = 'ca.crt',
): string {
  const { hostname, port } = new URL(target.endpoint);
  const { at = ARCHIVE_FOLDER, locks = '/tmp/pgbackrest' } = own;
  const common = {
    'repo1-type': 's3',
    'repo1-path': `/${folder}`,
    'repo1-s3-endpoint': hostname,
    'repo1-storage-port': port === '' ? '443' : port,
    'repo1-s3-bucket': target.bucket,
    'repo1-s3-region': target.region,
    'repo1-s3-uri-style': target.pathStyle ? 'path' : 'host',
    ...(keys && { 'repo1-s3-key': keys.accessKeyId, 'repo1-s3-key-secret': keys.secretAccessKey }),
    ...(target.ca !== undefined && { 'repo1-storage-ca-file': `${at}/${authority}` }),
    // Small files go together into objects, and a later copy holds the changed parts of large ones alone.
    'repo1-bundle': 'y',
    'repo1-block': 'y',
    'compress-type': 'zst',
    // A copy begins at once, and not with the next checkpoint.
    'start-fast': 'y',
    'lock-path': locks,
    'spool-path': locks,
    'log-level-file': 'off',
    'log-level-console': 'off',
    'log-level-stderr': 'warn',
    // It tries a store that is away for six times as long.
    'io-timeout': '20',
    'db-timeout': '120',
    'protocol-timeout': '150',
    ...(door && buildDatabaseSettings(door)),
  };
  const database = {
    ...(door && buildRemoteSettings(door)),
    'pg1-path': data,
    'pg1-socket-path': socket,
    'pg1-user': 'postgres',
  };
  return `[global]\n${formatSettings(common)}[${STANZA}]\n${formatSettings(database)}`;
}

/** The settings of a door on the database's side. */
const buildDatabaseSettings = ({ host, port, tls }: ArchiveDoor): Record<string, string> =>
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
const buildRemoteSettings = ({ host, port, tls }: ArchiveDoor): Record<string, string> =>
  host === undefined
    ? {}
    : {
        'pg1-host': host,
        'pg1-host-type': 'tls',
        'pg1-host-port': String(port),
        'pg1-host-cert-file': tls.certificate,
        'pg1-host-key-file': tls.key,
        'pg1-host-ca-file': tls.authority,
        'pg1-host-config': getConfigPath(),
      };

/** A value ends with its line. */
const formatSettings = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value.replaceAll(/[\r\n]/g, '')}\n`)
    .join('');

/** Returns the commands, with a configuration that is not the database's. */
export const buildArchiveCommands = (file = getConfigPath()) => ({
  /** Serves the database's files, until it is stopped. */
  serve: ['pgbackrest', `--config=${file}`, 'server'],
  /** Makes the folder at the store ready, as often as one likes. */
  prepare: [...buildBaseCommand(file), 'stanza-create'],
  /**
   * Lets the folder take the log of another database than before, as of one into which a dump was restored. The earlier
   * copies stay.
   */
  renew: [...buildBaseCommand(file), 'stanza-upgrade'],
  /** Makes a copy of the database's files. It succeeds only if all of the log that the copy needs is at the store. */
  copy: (type: CopyType): string[] => [
    ...buildBaseCommand(file),
    `--type=${type}`,
    '--no-expire-auto',
    'backup',
  ],
  /** Removes the copies that are not to be kept any more, with their log. */
  expire: (retained: Retained): string[] => [
    ...buildBaseCommand(file),
    ...('fulls' in retained
      ? ['--repo1-retention-full-type=count', `--repo1-retention-full=${retained.fulls}`]
      : ['--repo1-retention-full-type=time', `--repo1-retention-full=${retained.days}`]),
    'expire',
  ],
  /** Asks what is at the store. */
  ask: [...buildBaseCommand(file), 'info', '--output=json'],
  /**
   * Fills an empty folder with the files of a copy. Started on it, Postgres applies the log. It does not start if no
   * transaction of the log is later than the moment.
   */
  refill: ({ copy, to }: Refill): string[] => [
    ...buildBaseCommand(file),
    `--set=${copy}`,
    ...buildTargetOptions(to),
    'restore',
  ],
});

/**
 * The log that goes on where the copy ends. Postgres by itself takes the newest branch: that of the last restore, which
 * may have left this copy or this moment behind.
 */
const OWN_LOG = '--target-timeline=current';

const buildTargetOptions = (to: Refill['to']): string[] => {
  if (to === 'end of log') return [OWN_LOG];
  if (to === 'end of copy')
    return [
      '--type=immediate',
      '--target-action=promote',
      '--recovery-option=recovery_target_timeline=current',
    ];
  const moment = new Date(to.at).toISOString().replace('T', ' ').replace('Z', '+00');
  return ['--type=time', `--target=${moment}`, '--target-action=promote', OWN_LOG];
};

type CopyType = 'full' | 'diff';
/** How many full copies are kept, or those with which each moment of so many days can be restored. */
type Retained = { fulls: number } | { days: number };

/** Days after which a copy is a full one again. Those between hold the changes since. */
const FULL_EVERY = 7;

/** Returns how the next copy is made. */
export function chooseCopyType(copies: readonly BaseCopy[], now: Date): CopyType {
  const last = copies.findLast(({ type }) => type === 'full');
  return last !== undefined && now.getTime() - Date.parse(last.from) < FULL_EVERY * 86_400_000
    ? 'diff'
    : 'full';
}

/** Returns which copies stay: one that is to be kept needs its full one, with which others stay, too. */
export function decideRetention(copies: readonly BaseCopy[], keep: BackupKeep): Retained {
  if ('days' in keep) return keep;
  const oldest = Math.max(0, copies.length - Math.max(1, keep.count));
  const first = copies.slice(0, oldest + 1).findLastIndex(({ type }) => type === 'full');
  return {
    fulls: Math.max(
      1,
      copies.slice(Math.max(0, first)).filter(({ type }) => type === 'full').length,
    ),
  };
}

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

/** Reads the answer to `ask`. A copy in which pages were damaged does not count. */
export function parseArchiveInfo(answer: string): ArchiveFound {
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
