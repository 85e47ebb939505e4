import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import { until } from '../../kit/until.ts';

/* What the server says of runs before their graph has begun. The tests do not rely on heartbeats. */

let { database, api, queue, stop } = {} as AgentPair;

beforeAll(async () => {
  ({ database, api, queue, stop } = await startPair({ GX_JOB_LEASE_SECS: '3600' }));
});
afterAll(() => stop());

/** How the run ended. */
const endOf = ({ thread_id, run_id }: { thread_id: string; run_id: string }): Promise<string> =>
  until(
    'it has ended',
    async () => {
      const { status } = await api.client.runs.get(thread_id, run_id);
      return status !== 'pending' && status !== 'running' && status;
    },
    30,
  );

async function started(how: string): Promise<{ thread_id: string; run_id: string }> {
  const { thread_id } = await api.client.threads.create();
  const { run_id } = await api.client.runs.create(thread_id, 'broken', { input: { how } });
  return { thread_id, run_id };
}

test('a stop that comes with the claim itself, before the worker knows that it has the run, is obeyed', async () => {
  await database.sql(`create function stop_at_once() returns trigger language plpgsql as $$ begin
    update gx.run set cancel = 'interrupt' where run_id = new.run_id;
    perform pg_notify('gx_' || replace(new.worker::text, '-', ''), json_build_object('about', 'stop', 'run_id', new.run_id)::text);
    return null; end $$`);
  await database.sql(`create constraint trigger stop_at_once after update on gx.run deferrable initially deferred
    for each row when (old.status = 'pending' and new.status = 'running') execute function stop_at_once()`);
  for (let at = 0; at < 20; at += 1) {
    expect(await endOf(await started('never'))).toBe('interrupted');
  }
  await database.sql('drop trigger stop_at_once on gx.run');
}, 60_000);

test('a stop while the thread that is to execute the run is still loading its graphs is obeyed', async () => {
  const stuck = await started('spin');
  await until('it is stuck', () => queue.output().includes('spinning'));
  // From now on another thread gets the runs, and it has yet to start.
  await wait(2000);
  const { thread_id, run_id } = await started('never');
  await until(
    'it is taken',
    async () => (await api.client.runs.get(thread_id, run_id)).status === 'running',
  );
  await api.client.runs.cancel(thread_id, run_id, true);
  expect((await api.client.runs.get(thread_id, run_id)).status).toBe('interrupted');
  await api.client.runs.cancel(stuck.thread_id, stuck.run_id, true);
}, 60_000);

test('a run that was to stop when its worker handed it back does not go on elsewhere', async () => {
  const { thread_id, run_id } = await started('never');
  await until(
    'it is under way',
    async () => (await api.client.threads.getState(thread_id)).next.length > 0,
  );
  // The update is a request that the worker has not heard of when another graph ends the thread of both.
  await database.sql(`update gx.run set cancel = 'interrupt' where run_id = $1`, [run_id]);
  await until('its thread is ended', async () => {
    const killer = await started('die');
    await api.client.runs.join(killer.thread_id, killer.run_id);
    return (await api.client.runs.get(thread_id, run_id)).status !== 'running';
  });
  expect(await endOf({ thread_id, run_id })).toBe('interrupted');
}, 180_000);

test('a reader that comes with the claim itself, before the worker knows that it has the run, hears its events', async () => {
  const [, self] = /"worker":"([0-9a-f-]+)"/.exec(api.output())!;
  await database.sql(
    `create function unread() returns trigger language plpgsql as $$ begin new.readers = '{}'; return new; end $$`,
  );
  await database.sql(`create trigger unread before update on gx.run
    for each row when (old.status = 'pending' and new.status = 'running') execute function unread()`);
  await database.sql(`create function read_at_once() returns trigger language plpgsql as $$ begin
    update gx.run set readers = array['${self}'::uuid] where run_id = new.run_id;
    perform pg_notify('gx_' || replace(new.worker::text, '-', ''),
      json_build_object('about', 'reader', 'run_id', new.run_id, 'reader', '${self}')::text);
    return null; end $$`);
  await database.sql(`create constraint trigger read_at_once after update on gx.run deferrable initially deferred
    for each row when (old.status = 'pending' and new.status = 'running') execute function read_at_once()`);
  const lasts = Array.from({ length: 10 }, async () => {
    const { thread_id } = await api.client.threads.create();
    const input = { left: 12, pause: 50 };
    const { run_id } = await api.client.runs.create(thread_id, 'steps', {
      input,
      streamMode: 'custom',
      afterSeconds: 1,
    });
    const events = await Array.fromAsync(api.client.runs.joinStream(thread_id, run_id));
    return events.at(-1)?.data;
  });
  expect(await Promise.all(lasts)).toEqual(lasts.map(() => ({ left: 1 })));
  for (const trigger of ['unread', 'read_at_once'])
    await database.sql(`drop trigger ${trigger} on gx.run`);
}, 60_000);

test('wherever a run was stopped, its thread shows the state in which it stands', async () => {
  for (let at = 0; at < 12; at += 1) {
    const { thread_id } = await api.client.threads.create();
    const { run_id } = await api.client.runs.create(thread_id, 'broken', {
      input: { how: 'never' },
      durability: 'sync',
    });
    const taken = async (): Promise<boolean> =>
      (
        await database.sql(`select 1 from gx.run where run_id = $1 and worker is not null`, [
          run_id,
        ])
      ).length > 0;
    while (!(await taken())) await wait(1);
    await wait(at);
    await api.client.runs.cancel(thread_id, run_id, true);
    const [{ status, values }, state] = await Promise.all([
      api.client.threads.get(thread_id),
      api.client.threads.getState(thread_id),
    ]);
    expect({ status, values: values ?? {} }).toEqual({
      status: state.next.length > 0 ? 'interrupted' : 'idle',
      values: state.values,
    });
  }
}, 60_000);
