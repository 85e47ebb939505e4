import { Client } from 'pg';
import { migrate } from '../../src/agent/db/migrate.ts';
import { openDatabase } from '../../src/agent/db/pool.ts';
import { openTickets } from '../../src/agent/queue/tickets.ts';
import { silentLog } from './log.ts';

export const TEMPLATE = 'gx_template';

/** The same server, another database. */
export function databaseUri(admin: string, name: string): string {
  const uri = new URL(admin);
  uri.pathname = `/${name}`;
  return uri.href;
}

export async function asAdmin<T>(admin: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: admin });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Migrates once; a copy of the result costs a test file a fraction of that. */
export async function makeTemplate(admin: string): Promise<void> {
  await asAdmin(admin, (client) => client.query(`create database ${TEMPLATE}`));
  const uri = databaseUri(admin, TEMPLATE);
  const db = openDatabase({ uri, poolSize: 2, statementTimeoutSeconds: 60, name: 'test-template' }, silentLog());
  try {
    await migrate(db);
    const tickets = await openTickets(db, { works: false }, silentLog());
    await tickets.close();
  } finally {
    await db.close();
  }
}
