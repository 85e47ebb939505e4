import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { startReceiver, type WebhookReceiver } from '../../kit/webhook-receiver.ts';
import { ALL, isRunEnd, WireThread, type ReadEvent } from '../event-streaming/client.ts';
import { openRecord, type Line } from './stopping/record.ts';

/*
 * A worker is told to stop while runs are under way that take longer than its grace. Another worker is there, as in a
 * rollout, and clients read the runs at a process that only answers.
 */

const GRACE = 4;
const record = openRecord();

let database: TestDatabase;
let api: AgentProcess;
let leaving: AgentProcess;
let staying: AgentProcess;
let receiver: WebhookReceiver;

const start = (slots: number): Promise<AgentProcess> =>
  startAgent({
    database: database.uri,
    config: 'test/agent/wire/stopping/gx.json',
    env: { N_JOBS_PER_WORKER: String(slots), GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS: String(GRACE) },
  });

beforeAll(async () => {
  [database, receiver] = await Promise.all([freshDatabase(), startReceiver()]);
  [api, leaving] = await Promise.all([start(0), start(20)]);
});

afterAll(async () => {
  await Promise.all([api.kill(), staying.kill()]);
  await Promise.all([database.drop(), receiver.stop()]);
  record.remove();
});

const input = { journal: record.journal, gate: record.gate };
const config = { recursion_limit: 10_000 };

type Event = { event: string; data: unknown };
type Begun = { run_id: string; thread_id: string; events: Promise<Event[]> };

/** Starts a run of the graph, and reads its stream to the end. */
async function begin(
  graph: string,
  streamMode: ('custom' | 'updates' | 'values' | 'events')[],
  more: object = {},
): Promise<Begun> {
  const { thread_id } = await api.client.threads.create();
  const created = Promise.withResolvers<string>();
  const stream = api.client.runs.stream(thread_id, graph, {
    input,
    config,
    streamMode,
    onRunCreated: ({ run_id }: { run_id: string }) => created.resolve(run_id),
    ...more,
  });
  const events = Array.fromAsync(stream) as Promise<Event[]>;
  events.catch(created.reject);
  return { thread_id, run_id: await created.promise, events };
}

type Spoken = { run_id: string; events: Promise<ReadEvent[]> };

/** Starts a run by event streaming, and reads it to the end. */
async function beginByCommand(graph: string): Promise<Spoken> {
  const thread = new WireThread(api.url, randomUUID());
  const { result } = await thread.command('run.start', { assistant_id: graph, input, config });
  return {
    run_id: (result as { run_id: string }).run_id,
    events: thread.read({ channels: ALL }, isRunEnd),
  };
}

/** Returns the words of the lifecycles, each with the depth of its place. */
const lifecyclesOf = (events: ReadEvent[]): string[] =>
  events
    .filter(({ method }) => method === 'lifecycle')
    .map(({ params }) => `${params.namespace.length} ${String(params.data['event'])}`);

/** Returns the steps that the graph has streamed, in the order in which they came. */
const heardSteps = (events: ReadEvent[]): unknown[] =>
  events
    .filter(({ method }) => method === 'custom')
    .map(({ params }) => (params.data['payload'] as Line).step);

/** Returns every status that clients see of the run until it ends. */
async function statusesOf({ thread_id, run_id }: Begun): Promise<Set<string>> {
  const seen = new Set<string>();
  await until('it ends', async () => {
    const { status } = await api.client.runs.get(thread_id, run_id);
    seen.add(status);
    return status !== 'pending' && status !== 'running';
  });
  return seen;
}

/** Returns the last step here and the first one there. */
function moveOf(lines: Line[]): { from: Line; to: Line } {
  const at = lines.findIndex(({ pid }) => pid !== lines[0]!.pid);
  return { from: lines[at - 1]!, to: lines[at]! };
}

const stepsOf = (lines: Line[]): (number | undefined)[] => lines.map(({ step }) => step);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const customOf = (events: Event[]): unknown[] =>
  events.filter(({ event }) => event === 'custom').map(({ data }) => (data as Line).step);

