import { afterAll, beforeAll, expect, test } from 'vitest';
import { computeTokenBucket } from '../../src/schema/wire/run-counts.ts';
import { startCompared, type ComparedAgent } from '../kit/compared-agent.ts';
import { startPython } from './agent.ts';

/* Tokens of the models of Python graphs, as test/agent/revisions has them for graphs in JavaScript. */

let compared: ComparedAgent;

beforeAll(async () => {
  compared = await startCompared((database, env) => startPython(database, env, 'tokens/gx.json'));
});
afterAll(() => compared.stop());

const ask = (...models: string[]): Promise<unknown> =>
  compared.agent.client.runs.wait(null, 'models', { input: { ask: models } });

test('the tokens of all models of a run are counted, unless one of them tells nothing', async () => {
  await ask('telling', 'telling', 'text');
  expect(await compared.counted(1)).toMatchObject({
    tokens: [[computeTokenBucket(249), 1]],
    used: 249,
  });
  await ask();
  await ask('telling', 'silent');
  const counts = await compared.counted(3);
  expect(counts.used).toBe(249);
  expect(counts.tokens?.toSorted(([one], [other]) => one - other)).toEqual([
    [0, 1],
    [computeTokenBucket(249), 1],
  ]);
});

test('an answer from a cache has used none, and a call that the graph reports counts', async () => {
  const before = await compared.counted(3);
  await ask('cached', 'cached', 'own');
  expect((await compared.counted(4)).used).toBe(before.used! + 120 + 30);
});

test('nobody knows the tokens of a run of which a call has failed', async () => {
  const before = await compared.counted(4);
  await ask('telling', 'failing');
  expect((await compared.counted(5)).used).toBe(before.used);
});
