import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { playAgents } from '../matrix/play-agents.ts';
import { startPython } from './agent.ts';
import { packagesOf } from './tools.ts';

/*
 * Agents of the packages `langchain` and `deepagents`. The official client does to them what it does to those in
 * JavaScript.
 */

let database: TestDatabase;
let agent: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  const GX_PYTHON = `${await packagesOf('test/python/agents/requirements.txt')}/python`;
  agent = await startPython(database.uri, { GX_PYTHON }, 'agents/gx.json');
}, 600_000);
afterAll(async () => {
  await agent.kill('SIGKILL');
  await database.drop();
});

test('agents and their subagents stream, call tools, stop before them and go on', async () => {
  await expect(playAgents(agent.url)).resolves.toBeUndefined();
});
