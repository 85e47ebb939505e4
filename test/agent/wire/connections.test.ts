import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { startAgent } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

const CLIENTS = 50;
/**
 * One connection listens, one is the server's own and one is a thread's. Fewer would mean that the test saw nothing.
 */
const LEAST = 3;
const RUNS_EACH = 1;

test.each([5, 12])(
  'a server with %i connections never opens one more while fifty clients run graphs',
  async (connections) => {
    const database = await freshDatabase({ migrated: false });
    const watcher = new Client({ connectionString: database.uri, application_name: 'watcher' });
    await watcher.connect();
    let most = 0;
    const watching = new AbortController();
    const watched = (async () => {
      while (!watching.signal.aborted) {
        const { rows } = await watcher.query<{ count: number }>(
          "select count(*)::int from pg_stat_activity where datname = current_database() and application_name like 'gx-%'",
        );
        most = Math.max(most, rows[0]?.count ?? 0);
        await wait(5);
      }
    })();
    const env = { GX_POSTGRES_MAX_CONNECTIONS: String(connections), GX_WORKER_THREADS: '2' };
    const agent = await startAgent({ database: database.uri, env });
    try {
      // The start wrote its assistants on a connection that is closed now. Postgres may count it for a moment longer.
      const preparing = `select pid from pg_stat_activity
      where datname = current_database() and application_name like 'gx-%' and query like '%insert into gx.assistant %'`;
      await expect.poll(() => database.sql(preparing)).toEqual([]);
      const one = async (): Promise<void> => {
        for (let round = 0; round < RUNS_EACH; round += 1) {
          const { thread_id } = await agent.client.threads.create();
          await agent.client.runs.wait(thread_id, 'steps', { input: { left: 2, pause: 0 } });
        }
      };
      await Promise.all(Array.from({ length: CLIENTS }, one));
      const ended = await database.sql<{ status: string; count: number }>(
        'select status, count(*)::int from gx.run group by 1',
      );
      expect(ended).toEqual([{ status: 'success', count: CLIENTS * RUNS_EACH }]);
    } finally {
      await agent.kill();
      watching.abort();
      await watched;
      await watcher.end();
      await database.drop();
    }
    expect(most).toBeLessThanOrEqual(connections);
    expect(most).toBeGreaterThanOrEqual(LEAST);
  },
);
