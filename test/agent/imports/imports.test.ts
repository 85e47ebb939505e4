import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importThreads, type ImportResult } from '../../kit/import-threads.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/* What can't be imported is named. test/python/imports.test.ts goes on with threads that were. */

const TABLES = `
  create table checkpoint_migrations (v integer primary key);
  insert into checkpoint_migrations select generate_series(0, 9);
  create table checkpoints (thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
    parent_checkpoint_id text, type text, checkpoint jsonb not null, metadata jsonb not null default '{}',
    primary key (thread_id, checkpoint_ns, checkpoint_id));
  create table checkpoint_blobs (thread_id text not null, checkpoint_ns text not null default '', channel text not null,
    version text not null, type text not null, blob bytea, primary key (thread_id, checkpoint_ns, channel, version));
  create table checkpoint_writes (thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
    task_id text not null, idx integer not null, channel text not null, type text, blob bytea not null,
    task_path text not null default '', primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));`;

let source: TestDatabase;
let target: TestDatabase;

beforeAll(async () => {
  source = await freshDatabase({ migrated: false });
  target = await freshDatabase();
  await source.sql(TABLES);
});
afterAll(() => Promise.all([source.drop(), target.drop()]));

const from = (
  address: string,
  args: string[] = [],
  env: Record<string, string> = {},
): Promise<ImportResult> => importThreads(target.uri, ['--from', address, ...args], env);

/** Adds a thread with two checkpoints, of which the second has a value in a row, and one within itself. */
async function save(
  id: string,
  { v = 4, type = 'msgpack', ts = '2026-01-02T03:04:05.678901+00:00', metadata = {} } = {},
): Promise<void> {
  const checkpoint = (channel_values: object, channel_versions: object): string =>
    JSON.stringify({ v, ts, id: 'x', channel_values, channel_versions, versions_seen: {} });
  await source.sql(
    `insert into checkpoints values ($1, '', '1', null, null, $2, $4), ($1, '', '2', '1', null, $3, $4)`,
    [
      id,
      checkpoint({}, { gone: '1' }),
      checkpoint({ plain: 1.5, marked: true }, { gone: '1', plain: '2', marked: '2', kept: '2' }),
      JSON.stringify(metadata),
    ],
  );
  await source.sql(
    `insert into checkpoint_blobs values ($1, '', 'gone', '1', 'empty', null), ($1, '', 'kept', '2', $2, '\\x01'),
      ($1, '', 'marked', '2', 'msgpack', '\\x02'), ($1, '', 'of no checkpoint', '9', 'msgpack', '\\x03')`,
    [id, type],
  );
}

const blobs = (id: string): Promise<unknown[]> =>
  target.sql(
    'select channel, version, type, blob from gx.checkpoint_blobs where thread_id = $1 order by channel',
    [id],
  );

const ID = '4f0c1d1e-7f3b-4d53-9d0b-3f3f2a1c9a0a';

test('values in rows and values in checkpoints are stored once, under the types of Python', async () => {
  await save(ID.toUpperCase(), { metadata: { graph_id: 'agent' } });
  expect(await from(source.uri, ['--thread', ID.toUpperCase()])).toMatchObject({
    code: 0,
    errors: '',
  });
  expect(await blobs(ID)).toEqual([
    { channel: 'kept', version: '2', type: 'py:msgpack', blob: Buffer.of(1) },
    { channel: 'marked', version: '2', type: 'py:msgpack', blob: Buffer.of(2) },
    { channel: 'plain', version: '2', type: 'py:json', blob: Buffer.from('1.5') },
  ]);
  const [thread] = await target.sql(
    'select metadata, created_at::text, "values" from gx.thread where thread_id = $1',
    [ID],
  );
  expect(thread).toEqual({
    metadata: { graph_id: 'agent', imported_thread_id: ID.toUpperCase() },
    created_at: expect.stringContaining('2026-01-02 '),
    values: null,
  });
});

test('a thread that is there already is left as it is', async () => {
  await source.sql(`update checkpoint_blobs set blob = '\\xff'`);
  const before = await blobs(ID);
  const { output } = await from(source.uri, ['--graph', 'other', '--thread', ID.toUpperCase()]);
  expect(output).toContain('Done: 0 imported with 0 checkpoints, 1 already there, 0 left out.\n');
  expect(await blobs(ID)).toEqual(before);
  expect(
    await target.sql('select metadata->>$2 as graph from gx.thread where thread_id = $1', [
      ID,
      'graph_id',
    ]),
  ).toEqual([{ graph: 'agent' }]);
});

