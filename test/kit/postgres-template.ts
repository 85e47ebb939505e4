import { Client } from 'pg';
import { applyMigrations } from '../../src/agent/db/migrate.ts';
import { openDatabase } from '../../src/agent/db/base/pool.ts';
import { openTickets } from '../../src/agent/queue/tickets.ts';
import { silentLog } from './log.ts';

export const TEMPLATE = 'gx_template';

/** The agents' role in a deployed database. It owns its database and has no other right. */
export const AGENT = 'agent';

/** Returns the address of another database on the same server. */
export function databaseUri(admin: string, name: string): string {
  const uri = new URL(admin);
  uri.pathname = `/${name}`;
  return uri.href;
}

/** Returns the same address for the agents' role. */
export const agentUri = (admin: string, name: string): string =>
  Object.assign(new URL(databaseUri(admin, name)), { username: AGENT, password: AGENT }).href;

export async function asAdmin<T>(admin: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: admin });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Migrates a database once. A copy of it costs a test file a fraction of that. */
export async function makeTemplate(admin: string): Promise<void> {
  await asAdmin(admin, async (client) => {
    await client.query(`create role ${AGENT} login password '${AGENT}'`);
    await client.query(`create database ${TEMPLATE} owner ${AGENT}`);
  });
  const uri = agentUri(admin, TEMPLATE);
  const db = openDatabase(
    { uri, poolSize: 2, statementTimeoutSeconds: 60, name: 'test-template' },
    silentLog(),
  );
  try {
    await applyMigrations(db);
    const tickets = await openTickets(db, { works: false }, silentLog());
    await tickets.close();
  } finally {
    await db.close();
  }
}
