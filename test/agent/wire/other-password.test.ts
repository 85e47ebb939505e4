import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { failedStart, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { AGENT, asAdmin } from '../../kit/postgres-template.ts';
import { prober } from '../../kit/prober.ts';
import { until } from '../../kit/until.ts';

/*
 * The password of an external database is changed there, and the servers are replaced afterwards: until then the former
 * ones have their open connections and get no other.
 */

const ROLE = `other_${randomBytes(4).toString('hex')}`;
const journals = mkdtempSync(join(tmpdir(), 'gx-password-'));
let database: TestDatabase;
const servers: AgentProcess[] = [];

beforeAll(async () => {
  database = await freshDatabase();
  await asAdmin(inject('postgres'), async (client) => {
    await client.query(`create role ${ROLE} login password 'former'`);
    await client.query(`grant ${AGENT} to ${ROLE}`);
  });
});
afterAll(async () => {
  for (const server of servers) await server.kill();
  await database.drop();
  await asAdmin(inject('postgres'), (client) => client.query(`drop role ${ROLE}`));
  await rm(journals, { recursive: true });
});

const addressWith = (password: string): string =>
  Object.assign(new URL(database.uri), { username: ROLE, password }).href;

/** Starts a process that answers, or one that executes runs, with a password. */
async function start(password: string, slots: number): Promise<AgentProcess> {
  const server = await startAgent({
    database: addressWith(password),
    env: { N_JOBS_PER_WORKER: String(slots) },
  });
  servers.push(server);
  return server;
}

/** Returns the steps that a run has executed, in their order. */
const stepsOf = (journal: string): string =>
  readFileSync(join(journals, journal), 'utf8').trim().split('\n').join(' ');

test('runs that were accepted before, while and after the password changes are executed once, step by step', async () => {
  const [formerApi, formerQueue] = await Promise.all([start('former', 0), start('former', 20)]);
  let api = formerApi;
  const accepted: { run_id: string; thread_id: string; journal: string }[] = [];
  const load = prober(async (number) => {
    const { client } = api;
    const journal = String(number);
    const { thread_id } = await client.threads.create();
    const input = { left: 3, pause: number % 3 === 0 ? 700 : 20, journal: join(journals, journal) };
    const { run_id } = await client.runs.create(thread_id, 'steps', { input });
    accepted.push({ run_id, thread_id, journal });
  }, 150);
  await until('runs begin', () => accepted.length > 10);
  await asAdmin(inject('postgres'), (client) =>
    client.query(`alter role ${ROLE} password 'later'`),
  );
  expect((await failedStart({ database: addressWith('former') })).output).toContain(
    'password authentication failed',
  );
  [api] = await Promise.all([start('later', 0), start('later', 20)]);
  expect(await Promise.all([formerApi.kill(), formerQueue.kill()])).toEqual([0, 0]);
  const count = accepted.length;
  await until('runs begin with the other password', () => accepted.length > count + 10);
  const { failures } = await load.stop();
  process.stdout.write(`${accepted.length} runs, ${failures.length} requests without an answer\n`);
  for (const { thread_id, run_id } of accepted)
    await until(
      'it is over',
      async () => (await api.client.runs.get(thread_id, run_id)).status === 'success',
    );
  expect(accepted.map(({ journal }) => stepsOf(journal))).toEqual(accepted.map(() => '3 2 1'));
});
