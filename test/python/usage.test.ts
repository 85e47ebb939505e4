import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, inject, test } from 'vitest';
import type { AnswerUsage } from '../../src/agent/graph-thread/read-usage.ts';
import { freshDatabase } from '../kit/postgres.ts';
import { startPython } from './agent.ts';
import { buildExpected, CASES } from '../agent/usage/cases.ts';
import type { Recorded } from '../agent/usage/record/main.ts';

const ANSWERS = 'test/agent/usage/answers.json';

test('the answers of providers tell Python the same as JavaScript', () => {
  const recorded = JSON.parse(readFileSync(ANSWERS, 'utf8')) as Recorded[];
  const output = execFileSync(`${inject('python')}/python`, ['test/python/usage.py', ANSWERS], {
    env: { PYTHONPATH: resolve('python') },
  });
  const told = JSON.parse(output.toString()) as AnswerUsage[];
  const asked = recorded.map(({ name }) => CASES.find((other) => other.name === name)!);
  // A call whose answer names no model has the one that was asked for.
  expect(told.map((one, at) => ({ model: asked[at]!.model, ...one }))).toEqual(
    recorded.map(({ streamed }, at) => ({
      model: asked[at]!.model,
      ...buildExpected(asked[at]!, { language: 'python', streamed }),
    })),
  );
});

test('a server writes down the calls of models of a graph in Python, unless a setting turns that off', async () => {
  const database = await freshDatabase();
  const agent = await startPython(database.uri, {}, 'tokens/gx.json');
  const { thread_id } = await agent.client.threads.create();
  const models = ['telling', 'telling', 'text', 'silent', 'own', 'failing', 'cached', 'cached'];
  await agent.client.runs.wait(thread_id, 'models', { input: { ask: models } });
  const answer = await fetch(`${agent.url}/threads/${thread_id}/usage`);
  expect(await answer.json()).toMatchObject({
    calls: 8,
    failed: 1,
    cached: 1,
    unreported: 2,
    input: 332,
    output: 67,
  });
  await agent.kill();
  const other = await startPython(database.uri, { GX_USAGE: 'false' }, 'tokens/gx.json');
  await other.client.runs.wait(thread_id, 'models', { input: { ask: ['telling'] } });
  const after = await fetch(`${other.url}/threads/${thread_id}/usage`);
  expect(await after.json()).toMatchObject({ calls: 8 });
  await other.kill();
  await database.drop();
});
