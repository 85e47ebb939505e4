import { afterAll, beforeAll, expect, test } from 'vitest';
import { computeTokenBucket } from '../../../src/schema/wire/run-counts.ts';
import { startAgent } from '../../kit/agent-server.ts';
import { startCompared, type ComparedAgent } from '../../kit/compared-agent.ts';

/* While a revision is tried out, runs count the tokens of their models, and how long they have waited. */

let compared: ComparedAgent;

beforeAll(async () => {
  compared = await startCompared((database, env) =>
    startAgent({ database, config: 'test/agent/revisions/graphs/gx.json', env }),
  );
});
afterAll(() => compared.stop());

const ask = (...models: string[]): Promise<unknown> =>
  compared.agent.client.runs.wait(null, 'models', { input: { ask: models } });

test('the tokens of all models of a run are counted, of a model within another graph too', async () => {
  await ask('telling', 'telling', 'text');
  const counts = await compared.counted(1);
  expect(counts).toMatchObject({ tokens: [[computeTokenBucket(249), 1]], used: 249 });
  expect(counts.waits).toHaveLength(1);
});

test('a run without models has used none, and one whose model tells nothing is left out', async () => {
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

test('durations and waits of runs are metrics, however the runs are pinned', async () => {
  const text = await (await fetch(`${compared.agent.url}/metrics`)).text();
  for (const name of ['gx_api_run_seconds', 'gx_api_run_wait_seconds']) {
    expect(text).toMatch(new RegExp(`^${name}_count\\{.*revision="chat-00001".*\\} 5$`, 'm'));
    expect(text).toMatch(new RegExp(`^${name}_bucket\\{le="60",.*\\} 5$`, 'm'));
  }
});

test('a run that waits for a slot or its time is counted with its wait', async () => {
  const { thread_id } = await compared.agent.client.threads.create();
  const before = await compared.counted(5);
  await compared.agent.client.runs.create(thread_id, 'models', {
    input: { ask: [] },
    afterSeconds: 1,
  });
  const counts = await compared.counted(6);
  const sum = (buckets: readonly [number, number][] = []): number =>
    buckets.reduce((all, [, count]) => all + count, 0);
  // It waits from the time that it is due, not from when it was made.
  expect(sum(counts.waits)).toBe(sum(before.waits) + 1);
});
