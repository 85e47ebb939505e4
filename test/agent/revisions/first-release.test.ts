import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseVersionNotes } from '../../../dev/release/changelog.ts';
import { requireCommit, exportCommit } from '../../../dev/release/source.ts';
import { freePort, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { platformProcess, type PlatformProcess } from '../../kit/platform-process.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';

/*
 * The agent server of the first release, from the commit that CHANGELOG.md names, on a database that one of today has
 * upgraded. It knows of no revisions, and both execute its runs.
 */
/** Milliseconds for npm to install the packages of the first release, which are others than those of today. */
const INSTALLS = 600_000;
const GRAPHS = 'test/agent/wire/graphs/gx.json';

let database: TestDatabase;
let folder: string;
let first: PlatformProcess;
let older: Client;
let today: AgentProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gx-first-release-'));
  const commit = await requireCommit(
    process.cwd(),
    parseVersionNotes(readFileSync('CHANGELOG.md', 'utf8'), '0.1.0').commit,
  );
  await exportCommit(process.cwd(), commit, join(folder, 'tree'), () => undefined);
  database = await freshDatabase({ migrated: false });
  const port = await freePort();
  first = platformProcess(join(folder, 'tree'), ['agent-server'], {
    DATABASE_URI: database.uri,
    GX_CONFIG: resolve(GRAPHS),
    GX_SERVER_PORT: String(port),
    GX_SERVER_HOST: '127.0.0.1',
    N_JOBS_PER_WORKER: '0',
  });
  older = new Client({
    apiUrl: `http://127.0.0.1:${port}`,
    apiKey: null,
    callerOptions: { maxRetries: 0 },
  });
  await until('the first release serves', async () => {
    if (first.output().includes('agent-server:')) throw new Error(first.output());
    return (await fetch(`http://127.0.0.1:${port}/ok`)).ok;
  });
}, INSTALLS);

afterAll(async () => {
  await Promise.all([first.stop(), today?.kill()]);
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

test('a server of the first release goes on beside one of today, and what it made before is executed and answered', async () => {
  const { thread_id } = await older.threads.create();
  const waiting = await older.runs.create(thread_id, 'approval', { input: { request: 'go' } });
  today = await startAgent({
    database: database.uri,
    env: { GX_REVISION: 'chat-00002', GX_PIN: 'Run' },
  });
  await older.runs.join(thread_id, waiting.run_id);
  // The answer comes through the older server once the newer one has upgraded the database.
  await older.runs.wait(thread_id, 'approval', { command: { resume: 'yes' } });
  expect((await today.client.threads.getState(thread_id)).values).toEqual({
    request: 'go',
    answer: 'yes',
  });
  await today.client.runs.wait(thread_id, 'approval', { input: { request: 'stay' } });
  const rows = await database.sql(
    'select revision, status from gx.run where thread_id = $1 order by created_at',
    [thread_id],
  );
  expect(rows).toEqual([
    { revision: null, status: 'success' },
    { revision: null, status: 'success' },
    { revision: 'chat-00002', status: 'success' },
  ]);
});
