import { HttpAgent } from '@ag-ui/client';
import { HttpAgent as HttpAgentBefore } from 'ag-ui-client-before';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { Conversation } from './plays/play.ts';

/* Random conversations, a few of the many that have a target of their own. GX_SEEDS=500 plays so many. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/ag-ui/plays/gx.json' });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const FIRST = Number(process.env['GX_SEED'] ?? 1);
const SEEDS = Number(process.env['GX_SEEDS'] ?? 2);

test.each([
  ['1.0.0', HttpAgent],
  ['0.0.59', HttpAgentBefore as unknown as typeof HttpAgent],
])('a page of version %s shows what the thread holds, whatever happens', async (_, Client) => {
  const failed: string[] = [];
  let compared = 0;
  for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
    const conversation = new Conversation(seed, { Client, next: () => agent.url });
    await conversation
      .play()
      .catch((error: unknown) => failed.push(`seed ${seed}: ${String(error)}`));
    compared += conversation.compared;
  }
  expect(failed).toEqual([]);
  expect(compared).toBeGreaterThanOrEqual(SEEDS);
});