test('runs go on at another worker from the middle of the grace, behind the step that ended, and their readers hear no end before the end', async () => {
  const counted = await begin('counting', ['custom', 'updates', 'values'], {
    webhook: `${receiver.url}/counted`,
  });
  const stored = await begin('counting', ['custom'], { durability: 'exit', streamResumable: true });
  const told = await begin('counting', ['events']);
  const spoken = await beginByCommand('counting');
  const within = await beginByCommand('nested');
  const older = await begin('older', ['custom']);
  const temporary = await api.client.runs.create(null, 'counting', { input, config });
  const drained = [counted, stored, told, spoken].map(({ run_id }) => run_id);
  const others = [within.run_id, older.run_id, temporary.run_id];
  const joined = api.client.runs.join(counted.thread_id, counted.run_id);
  const statuses = statusesOf(counted);
  await until('all are at work', () =>
    [...drained, ...others].every((id) => record.of(id).length > 2),
  );
  staying = await start(20);

  const asked = Date.now();
  expect(await leaving.kill()).toBe(0);
  await until('all go on', () =>
    [...drained, ...others].every((id) => record.of(id).at(-1)!.pid === staying.process.pid),
  );
  record.open();
  const streams = await Promise.all([counted.events, stored.events, told.events, older.events]);

  for (const id of drained) {
    const lines = record.of(id);
    expect(stepsOf(lines)).toEqual(upTo(lines.length));
    const { from, to } = moveOf(lines);
    // The step that was under way in the middle of the grace still ended there.
    expect(from.at - asked).toBeGreaterThan((GRACE * 1000) / 2 - 1000);
    expect(from.at - asked).toBeLessThan((GRACE * 1000) / 2 + 1000);
    // Whoever waits for the end of the grace comes later.
    expect(to.at - from.at).toBeLessThan((GRACE * 1000) / 2);
  }
  // These have the whole grace. Two lose the step that is cut off; the temporary one has stored nothing.
  for (const id of others)
    expect(moveOf(record.of(id)).from.at - asked).toBeGreaterThan(GRACE * 1000 - 1000);
  for (const id of [within.run_id, older.run_id]) {
    const { from, to } = moveOf(record.of(id));
    expect([from.step, from.step! + 1]).toContain(to.step);
  }

  for (const events of streams) expect(events.filter(({ event }) => event === 'error')).toEqual([]);
  const count = record.of(counted.run_id).length;
  expect(customOf(streams[0])).toEqual(upTo(count));
  expect(streams[0].filter(({ event }) => event === 'updates')).toHaveLength(count);
  expect(streams[0].at(-1)).toMatchObject({ event: 'values', data: { done: count } });
  expect(customOf(streams[1])).toEqual(upTo(record.of(stored.run_id).length));
  expect(await joined).toMatchObject({ done: count });
  // Whether a look meets the moment in the queue is a matter of luck.
  expect([...(await statuses)].filter((status) => status !== 'pending')).toEqual([
    'running',
    'success',
  ]);
  for (const events of await Promise.all([spoken.events, within.events])) {
    expect(lifecyclesOf(events).filter((event) => /failed|interrupted/.test(event))).toEqual([]);
    expect(lifecyclesOf(events).at(-1)).toBe('0 completed');
    expect(events.map(({ seq }) => seq)).toEqual(
      events.map(({ seq }) => seq).toSorted((a, b) => a - b),
    );
  }
  // The stream of one run goes on behind the step that ended, too.
  const heard = await spoken.events;
  expect(heardSteps(heard)).toEqual(upTo(record.of(spoken.run_id).length));
  expect(heard.findLast(({ method }) => method === 'values')).toMatchObject({
    params: { data: { done: record.of(spoken.run_id).length } },
  });
  await until('the webhook came', () => receiver.at('/counted').length > 0);
  expect(receiver.at('/counted').map(({ body }) => body.status)).toEqual(['success']);
  const rows = await database.sql<{ lost: number; status: string }>(
    'select distinct lost, status from gx.run',
  );
  expect(rows).toEqual([{ lost: 0, status: 'success' }]);
});
