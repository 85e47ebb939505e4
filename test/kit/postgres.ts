import { randomBytes } from 'node:crypto';
import { Pool, type QueryResultRow } from 'pg';
import { inject } from 'vitest';
import { AGENT, agentUri, asAdmin, databaseUri, TEMPLATE } from './postgres-template.ts';

/* A test file that imports this runs against a real Postgres 18. */

export type TestDatabase = {
  uri: string;
  /** Drops the database and ends what is still connected. */
  drop(): Promise<void>;
  sql<R extends QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<R[]>;
};

/**
 * Makes a database for a test file or a test, with the agent server's schema or empty (`migrated: false`). Clients
 * connect as agents do in a deployment, by a role that owns the database and nothing else, unless the test is about
 * roles.
 */
export async function freshDatabase({
  migrated = true,
  superuser = false,
} = {}): Promise<TestDatabase> {
  const admin = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copying the files is quicker than first writing each page to the log, which would make the copy safe and which
  // nobody needs here.
  const copy = migrated ? ` template ${TEMPLATE} strategy file_copy` : '';
  await asAdmin(admin, (client) => client.query(`create database ${name} owner ${AGENT}${copy}`));
  const uri = superuser ? databaseUri(admin, name) : agentUri(admin, name);
  const pool = new Pool({ connectionString: uri, max: 2 });
  // `drop`, or a test that stops all of them, ends its connections.
  pool.on('error', () => undefined);
  return {
    uri,
    drop: async () => {
      await pool.end();
      await asAdmin(admin, (client) =>
        client.query(`drop database if exists ${name} with (force)`),
      );
    },
    sql: async <R extends QueryResultRow>(text: string, values: unknown[] = []) =>
      (await pool.query<R>(text, values)).rows,
  };
}
