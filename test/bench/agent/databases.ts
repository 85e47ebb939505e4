import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../../../src/agent/dev/embedded-postgres/start.ts';

export type Databases = {
  /** Creates an empty database in which every commit waits for the disk. Returns its connection string. */
  fresh(): Promise<string>;
  stop(): Promise<void>;
};

/** One Postgres serves all servers of a run. */
export async function startDatabases(): Promise<Databases> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-bench-postgres-'));
  const server = await startPostgres({ folder, owner: 'a benchmark', durable: true });
  const admin = new Client({ connectionString: server.uri });
  await admin.connect();
  let count = 0;
  return {
    fresh: async () => {
      const name = `bench_${(count += 1)}`;
      await admin.query(`create database ${name}`);
      // The embedded server starts without this setting. A database's own setting outranks the server's.
      await admin.query(`alter database ${name} set synchronous_commit = on`);
      const uri = new URL(server.uri);
      uri.pathname = `/${name}`;
      return uri.href;
    },
    stop: async () => {
      await admin.end();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
