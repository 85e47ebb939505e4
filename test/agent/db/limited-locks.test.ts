import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  lockAbandonedRuns,
  claimByTickets,
  lockExpiredRuns,
} from '../../../src/agent/db/runs/leases.ts';
import { openDatabase, type Database, type Statement } from '../../../src/agent/db/base/pool.ts';
import { deleteExpiredItems } from '../../../src/agent/db/store/store-items.ts';
import { deleteExpiredThreads } from '../../../src/agent/db/threads/thread-expiry.ts';
import { claimWebhooks } from '../../../src/agent/db/webhooks/webhooks.ts';
import { openTickets, type Tickets } from '../../../src/agent/queue/tickets.ts';
import { silentLog } from '../../kit/log.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { allLimitedLocks, limitedLocks } from './locking-statements.ts';

/*
 * Whoever takes ten rows gets ten, by whatever plan. A plan may join the chosen rows as the inner side of a loop.
 * Chosen anew for each row, they are up to ten each time.
 */

/** Rows that could be taken, and what a taker asks for. The leases have a limit of their own. */
const ROWS = 300;
const ASKED = 10;
const LEASES = 100;

const TABLES = ['gx.run', 'gx.thread', 'gx.store_item', 'gx.webhook', 'pgboss.job_common'];

let database: TestDatabase;
let plain: Database;
let db: Database;
let tickets: Tickets;

/** The statements that were sent, each of them planned for tables that were empty. */
let sent: Statement[] = [];

/** Names each statement, so that its plan is made once and kept. */
function keepingPlans(): Database {
  const texts = new Map<string, string>();
  const named = (statement: Statement): Statement => {
    sent.push(statement);
    const name = texts.get(statement.text) ?? `test_${texts.size}`;
    texts.set(statement.text, name);
    return { ...statement, name };
  };
  return {
    ...plain,
    query: (statement) => plain.query(named(statement)),
    transaction: (work) =>
      plain.transaction((tx) => work({ ...tx, query: (statement) => tx.query(named(statement)) })),
  };
}

beforeAll(async () => {
  database = await freshDatabase();
  const [row] = await database.sql<{ name: string }>('select current_database() as name');
  for (const join of ['hashjoin', 'mergejoin', 'material', 'memoize'])
    await database.sql(`alter database ${row!.name} set enable_${join} = off`);
  await database.sql(`alter database ${row!.name} set plan_cache_mode = force_generic_plan`);
  plain = openDatabase(
    { uri: database.uri, poolSize: 1, statementTimeoutSeconds: 30, name: 'test' },
    silentLog(),
  );
  db = keepingPlans();
  tickets = await openTickets(db, { works: false }, silentLog());
  for (const table of TABLES)
    await database.sql(`alter table ${table} set (autovacuum_enabled = off)`);
});

beforeEach(async () => {
  await database.sql(`truncate ${TABLES.join(', ')} cascade`);
  await database.sql(`vacuum analyze ${TABLES.join(', ')}`);
});

afterAll(async () => {
  await tickets.close();
  await db.close();
  await database.drop();
});

const worker = randomUUID();
const dead = { worker: randomUUID(), lock: '4711' };

/** Puts running runs there, each with its thread. */
const running = (of: string, lease: string): Promise<unknown> =>
  database.sql(
    `with t as (insert into gx.thread (thread_id, metadata) select gen_random_uuid(), '{}' from generate_series(1, ${ROWS}) returning thread_id)
      insert into gx.run (run_id, thread_id, assistant_id, graph_id, kwargs, multitask_strategy, status, worker, lease_until)
      select gen_random_uuid(), thread_id, gen_random_uuid(), 'none', '{}', 'enqueue', 'running', $1, now() + $2::interval from t`,
    [of, lease],
  );

type Taker = {
  /** Where its statement is; undefined when it is one of pg-boss. */
  file?: string;
  what: string;
  atMost: number;
  fill: () => Promise<unknown>;
  /** Returns how many rows were taken. */
  take: () => Promise<number>;
};