test.each<[string, Parameters<typeof save>[1], string]>([
  [
    'values that the saver has encrypted',
    { type: 'msgpack+aes' },
    `encrypted by the saver's own serializer (msgpack+aes), which is not supported`,
  ],
  [
    'values of another serializer',
    { type: 'own' },
    `it has values of the type "own", which LangGraph's own serializer does not make`,
  ],
  [
    'Sends of an older LangGraph',
    { v: 3 },
    'Sends of it wait in the form of LangGraph 0.4 and older',
  ],
])('a thread with %s is left out, and the others are imported', async (name, how, why) => {
  await save(name, how);
  await source.sql(
    `insert into checkpoint_writes values ($1, '', '1', 'task', 0, '__pregel_tasks', 'msgpack', '\\x01')`,
    [name],
  );
  await save(`beside ${name}`, { ts: 'at noon' });
  const args = ['--graph', 'agent', '--thread', name, '--thread', `beside ${name}`];
  const { code, output, errors } = await from(source.uri, args);
  expect(output).toContain(`Thread ${name} is left out: `);
  expect(output).toContain(why);
  expect(output).toContain('Done: 1 imported with 2 checkpoints, 0 already there, 1 left out.\n');
  expect([code, errors]).toEqual([1, '1 of 2 threads were left out; the lines above say why.\n']);
  const stored = await target.sql(
    `select metadata->>'imported_thread_id' as id from gx.thread where metadata->>'imported_thread_id' like $1`,
    [`%${name}`],
  );
  expect(stored).toEqual([{ id: `beside ${name}` }]);
});

test('a thread that is not in the tables is named', async () => {
  const { code, output } = await from(source.uri, ['--graph', 'agent', '--thread', 'nobody']);
  expect([code, output]).toEqual([
    1,
    expect.stringContaining('Thread nobody is left out: the tables have no such thread.\n'),
  ]);
});

test('a thread of many bytes is imported whole', async () => {
  await save('large', {});
  await source.sql(
    `insert into checkpoints select 'large', '', 'c' || lpad(n::text, 5, '0'), '2', null,
      jsonb_build_object('v', 4, 'ts', '2026-01-02T03:04:05Z', 'channel_versions', jsonb_build_object('kept', n::text)), '{}'
      from generate_series(10, 1209) n`,
  );
  await source.sql(`insert into checkpoint_blobs select 'large', '', 'kept', n::text, 'msgpack', convert_to(repeat(n::text, 2000), 'UTF8')
      from generate_series(10, 1209) n`);
  await source.sql(
    `insert into checkpoint_writes select 'large', '', '2', 'task', n, 'kept', 'msgpack', '\\x01' from generate_series(0, 1299) n`,
  );
  expect((await from(source.uri, ['--graph', 'agent', '--thread', 'large'])).output).toContain(
    'Done: 1 imported with 1202 checkpoints',
  );
  const [{ thread_id }] = (await target.sql(
    `select thread_id::text from gx.thread where metadata->>'imported_thread_id' = 'large'`,
  )) as [{ thread_id: string }];
  const [found] = await target.sql(
    `select (select count(*)::int from gx.checkpoints where thread_id = $1) as checkpoints,
      (select count(*)::int from gx.checkpoint_writes where thread_id = $1) as writes,
      (select count(*)::int from gx.checkpoint_blobs where thread_id = $1 and blob = convert_to(repeat(version, 2000), 'UTF8')) as blobs`,
    [thread_id],
  );
  expect(found).toEqual({ checkpoints: 1202, writes: 1300, blobs: 1200 });
});

/** Has the import of the large thread take seconds. */
async function slowed(into: TestDatabase): Promise<void> {
  await into.sql(
    `create function gx.slow() returns trigger language plpgsql as 'begin perform pg_sleep(0.003); return new; end'`,
  );
  await into.sql(
    'create trigger slow before insert on gx.checkpoints for each row execute function gx.slow()',
  );
}

const WRITING = `select pid from pg_stat_activity where datname = current_database() and application_name = 'gx-import-threads'
  and state = 'active' and query like '%gx.checkpoint_blobs%'`;
const underWay = (into: TestDatabase): Promise<unknown> =>
  until('it writes', async () => (await into.sql(WRITING)).length > 0);

