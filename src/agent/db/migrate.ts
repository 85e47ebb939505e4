import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { EXIT, StartError } from '../../errors.ts';
import { SCHEMA_MAJOR } from '../../schema/agent/schema-major.ts';
import type { Database } from './base/pool.ts';

const LOCK = 7_233_412;
const LOCK_TIMEOUT_SECONDS = 60;
const FOLDER = new URL('migrations/', import.meta.url);

/** The step with which every database of a release begins. Versions before the first release began with another. */
const FIRST = '0001-schema.sql';

const TOO_OLD =
  'Such versions are not supported: start with an empty database. To keep threads, read them by the API of that version.';

type Migration = { number: number; name: string; text: string };
type Applied = { number: number; name: string; major: number };

/**
 * Brings schema `gx` up to date: only forward, one process at a time, each step in one transaction with its record.
 * Throws a `StartError` after `patience` seconds of another process' migration.
 */
export async function applyMigrations(
  db: Database,
  { patience = LOCK_TIMEOUT_SECONDS } = {},
): Promise<void> {
  const client = await db.pool.connect();
  try {
    await runLocked(client, patience, async () => {
      const done = await prepareSchema(client);
      for (const step of readMigrations()) if (step.number > done) await apply(client, step);
    });
  } finally {
    client.release();
  }
}

async function runLocked(
  client: pg.PoolClient,
  patience: number,
  work: () => Promise<void>,
): Promise<void> {
  await client.query(`set lock_timeout = '${patience}s'`);
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
  } catch (error) {
    const sentence = `Another process has been migrating this database for more than ${patience} seconds.`;
    throw new StartError(sentence, { cause: error, exitCode: EXIT.migration });
  }
  try {
    await work();
  } finally {
    await client.query('select pg_advisory_unlock($1)', [LOCK]);
    await client.query('reset lock_timeout');
  }
}

/** Returns the number of the newest applied step, after making sure that this server works on the schema. */
async function prepareSchema(client: pg.PoolClient): Promise<number> {
  await client.query('create schema if not exists gx');
  // pg-boss makes its own before it takes its lock, so two new servers would both try.
  await client.query('create schema if not exists pgboss');
  await client.query(`create table if not exists gx.migration (
    number integer primary key, name text not null, major integer not null, applied_at timestamptz not null default now())`);
  const { rows } = await client.query<Applied>(
    'select number, name, major from gx.migration order by number',
  );
  const problem = describeSchemaProblem(rows);
  if (problem !== undefined) throw new StartError(problem, { exitCode: EXIT.migration });
  return rows.at(-1)?.number ?? 0;
}

/** Returns why this server can't work on a schema to which these steps were applied; undefined where it can. */
function describeSchemaProblem(applied: Applied[]): string | undefined {
  const [first, last] = [applied[0], applied.at(-1)];
  const major = Math.max(0, ...applied.map((step) => step.major));
  if (major > SCHEMA_MAJOR)
    return `The database has schema version ${major}; this server knows up to ${SCHEMA_MAJOR}. Use a newer server image.`;
  if (first === undefined || first.name === FIRST) return undefined;
  return `The database has schema ${last!.number} (${last!.name}) of a version before the first release. ${TOO_OLD}`;
}

async function apply(client: pg.PoolClient, step: Migration): Promise<void> {
  try {
    await client.query('begin');
    await client.query(step.text);
    await client.query('insert into gx.migration (number, name, major) values ($1, $2, $3)', [
      step.number,
      step.name,
      SCHEMA_MAJOR,
    ]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new StartError(`Migration ${step.name} failed: ${(error as Error).message}.`, {
      cause: error,
      exitCode: EXIT.migration,
    });
  }
}

function readMigrations(): Migration[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.sql'));
  return names.toSorted().map((name) => ({
    number: Number(name.slice(0, 4)),
    name,
    text: readFileSync(new URL(name, FOLDER), 'utf8'),
  }));
}
