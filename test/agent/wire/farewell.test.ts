import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent } from '../../kit/agent-server.ts';
import { eventually } from '../../kit/eventually.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { prober } from '../../kit/prober.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.drop());

test('a server that is to stop serves on until load balancers know, and sends its clients elsewhere before it closes', async () => {
  const [leaving, staying] = await Promise.all([
    startAgent({ database: database.uri, env: { GX_SHUTDOWN_DELAY_SECONDS: '5' } }),
    startAgent({ database: database.uri }),
  ]);
  let pick = leaving;
  const connections = new Set<string | null>();
  const load = Array.from({ length: 4 }, () =>
    prober(async (round) => {
      const answer = await fetch(`${pick.url}/runs/wait`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ assistant_id: 'steps', input: { left: 1, pause: 5 } }),
      });
      const state = (await answer.json()) as { done?: number };
      if (state.done !== 1) throw new Error(`round ${round} answered ${answer.status} ${JSON.stringify(state)}`);
      if (pick === leaving) connections.add(answer.headers.get('connection'));
    }, 10),
  );
  await eventually('the load is on', () => Promise.resolve(connections.has('keep-alive')), 30);
  expect([...connections]).toEqual(['keep-alive']);
  const gone = leaving.kill();
  await eventually('clients are sent away', () => Promise.resolve(connections.has('close')), 30);
  pick = staying;
  expect(await gone).toBe(0);
  for (const one of await Promise.all(load.map(({ stop }) => stop()))) {
    expect(one.failures).toEqual([]);
    expect(one.rounds).toBeGreaterThan(10);
  }
  expect(await staying.kill()).toBe(0);
});