const TAKERS: Taker[] = [
  {
    file: 'src/agent/db/runs/leases.ts',
    what: 'runs whose lease is over',
    atMost: LEASES,
    fill: () => running(worker, '-1 minute'),
    take: () =>
      db.transaction(async (tx) => (await lockExpiredRuns(tx, { leaseSeconds: 0 })).length),
  },
  {
    file: 'src/agent/db/runs/leases.ts',
    what: 'runs of dead workers',
    atMost: LEASES,
    fill: async () => {
      await database.sql('insert into gx.worker (worker, lock) values ($1, $2)', [
        dead.worker,
        dead.lock,
      ]);
      await running(dead.worker, '1 minute');
    },
    take: () => db.transaction(async (tx) => (await lockAbandonedRuns(tx, [dead])).length),
  },
  {
    file: 'src/agent/db/store/store-items.ts',
    what: 'items that have expired',
    atMost: ASKED,
    fill: () =>
      database.sql(`insert into gx.store_item (namespace, key, value, expires_at)
        select array['notes'], n::text, '{}', now() - interval '1 hour' from generate_series(1, ${ROWS}) n`),
    take: () => deleteExpiredItems(db, ASKED),
  },
  {
    file: 'src/agent/db/threads/thread-expiry.ts',
    what: 'threads that have expired',
    atMost: ASKED,
    fill: () =>
      database.sql(`insert into gx.thread (thread_id, metadata, updated_at, state_updated_at)
        select gen_random_uuid(), '{}', now() - interval '1 day', now() - interval '1 day' from generate_series(1, ${ROWS})`),
    take: () =>
      deleteExpiredThreads(db, {
        usual: { strategy: 'delete', ttl: 60 },
        waiting: false,
        limit: ASKED,
      }),
  },
  {
    file: 'src/agent/db/webhooks/webhooks.ts',
    what: 'messages that are due',
    atMost: ASKED,
    fill: () =>
      database.sql(`insert into gx.webhook (run_id, url, host, message)
        select gen_random_uuid(), '{}', 'example.com', '{}' from generate_series(1, ${ROWS})`),
    take: async () => {
      const most = { room: new Map([['example.org', 1]]), each: ROWS, most: ASKED };
      return (await claimWebhooks(db, { worker, leaseSeconds: 60, lifeSeconds: 3600, ...most }))
        .claimed.length;
    },
  },
  {
    file: 'src/agent/queue/ticket-statements.ts',
    what: 'tickets of runs',
    atMost: ASKED,
    fill: () =>
      tickets.send(db, { run_id: randomUUID(), thread_id: randomUUID(), revision: null }).then(() =>
        database.sql(`insert into pgboss.job_common (name, data)
          select name, jsonb_build_object('thread_id', gen_random_uuid()) from pgboss.job_common, generate_series(2, ${ROWS})`),
      ),
    take: async () => {
      const claim = { worker, leaseSeconds: 60, graphs: ['none'], revision: undefined };
      const take = tickets.take(ASKED, (part) => claimByTickets(db, part, claim));
      return (await take).tickets.length;
    },
  },
];

type Plan = { 'Node Type': string; 'Parent Relationship'?: string; Plans?: Plan[] };

/** Returns true when the plan chooses and locks so many rows, and does so again for each row of something else. */
function choosesAgain(plan: Plan, isRepeated = false): boolean {
  const children = plan.Plans ?? [];
  if (
    isRepeated &&
    plan['Node Type'] === 'Limit' &&
    children.some((child) => child['Node Type'] === 'LockRows')
  )
    return true;
  return children.some((child) => {
    const place = child['Parent Relationship'];
    // What a CTE holds is chosen once, wherever it is read.
    if (place === 'InitPlan') return choosesAgain(child);
    return choosesAgain(
      child,
      isRepeated ||
        place === 'SubPlan' ||
        (place === 'Inner' && plan['Node Type'] === 'Nested Loop'),
    );
  });
}

async function planOf(text: string): Promise<Plan> {
  const [row] = await plain.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>({
    text: `explain (generic_plan, format json) ${text}`,
  });
  return row!['QUERY PLAN'][0].Plan;
}

test('every statement that locks so many rows is in no plan of another one, or a CTE that is materialized', () => {
  const found = allLimitedLocks();
  expect(found.filter(({ isSafe }) => !isSafe)).toEqual([]);
  // Each of them is proved below. A new one needs its proof.
  expect(found.map(({ file }) => file)).toEqual(TAKERS.flatMap(({ file }) => file ?? []));
});

test.each([
  [
    'a subquery',
    'delete from a using (select id from a limit $1 for update skip locked) d where a.id = d.id',
  ],
  ['a list', 'delete from a where id in (select id from a limit $1 FOR NO KEY UPDATE)'],
  [
    'a CTE that a plan may inline',
    'with d as (select id from a limit $1 for share) delete from a using d where a.id = d.id',
  ],
  [
    'a part of a CTE',
    'with d as materialized (select id from (select id from a limit $1 for update) b join c using (id)) select 1',
  ],
  ['a lock apart from its select', 'for update skip locked'],
])('the search finds a statement that is not safe: %s', (_, sql) => {
  expect(limitedLocks(`\`${sql}\``, { file: 'new.ts', isStatement: false })).toMatchObject([
    { isSafe: false },
  ]);
});

describe.each(TAKERS)('$what', ({ atMost, fill, take }) => {
  test('are taken up to the limit, in a plan that was made while there were none', async () => {
    sent = [];
    expect(await take()).toBe(0);
    const statements = sent.filter(({ text }) =>
      /\blimit\b.*\bfor (no key )?update\b/is.test(text),
    );
    expect(statements).not.toEqual([]);
    for (const { text } of statements) expect(choosesAgain(await planOf(text))).toBe(false);

    await fill();

    expect(await take()).toBe(atMost);
  });
});

/** Statements that choose in a subquery, as these two did. */
const SUBQUERIES = [
  {
    what: 'items',
    text: `delete from gx.store_item i using (select namespace, key from gx.store_item where expires_at < now()
      order by expires_at limit $1 for update skip locked) d where i.namespace = d.namespace and i.key = d.key returning 1`,
    taker: TAKERS[2]!,
  },
  {
    what: 'tickets',
    text: `delete from pgboss.job_common j using (
        select name, id from pgboss.job_common where name = 'runs' and state < 'active' and not blocked and start_after <= now()
        order by priority desc, created_on, id limit (select $1::int) for update skip locked) n
      where j.name = n.name and j.id = n.id returning 1`,
    taker: TAKERS[5]!,
  },
];

test.each(SUBQUERIES)(
  'a subquery in place of the CTE takes more $what than were asked for',
  async ({ text, taker }) => {
    const statement = { text, values: [ASKED] };
    expect(await db.query(statement)).toEqual([]);
    expect(choosesAgain(await planOf(text))).toBe(true);

    await taker.fill();

    expect((await db.query(statement)).length).toBeGreaterThan(ASKED);
  },
);
