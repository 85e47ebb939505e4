import {
  Pool,
  types as builtIn,
  type CustomTypesConfig,
  type PoolClient,
  type QueryConfig,
} from 'pg';
import { PLAIN, type Codec } from '../../encryption/codec.ts';
import { parseByteaArray } from './bytea-array.ts';
import { Conflict, Rejected, Unavailable } from '../../../errors.ts';
import type { Log } from '../../../log.ts';

export type Row = Record<string, unknown>;

/** A statement. With a name it is planned once per connection. */
export type Statement = { name?: string; text: string; values?: unknown[] };

/**
 * Anything statements can be sent to: the pool, or one connection inside a transaction. Values that others must not
 * read pass through `codec`.
 */
export type Db = { query<R = Row>(statement: Statement): Promise<R[]>; codec: Codec };

export type Database = Db & {
  transaction<T>(work: (tx: Db) => Promise<T>): Promise<T>;
  pool: Pool;
  /** A second call is harmless. */
  close(): Promise<void>;
};

export type PoolOptions = {
  uri: string;
  poolSize: number;
  statementTimeoutSeconds: number;
  name: string;
  /** Lets the pool write even to a database that its guard has made read-only, for writes that take next to no room. */
  insists?: boolean;
  /** Without it, values are stored as they are. */
  codec?: Codec | undefined;
};

const TIMESTAMPTZ = 1184;
const INT8 = 20;
const BYTEA_ARRAY = 1001;

/** Returns `2026-11-21 07:25:02.734287+00` as ISO 8601 with all its digits. */
const toIsoTime = (text: string): string => `${text.replace(' ', 'T')}:00`;

const types: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === TIMESTAMPTZ && format !== 'binary') return toIsoTime;
    if (oid === INT8 && format !== 'binary') return Number;
    if (oid === BYTEA_ARRAY && format !== 'binary') return parseByteaArray;
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the enum only lists the types that pg knows by name
    return builtIn.getTypeParser(oid, format);
  },
};

/** Opens the pool of one process or thread. Nothing is connected before the first statement. */
export function openDatabase(options: PoolOptions, log: Log): Database {
  const pool = new Pool({
    connectionString: options.uri,
    max: options.poolSize,
    application_name: options.name,
    statement_timeout: options.statementTimeoutSeconds * 1000,
    connectionTimeoutMillis: 10_000,
    // Statements are short, so compiling one costs more than it could save.
    options: `-c timezone=UTC -c jit=off${options.insists === true ? ' -c default_transaction_read_only=off' : ''}`,
    types,
  });
  pool.on('error', (error) => log.warn({ err: error }, 'idle database connection lost'));
  // A connection that breaks while it is held fails the holder's next statement. Without a listener, the event would
  // end the process.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const { codec = PLAIN } = options;
  return {
    pool,
    codec,
    query: (statement) => run(pool, statement),
    transaction: (work) => runTransaction(pool, codec, work),
    close: async () => {
      if (!pool.ending) await pool.end();
    },
  };
}

async function run<R>(target: Pool | PoolClient, statement: Statement): Promise<R[]> {
  try {
    const result = await target.query(statement as QueryConfig);
    return result.rows as R[];
  } catch (error) {
    throw mapDatabaseError(error);
  }
}

async function runTransaction<T>(
  pool: Pool,
  codec: Codec,
  work: (tx: Db) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw mapDatabaseError(error);
  });
  let broken: Error | undefined;
  try {
    await run(client, { text: 'begin' });
    const result = await work({ query: (statement) => run(client, statement), codec });
    await run(client, { text: 'commit' });
    return result;
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Codes for an address where nobody is, or to which no way leads. */
const NOBODY_CODES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
];

/** Codes of a Postgres that stops (admin_shutdown, crash_shutdown) or starts (cannot_connect_now). */
const CLOSED_CODES = ['57P01', '57P02', '57P03'];

/** Postgres' too_many_connections: the database is there, but for others. */
const FULL = '53300';

/**
 * Postgres' disk_full, and read_only_sql_transaction: its guard closes a database whose volume is all but full
 * (docs/reference/database.md).
 */
const NO_ROOM_CODES = ['25006', '53100'];
const NO_ROOM =
  'The database accepts no writes, because its volume is full or someone made it read-only; reads still work. Try again later.';

/** Postgres' program_limit_exceeded: an index takes some 2,700 bytes of a name. */
const TOO_LONG = '54000';
const NOT_INDEXED =
  'A key, namespace or name is longer than the database can index (some 2,600 bytes).';

/** Returns a database's error in our words; `cause` keeps the original. */
function mapDatabaseError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = readCode(error);
  if (code === '23505') return new Conflict('Already exists.', { cause: error });
  if (code === '40P01' || code === '40001')
    return new Conflict('deadlock: another request changed the same record; try again.', {
      cause: error,
    });
  if (code === TOO_LONG) return new Rejected(NOT_INDEXED, { cause: error });
  if (NO_ROOM_CODES.includes(code)) return new Unavailable(NO_ROOM, { cause: error });
  if (isLost(error)) return new Unavailable('The database does not answer.', { cause: error });
  return error;
}

/** pg's own messages for a lost connection. */
const LOST =
  /Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect/i;

/**
 * OpenSSL's and Node's codes for a server whose certificate is not trusted: it has expired, or the certificate of a new
 * authority has not reached this pod yet.
 */
const UNTRUSTED = /^(CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_|UNABLE_TO_(GET_ISSUER|VERIFY)_|ERR_TLS_)/;

const readCode = (error: unknown): string => (error as { code?: string }).code ?? '';

/**
 * Returns true when nobody answered as a database does, because it is not there yet or no longer. Takes pg's own error.
 */
export const isAway = (error: unknown): boolean =>
  [...NOBODY_CODES, ...CLOSED_CODES].includes(readCode(error)) ||
  LOST.test(error instanceof Error ? error.message : '');

/**
 * Returns true when the statement failed because the database went away, is full or can't be trusted, not because it
 * was wrong.
 */
const isLost = (error: unknown): boolean =>
  isAway(error) || readCode(error) === FULL || UNTRUSTED.test(readCode(error));

export const maskPassword = (uri: string): string =>
  uri.replace(/\/\/([^:/@]+):[^@]*@/, '//$1:***@');
