/*
 * The one door to sessions of the platform's own in a tenant's database: each command of Postgres' programs that a Job
 * runs there is made here, and lint refuses others (house/sessions). The tenant owns all that is in the database, and
 * may give it settings: a session that looked into the tenant's schemas would call the tenant's functions.
 */

/**
 * The options of a session win over those that a database or a role has (ALTER DATABASE, ALTER ROLE). Without a name in
 * the path, Postgres would look into pg_temp first.
 */
const PATH = '-c search_path=pg_catalog,pg_temp';

/** A password is set even in a database that its guard has made read-only, because it takes only some hundred bytes. */
export const WRITES_ALWAYS = '-c default_transaction_read_only=off';

/** The program of a session, with the options of each. `env` lets a shell `exec` it, too. */
const buildSessionCommand = (name: string, options: readonly string[]): string =>
  `env PGOPTIONS='${[PATH, ...options].join(' ')}' ${name}`;

/**
 * The role of a tenant's data, which its image makes with the database: the agents' first login owns the objects that
 * they make, and has no other right. The database has its name.
 */
export const OWNER = 'gx';

/** The folder with the address of the deployment's own database, in a file: no environment holds its password. */
export const ADDRESS_FOLDER = '/gx/address';
/** The shell's word for that address. `ADDRESS_FILE` names the file. */
export const OWN_DATABASE = '"$(cat "$ADDRESS_FILE")"';

type SessionCall = {
  /** The shell's words after the options that every session has. */
  args?: string;
  options?: readonly string[];
};

/** Returns the command by which a shell runs SQL in a database, up to the first error and without a user's settings. */
export const buildPsqlCommand = (
  address: string,
  { args = '', options = [] }: SessionCall = {},
): string =>
  `${buildSessionCommand('psql', options)} -X -q -v ON_ERROR_STOP=1${args === '' ? '' : ` ${args}`} ${address}`;

/** Returns the same with answers that a program reads: a row a line, and a space between two columns. */
export const ask = (address: string, { args = '', options = [] }: SessionCall = {}): string =>
  buildPsqlCommand(address, { args: `-A -t -F ' '${args === '' ? '' : ` ${args}`}`, options });

/** Returns the command that dumps a database. pg_dump names the schema of each object, and looks into none. */
export const buildDumpCommand = (address: string, args: string): string =>
  `${buildSessionCommand('pg_dump', [])} ${args} --dbname=${address}`;

/** The command that makes SQL of the dump at its input, which `psql` runs. */
export const SQL_OF_DUMP = 'pg_restore --no-owner --no-privileges --no-comments --file=-';
