import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from 'pg';
import { parseTableCounts } from '../../src/backup/dump.ts';
import { COUNTS, FACTS } from '../../src/operator/backup/dump-script.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';

/* What is counted of a database, on a real Postgres with the agents' schema. */
const [FIRST, SECOND] = [1, 2].map((digit) => `0000000${digit}-0000-4000-8000-000000000000`);
let database: TestDatabase;

beforeAll(async () => {
  database = await freshDatabase();
  await database.sql(`insert into gx.thread (thread_id) values ('${SECOND}'), ('${FIRST}')`);
});
afterAll(() => database.drop());

/** Counts as psql does at \gexec: it runs each query that the first one makes. `path` is where the session looks. */
async function counted(path: string): Promise<Record<string, string>> {
  const client = new Client({ connectionString: database.uri });
  await client.connect();
  try {
    await client.query(`select set_config('search_path', $1, false)`, [path]);
    const queries = await client.query<string[]>({
      text: COUNTS.replace(String.raw`\gexec`, ''),
      rowMode: 'array',
    });
    const lines: string[] = [];
    for (const [query = ''] of queries.rows) {
      const { rows } = await client.query<string[]>({ text: query, rowMode: 'array' });
      lines.push(...rows.map((row) => row.join(' ')));
    }
    return parseTableCounts(lines.join('\n'));
  } finally {
    await client.end();
  }
}

test('tables and rows are counted alike, wherever the session looks: a restored dump leaves it looking nowhere', async () => {
  const usual = await counted('"$user", public');
  expect(usual['gx.thread']).toMatch(/^2 -?\d+$/);
  expect(Object.keys(usual).filter((table) => !table.startsWith('gx.'))).toEqual([]);
  for (const path of ['', 'gx', 'gx, public', 'pg_catalog'])
    expect(await counted(path)).toEqual(usual);
});

test('another key changes the checksum, and the order of the rows does not', async () => {
  const before = await counted('');
  await database.sql(`delete from gx.thread`);
  await database.sql(`insert into gx.thread (thread_id) values ('${FIRST}'), ('${SECOND}')`);
  expect(await counted('')).toEqual(before);
  await database.sql(
    `update gx.thread set thread_id = '00000003-0000-4000-8000-000000000000' where thread_id = '${FIRST}'`,
  );
  const after = await counted('');
  expect(after['gx.thread']).toMatch(/^2 /);
  expect(after['gx.thread']).not.toBe(before['gx.thread']);
});

test('facts are as many lines as their reader wants, wherever the session looks', async () => {
  const [settings, ...queries] = FACTS.split('\n');
  expect(settings).toBe('show server_version;');
  for (const path of ['', 'gx']) {
    await database.sql(`select set_config('search_path', '${path}', false)`);
    for (const query of queries) expect(await database.sql(query)).toHaveLength(1);
  }
});
