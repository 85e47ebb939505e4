import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../../src/agent/dev/embedded-postgres/start.ts';
import { systemAssistantId } from '../../src/agent/ids.ts';
import { step } from '../../dev/steps.ts';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { fuzz } from './schemathesis.ts';

/**
 * How many threads with a finished run there are, so that requests find something. They are more than the requests
 * delete.
 */
const RECORDS = 300;

/** Answers without an end: the stream of a thread stays open for future runs. */
const ENDLESS = ['/threads/{thread_id}/stream'];

/** Fuzzes the agent server on a real Postgres with generated requests of every operation in its document. */
export async function agent(cases: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gx-fuzz-postgres-'));
  const postgres = await step('Postgres', () => startPostgres({ folder, owner: 'a fuzz run', durable: false }));
  let server: AgentProcess | undefined;
  try {
    server = await step('agent server', () => startAgent({ database: postgres.uri, env: { GX_LOG_LEVEL: 'error' } }));
    const { url } = server;
    const known = await step('records to find', () => records(url));
    await step('fuzz the agent server', (report) => fuzz({ url, headers: {}, cases, excludePaths: ENDLESS, known }, report));
  } finally {
    if (server !== undefined) process.stdout.write(server.output());
    await server?.kill();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function records(url: string): Promise<Record<string, string[]>> {
  const post = async (body: unknown): Promise<{ thread_id: string; run_id: string }> => {
    const response = await fetch(`${url}/runs`, { method: 'POST', body: JSON.stringify(body) });
    return (await response.json()) as never;
  };
  const body = { assistant_id: 'steps', input: { left: 1, pause: 0 }, on_completion: 'keep' };
  const runs = await Promise.all(Array.from({ length: RECORDS }, () => post(body)));
  return {
    thread_id: runs.map((run) => run.thread_id),
    run_id: runs.map((run) => run.run_id),
    graph_id: ['chat', 'steps', 'approval'],
    assistant_id: ['chat', 'steps', 'approval'].map(systemAssistantId),
  };
}
