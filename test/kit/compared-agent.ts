import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { RolloutPlan } from '../../src/schema/wire/rollout-plan.ts';
import type { RunCounts } from '../../src/schema/wire/run-counts.ts';
import type { WorkReport } from '../../src/schema/wire/work-report.ts';
import type { AgentProcess } from './agent-server.ts';
import { freshDatabase } from './postgres.ts';
import { until } from './until.ts';
import { startReceiver } from './webhook-receiver.ts';

const [OWN, TRIED] = ['chat-00001', 'chat-00002'];

export type ComparedAgent = {
  agent: AgentProcess;
  /** Waits until the process has reported so many runs that have ended since its start, and returns its counts. */
  counted(done: number): Promise<RunCounts>;
  stop(): Promise<void>;
};

/** Starts an agent server that hears that another revision than its own is tried out, and reports its runs. */
export async function startCompared(
  start: (database: string, env: Record<string, string>) => Promise<AgentProcess>,
): Promise<ComparedAgent> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gx-key-'));
  await writeFile(path.join(folder, 'api-key'), `gxa_${'k'.repeat(43)}\n`);
  const database = await freshDatabase();
  const candidate = { revision: TRIED, share: 0, by: 'thread' as const };
  const plan: RolloutPlan = {
    made_at: new Date().toISOString(),
    current: OWN,
    living: [OWN, TRIED],
    draining: [],
    candidate,
  };
  const gateway = await startReceiver({
    '/work': (response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ gateway_keys: [], rollout: plan }));
    },
  });
  const reports = { GX_REPORT_URL: `${gateway.url}/work`, GX_REPORT_KEY_FOLDER: folder };
  const agent = await start(database.uri, { GX_REVISION: OWN, GX_PIN: 'Run', ...reports });
  const last = (): RunCounts[] | undefined =>
    gateway
      .at('/work')
      .map(({ body }) => body as unknown as WorkReport)
      .findLast(({ ended }) => ended !== undefined)?.ended;
  await until('it hears that a revision is tried out', () => last() !== undefined, 20);
  return {
    agent,
    counted: (done) =>
      until(`${done} ends are reported`, () => {
        const counts = last()?.find(({ revision }) => revision === OWN);
        return counts?.done === done && counts;
      }),
    stop: async () => {
      await agent.kill();
      await gateway.stop();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
