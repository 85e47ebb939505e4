import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMPILE_CACHE } from '../../kit/compile-cache.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';

/* Recorded calls get the prices of today: first as a rehearsal, then in calls, runs and days alike. */

const folder = mkdtempSync(join(tmpdir(), 'gx-reprice-'));
const RUN = '11111111-1111-4111-8111-111111111111';
const THREAD = '22222222-2222-4222-8222-222222222222';
const ASSISTANT = '33333333-3333-4333-8333-333333333333';

let database: TestDatabase;

/** Returns a row of a call of the run, of 1,000 tokens into a model and 100 out of it. */
const buildRow = (
  id: string,
  {
    model = 'own',
    daysAgo = 3,
    cost = 'null, null',
  }: { model?: string; daysAgo?: number; cost?: string },
): string =>
  `('${RUN}', '${id}', '${THREAD}', 'g', now() - interval '${daysAgo} days', 5, 'ok', false, true, 1000, 100,
    '${model}', ${cost})`;

beforeAll(async () => {
  database = await freshDatabase();
  writeFileSync(
    join(folder, 'gx.json'),
    JSON.stringify({
      graphs: { g: './graph.ts:graph' },
      usage: { prices: { own: { input: 10, output: 20 } } },
    }),
  );
  await database.sql(
    `insert into gx.assistant (assistant_id, graph_id, name) values ('${ASSISTANT}', 'g', 'g')`,
  );
  await database.sql(`insert into gx.thread (thread_id) values ('${THREAD}')`);
  await database.sql(`insert into gx.run (run_id, thread_id, assistant_id, graph_id, status, kwargs, multitask_strategy,
      usage) values ('${RUN}', '${THREAD}', '${ASSISTANT}', 'g', 'success', '{}', 'enqueue', '{"calls": 1}')`);
  const rows = [
    buildRow('never-priced', {}),
    buildRow('priced', { cost: `1, 'gx.json'` }),
    buildRow('of-the-provider', { cost: `7, 'provider'` }),
    buildRow('before', { daysAgo: 30, cost: `1, 'gx.json'` }),
    buildRow('unknown', { model: 'nobody-knows-it', cost: `5, 'gx.json'` }),
  ];
  await database.sql(`insert into gx.model_call (run_id, call_id, thread_id, graph_id, started_at, milliseconds,
    status, cached, reported, input, output, model, cost_nano, cost_from) values ${rows.join(', ')}`);
  await database.sql(`insert into gx.usage_day select (started_at at time zone 'UTC')::date, null, 'g', null, null, null,
    model, count(*), 0, 0, 0, count(*) filter (where cost_nano is null), sum(input), sum(output), 0, 0, 0, sum(cost_nano)
    from gx.model_call group by 1, 7`);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database.drop();
});

async function reprice(...args: string[]): Promise<string[]> {
  const since = new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['src/main.ts', 'reprice-usage', '--since', since, ...args],
    {
      env: {
        PATH: process.env['PATH'],
        ...COMPILE_CACHE,
        DATABASE_URI: database.uri,
        GX_CONFIG: join(folder, 'gx.json'),
      },
    },
  );
  return stdout.trim().split('\n');
}

const readCosts = async (): Promise<Record<string, number | null>> =>
  Object.fromEntries(
    (
      await database.sql<{ call_id: string; cost: number | null }>(
        'select call_id, cost_nano::float8 as cost from gx.model_call',
      )
    ).map(({ call_id, cost }) => [call_id, cost]),
  );

/** 1,000 tokens at $10 for a million, and 100 at $20, in billionths of a dollar. */
const NEW = (1000 * 10 + 100 * 20) * 1000;

test('a rehearsal says how prices change, and changes none', async () => {
  const before = await readCosts();
  const lines = await reprice();
  expect(lines).toEqual([
    'nobody-knows-it: 1 of 1 calls have another price; $0.000000 becomes $0.000000',
    'own: 2 of 2 calls have another price; $0.000000 becomes $0.024000',
    expect.stringMatching(/^Nothing is written\. With --write /) as string,
  ]);
  expect(await readCosts()).toEqual(before);
});

test('then calls, runs and days have the prices that the rehearsal named', async () => {
  expect((await reprice('--write')).slice(0, 2)).toEqual([
    'nobody-knows-it: 1 of 1 calls have another price; $0.000000 becomes $0.000000',
    'own: 2 of 2 calls have another price; $0.000000 becomes $0.024000',
  ]);
  expect(await readCosts()).toEqual({
    'never-priced': NEW,
    priced: NEW,
    'of-the-provider': 7,
    before: 1,
    unknown: null,
  });
  const [run] = await database.sql<{ usage: object }>(`select usage from gx.run`);
  expect(run!.usage).toMatchObject({ calls: 5, unpriced: 1, cost_usd: (2 * NEW + 8) / 1e9 });
  expect(
    await database.sql(
      `select model, sum(cost_nano)::float8 as cost, sum(unpriced)::int as unpriced from gx.usage_day
        where day > current_date - 10 group by 1 order by 1`,
    ),
  ).toEqual([
    { model: 'nobody-knows-it', cost: null, unpriced: 1 },
    { model: 'own', cost: 2 * NEW + 7, unpriced: 0 },
  ]);
  expect((await reprice())[1]).toContain('own: 0 of 2 calls have another price');
});

test.each([
  [['--since', 'yesterday'], 'reprice-usage: --since must be a day such as 2026-11-01'],
  [['--since', '2026-13-01'], 'reprice-usage: --since must be a day such as 2026-11-01'],
  [[], 'reprice-usage: --since is missing'],
  [['--sinc', '2026-11-01'], 'Did you mean --since?'],
])('%j is refused by a sentence', async (args, sentence) => {
  const failed = await promisify(execFile)(
    process.execPath,
    ['src/main.ts', 'reprice-usage', ...args],
    { env: { PATH: process.env['PATH'], DATABASE_URI: database.uri } },
  ).then(
    () => '',
    (error: unknown) => (error as { stderr: string }).stderr,
  );
  expect(failed).toContain(sentence);
});
