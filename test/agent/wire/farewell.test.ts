import http from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
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
      if (state.done !== 1)
        throw new Error(`round ${round} answered ${answer.status} ${JSON.stringify(state)}`);
      if (pick === leaving) connections.add(answer.headers.get('connection'));
    }, 10),
  );
  await until('the load is on', () => connections.has('keep-alive'), 30);
  expect([...connections]).toEqual(['keep-alive']);
  const gone = leaving.kill();
  await until('clients are sent away', () => connections.has('close'), 30);
  pick = staying;
  expect(await gone).toBe(0);
  for (const one of await Promise.all(load.map(({ stop }) => stop()))) {
    expect(one.failures).toEqual([]);
    expect(one.rounds).toBeGreaterThan(10);
  }
  expect(await staying.kill()).toBe(0);
});

/** A run on the agent's connection: when it was requested, its state at the end, and what becomes of the connection. */
function run(url: string, agent: http.Agent, pause: number) {
  const options = { agent, method: 'POST', headers: { 'content-type': 'application/json' } };
  const asked = http.request(`${url}/runs/wait`, options);
  const sent = new Promise<number>((resolve) => {
    for (const event of ['finish', 'close']) asked.once(event, () => resolve(performance.now()));
  });
  asked.end(JSON.stringify({ assistant_id: 'steps', input: { left: 1, pause } }));
  const begun = new Promise<http.IncomingMessage>((resolve, reject) =>
    asked.once('response', resolve).once('error', reject),
  );
  const ended = begun.then(async (answer) => ({
    state: JSON.parse(await text(answer)) as object,
    connection: answer.headers.connection,
  }));
  ended.catch(() => undefined);
  return { asked, sent, begun, ended };
}

/** Milliseconds out of the second within which a client has to come back on its connection. */
const IN_TIME = 600;

/** A server is told to stop while it answers. Its client comes back on the same connection once it has the answer. */
async function comesBack() {
  const leaving = await startAgent({
    database: database.uri,
    env: { GX_SHUTDOWN_DELAY_SECONDS: '0' },
  });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const first = run(leaving.url, agent, 2000);
  expect((await first.begun).headers.connection).toBe('keep-alive');
  const gone = leaving.kill();
  expect(await first.ended).toMatchObject({ state: { done: 1 } });
  const free = performance.now();
  // This is longer than a server takes that closes idle connections.
  await wait(200);
  const second = run(leaving.url, agent, 5);
  const isLate = (await second.sent) - free > IN_TIME;
  expect(await gone).toBe(0);
  return { second, isLate };
}

test('a client whose answer had begun before the stop may go on with its connection, and learns there to come back elsewhere', async () => {
  const staying = await startAgent({ database: database.uri });
  let scene = await comesBack();
  for (let again = 0; scene.isLate && again < 9; again += 1) scene = await comesBack();
  const { second, isLate } = scene;
  const code = await staying.kill();
  expect(isLate, 'the client came back too late, ten times').toBe(false);
  expect(await second.ended).toMatchObject({ state: { done: 1 }, connection: 'close' });
  expect(second.asked.reusedSocket).toBe(true);
  expect(code).toBe(0);
});
