import { openDatabase, type Database } from '../../src/agent/db/base/pool.ts';
import { silentLog } from './log.ts';
import { freshDatabase, type TestDatabase } from './postgres.ts';

/** A fresh database, and the server's connections to it. */
export type OpenDatabase = { database: TestDatabase; db: Database; drop(): Promise<void> };

/** Makes a database with the agent server's schema, and opens it as a server does. */
export async function freshOpenDatabase(poolSize = 2): Promise<OpenDatabase> {
  const database = await freshDatabase();
  const db = openDatabase(
    { uri: database.uri, poolSize, statementTimeoutSeconds: 30, name: 'test' },
    silentLog(),
  );
  return {
    database,
    db,
    drop: async () => {
      await db.close();
      await database.drop();
    },
  };
}
