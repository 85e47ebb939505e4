import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BudgetState } from '../../../src/schema/agent/budget-state.ts';
import type { ReportedUsage, TenantBudget } from '../../../src/schema/wire/reported-usage.ts';
import type { WorkReport } from '../../../src/schema/wire/work-report.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { startReceiver, type WebhookReceiver } from '../../kit/webhook-receiver.ts';

/* Budgets that the deployments of a tenant share: the gateway's answers to reports tell how they stand. */

const CONFIG = 'test/agent/budgets/graphs/gx.json';
const day = new Date().toISOString().slice(0, 10);
const BUDGET: TenantBudget = {
  name: 'team',
  unit: 'calls',
  within: 'day',
  at: 'ask',
  since: `${day}T00:00:00Z`,
  hard: 1000,
  own: 0,
  left: 4,
};

let database: TestDatabase;
let gateway: WebhookReceiver;
let agents: AgentProcess[] = [];
let folder: string;
/** The word of the gateway. Undefined: it says nothing of budgets. */
let word: TenantBudget[] | undefined = [BUDGET];

const start = (slots: number): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    config: CONFIG,
    env: {
      GX_REPORT_URL: `${gateway.url}/work`,
      GX_REPORT_KEY_FOLDER: folder,
      GX_REVISION: 'chat-00001',
      N_JOBS_PER_WORKER: String(slots),
    },
  });

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'gx-key-'));
  writeFileSync(path.join(folder, 'api-key'), `gxa_${'k'.repeat(43)}\n`);
  database = await freshDatabase();
  gateway = await startReceiver({
    '/work': (response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ gateway_keys: [], ...(word && { budgets: word }) }));
    },
  });
  agents = [await start(0), await start(10)];
});
afterAll(async () => {
  for (const agent of agents) await agent.kill();
  await gateway.stop();
  await database.drop();
});

const listUsage = (): ReportedUsage[] =>
  gateway.received.flatMap(({ body }) => {
    const { queue } = body as unknown as WorkReport;
    return queue?.usage === undefined ? [] : [queue.usage];
  });

async function readState(): Promise<BudgetState | undefined> {
  const states = (await (await fetch(`${agents[0]!.url}/budgets`)).json()) as BudgetState[];
  return states.find(({ name }) => name === 'team');
}

type Ended = { done?: number; __interrupt__?: { id: string; value: { message: string } }[] };

async function run(thread: string, body: object): Promise<Ended> {
  const answer = await fetch(`${agents[0]!.url}/threads/${thread}/runs/wait`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ assistant_id: 'asks', ...body }),
  });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Ended;
}

const createThread = async (): Promise<string> =>
  (await agents[0]!.client.threads.create()).thread_id;
const ask = (thread: string, calls: number): Promise<Ended> =>
  run(thread, { input: { kind: 'plain', calls } });

/** Makes a run that asks no model. A new run has the process that answers report at once. */
async function nudge<T>(read: () => Promise<T> | T): Promise<T> {
  await run(await createThread(), { input: { kind: 'plain', calls: 0 } }).catch(() => undefined);
  return read();
}

const OFTEN = { timeout: 40_000, interval: 1000 };

let waiting: string;

test('a deployment spends what is left for all, and then asks', async () => {
  // Both processes hear of the budget by the answers to their first reports.
  await expect.poll(async () => (await readState())?.scopes[0]?.bound).toBe(4);
  waiting = await createThread();
  const asked = await ask(waiting, 6);
  expect(asked.__interrupt__![0]!.value.message).toMatch(
    /^The budget "team" of the deployments of this tenant is spent: [34] of 4 calls\. A new day begins at /,
  );
  // The end of the last call comes to the database behind the question.
  await expect.poll(readState).toMatchObject({
    per: 'tenant',
    source: 'platform',
    unit: 'calls',
    hard: 1000,
    scopes: [{ spent: 4, held: 0, bound: 4, waiting: 1 }],
  });
});

test('nobody raises it at the deployment', async () => {
  const raise = { command: { resume: { decision: 'raise', to: 100 } } };
  await expect(run(waiting, raise)).rejects.toThrow(
    /^403 .*This budget is raised by those who run the platform/,
  );
});

test('reports carry the calls of today, of the deployment as a whole', async () => {
  await expect
    .poll(() => nudge(() => listUsage().at(-1)), OFTEN)
    .toEqual([
      {
        day,
        calls: 4,
        unreported: 0,
        unpriced: 0,
        input: 0,
        cache_read: 0,
        output: 40,
        cost_nano: 120_000_000,
      },
    ]);
}, 60_000);

test('the thread goes on when the platform allows more, beside what others have spent', async () => {
  word = [{ ...BUDGET, own: 4, left: 2 }];
  await expect
    .poll(() => nudge(async () => (await agents[0]!.client.threads.get(waiting)).status), OFTEN)
    .toBe('idle');
  expect(await readState()).toMatchObject({ scopes: [{ spent: 6, bound: 6, waiting: 0 }] });
}, 60_000);

test('the last word holds while the gateway says none, in new processes, too', async () => {
  word = undefined;
  for (const agent of agents) await agent.kill();
  agents = [await start(0), await start(10)];
  const asked = await ask(await createThread(), 1);
  expect(asked.__interrupt__).toHaveLength(1);
});

test('a budget that is gone bounds nothing, and one that fails refuses new runs', async () => {
  word = [];
  await expect.poll(() => nudge(readState), OFTEN).toBe(undefined);
  expect(await database.sql('select 1 from gx.tenant_budget')).toEqual([]);
  word = [{ ...BUDGET, at: 'fail', own: 6, left: 0 }];
  const askAnew = async (): Promise<unknown> =>
    ask(await createThread(), 1).then(({ done }) => done, String);
  await expect.poll(() => nudge(askAnew), OFTEN).toMatch(/^Error: 402 .*is spent: \d of \d calls/);
}, 120_000);