test('an import that is asked to stop, or loses its database, leaves no part of a thread', async () => {
  const other = await freshDatabase();
  await slowed(other);
  const args = ['--from', source.uri, '--graph', 'agent', '--thread', 'large'];
  const asked = await importThreads(other.uri, args, {}, underWay(other));
  expect(asked).toMatchObject({
    code: 1,
    errors: expect.stringMatching(
      /^The import was asked to stop, at thread large\. Before: 0 imported/,
    ),
  });
  const losing = importThreads(other.uri, args);
  await underWay(other);
  await other.sql(`select pg_terminate_backend(pid) from (${WRITING}) w`);
  const lost = await losing;
  expect(lost.errors).toMatch(
    /^The import stopped at thread large: The database does not answer\. Before: 0 .* Start it again to continue\.\n$/,
  );
  expect(lost.code).toBe(4);
  for (const table of ['thread', 'checkpoints', 'checkpoint_blobs'])
    expect(await other.sql(`select 1 from gx.${table}`)).toEqual([]);
  await other.sql('drop trigger slow on gx.checkpoints');
  expect((await importThreads(other.uri, args)).output).toContain(
    'Done: 1 imported with 1202 checkpoints',
  );
  await other.drop();
});

test('tables that are not there, or of another version, are named', async () => {
  const empty = await freshDatabase({ migrated: false });
  const none = await from(empty.uri);
  expect(none.errors).toBe(
    'The database of --from has no table checkpoint_migrations, which setup() of langgraph-checkpoint-postgres makes. If the tables are in another schema, add ?options=-csearch_path%3D<schema> to the address.\n',
  );
  await empty.sql('create schema elsewhere');
  await empty.sql(`set search_path to elsewhere; ${TABLES}`);
  const there = `${empty.uri}?options=-csearch_path%3Delsewhere`;
  expect(await from(there)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/Done: 0 imported/),
  });
  await empty.sql('delete from elsewhere.checkpoint_migrations where v = 9');
  expect((await from(there)).errors).toContain(
    'have version 8, and 9 is needed: run setup() of the newest langgraph-checkpoint-postgres for Python',
  );
  await empty.sql('insert into elsewhere.checkpoint_migrations values (10)');
  expect((await from(there)).errors).toContain(
    'have version 10, and this release reads up to 9: use a newer one.',
  );
  await empty.drop();
});

test('databases that do not answer are named without their passwords', async () => {
  const away = 'postgresql://me:secret@127.0.0.1:1/none';
  const one = await from(away);
  expect(one.errors).toMatch(
    /^Database postgresql:\/\/me:\*\*\*@127\.0\.0\.1:1\/none can't be reached: .*\n$/,
  );
  expect(one.code).toBe(4);
  expect((await importThreads(away, ['--from', source.uri])).errors).toMatch(
    /^Database postgresql:\/\/me:\*\*\*@127\.0\.0\.1:1\/none can't/,
  );
});

test('tables that may not be read stop the import with a sentence', async () => {
  const other = await freshDatabase({ migrated: false });
  await other.sql(TABLES);
  await other.sql('alter table checkpoints rename to gone');
  const { code, errors } = await from(other.uri);
  expect([code, errors]).toEqual([
    4,
    `The saver's tables in the database of --from can't be read: relation "checkpoints" does not exist.\n`,
  ]);
  await other.drop();
});

test('a database that is encrypted takes nothing without its key, and nothing beside a module', async () => {
  const other = await freshDatabase();
  const GX_AES_KEY = randomBytes(32).toString('base64');
  const args = [
    '--from',
    source.uri,
    '--graph',
    'agent',
    '--thread',
    'beside values of another serializer',
  ];
  expect(await importThreads(other.uri, args, { GX_AES_KEY })).toMatchObject({
    code: 0,
    errors: '',
  });
  const [sealed] = await other.sql<{ n: number }>(
    `select count(*)::int as n from gx.checkpoint_blobs where blob in ('\\x01', '\\x02', '1.5')`,
  );
  expect(sealed!.n).toBe(0);
  expect((await importThreads(other.uri, args)).errors).toContain('GX_AES_KEY is not set');
  await other.sql(
    `insert into gx.encryption_key (key_id, sealed) values ('encryption.path', '{}')`,
  );
  expect((await importThreads(other.uri, args, { GX_AES_KEY })).errors).toBe(
    'The database of DATABASE_URI is encrypted by encryption.path, which import-threads does not run; it is not supported.\n',
  );
  await other.drop();
});

test('options are checked before a database is asked', async () => {
  expect((await importThreads(target.uri, [])).errors).toBe(
    'import-threads: --from is missing. See import-threads --help.\n',
  );
  expect((await from('mysql://there')).errors).toBe(
    'import-threads: --from must begin with postgresql://\n',
  );
  expect((await from(source.uri, ['--all'])).errors).toMatch(
    /^import-threads: Unknown option '--all'/,
  );
  expect((await importThreads('', ['--from', source.uri])).errors).toContain(
    'DATABASE_URI is not set',
  );
  expect(await importThreads('', ['--help'])).toMatchObject({
    code: 0,
    output: expect.stringContaining('--dry-run'),
  });
});
