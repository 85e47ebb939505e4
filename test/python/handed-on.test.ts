import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL, isRunEnd, WireThread, type ReadEvent } from '../agent/event-streaming/client.ts';
import { openRecord, type Line } from '../agent/wire/stopping/record.ts';
import type { AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { startPython } from './agent.ts';

/*
 * A worker is told to stop while Python graphs run that take longer than its grace. Another worker is there.
 * test/agent/wire/handed-on.test.ts does the same with graphs in JavaScript.
 */

const GRACE = 4;
const record = openRecord();

let database: TestDatabase;
let leaving: AgentProcess;
let staying: AgentProcess;

const start = (slots: number): Promise<AgentProcess> =>
  startPython(database.uri, { N_JOBS_PER_WORKER: String(slots), GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS: String(GRACE) });

let api: AgentProcess;

beforeAll(async () => {
  database = await freshDatabase();
  [api, leaving] = await Promise.all([start(0), start(20)]);
});
afterAll(async () => {
  await Promise.all([api.kill('SIGKILL'), staying.kill('SIGKILL')]);
  await database.drop();
  record.remove();
});

const input = { journal: record.journal, gate: record.gate };
const config = { recursion_limit: 10_000 };

type Event = { event: string; data: unknown };
type Begun = { run_id: string; events: Promise<Event[]> };

/** Starts a run of the graph, and reads its stream to the end. */
async function begin(graph: string, streamMode: ('custom' | 'updates' | 'values' | 'events')[], more: object = {}): Promise<Begun> {
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
  return { run_id: await created.promise, events };
}

/** Starts a run by event streaming, and reads its events to its end. */
async function beginByCommand(graph: string): Promise<{ run_id: string; events: Promise<ReadEvent[]> }> {
  const thread = new WireThread(api.url, randomUUID());
  const { result } = await thread.command('run.start', { assistant_id: graph, input, config });
  return { run_id: (result as { run_id: string }).run_id, events: thread.read({ channels: ALL }, isRunEnd) };
}

/** Returns the last step here and the first one there. */
function moveOf(lines: Line[]): { from: Line; to: Line } {
  const at = lines.findIndex(({ pid }) => pid !== lines[0]!.pid);
  return { from: lines[at - 1]!, to: lines[at]! };
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);
const dataOf = (events: ReadEvent[], method: string): Record<string, unknown>[] =>
  events.filter((event) => event.method === method && event.params.namespace.length === 0).map(({ params }) => params.data);
const customOf = (events: Event[]): unknown[] => events.filter(({ event }) => event === 'custom').map(({ data }) => (data as Line).step);

test('runs go on at another worker from the middle of the grace, no step of theirs is done twice, and readers hear no end before the end', async () => {
  const counted = await begin('counting', ['custom', 'updates', 'values']);
  const stored = await begin('counting', ['custom'], { durability: 'exit', streamResumable: true });
  const told = await begin('counting', ['events']);
  const spoken = await beginByCommand('counting');
  const within = await begin('nested', ['updates']);
  const spokenWithin = await beginByCommand('nested');
  const older = await begin('older', ['custom']);
  const drained = [counted, stored, told, spoken].map(({ run_id }) => run_id);
  const others = [within, spokenWithin, older].map(({ run_id }) => run_id);
  await until('all are at work', () => [...drained, ...others].every((id) => record.of(id).length > 2));
  staying = await start(20);

  const asked = Date.now();
  expect(await leaving.kill()).toBe(0);
  await until('all go on', () => [...drained, ...others].every((id) => new Set(record.of(id).map(({ pid }) => pid)).size === 2));
  record.open();
  const streams = await Promise.all([counted, stored, told, within, older].map(({ events }) => events));

  for (const id of drained) {
    const lines = record.of(id);
    expect(lines.map(({ step }) => step)).toEqual(upTo(lines.length));
    const { from, to } = moveOf(lines);
    // The step that was under way in the middle of the grace still ended there.
    expect(from.at - asked).toBeGreaterThan((GRACE * 1000) / 2 - 1000);
    expect(from.at - asked).toBeLessThan((GRACE * 1000) / 2 + 1000);
    expect(to.at - from.at).toBeLessThan(1500);
  }
  // These have the whole grace, and lose the step that is cut off.
  for (const id of others) {
    const { from, to } = moveOf(record.of(id));
    expect(from.at - asked).toBeGreaterThan(GRACE * 1000 - 1000);
    expect([from.step, from.step! + 1]).toContain(to.step);
  }

  for (const events of streams) expect(events.filter(({ event }) => event === 'error')).toEqual([]);
  const count = record.of(counted.run_id).length;
  expect(customOf(streams[0]!)).toEqual(upTo(count));
  expect(streams[0]!.filter(({ event }) => event === 'updates')).toHaveLength(count);
  expect(streams[0]!.at(-1)).toMatchObject({ event: 'values', data: { done: count } });
  expect(customOf(streams[1]!)).toEqual(upTo(record.of(stored.run_id).length));
  const heard = await spoken.events;
  const steps = record.of(spoken.run_id).length;
  expect(dataOf(heard, 'lifecycle').map(({ event }) => event)).toEqual(['running', 'running', 'completed']);
  expect(dataOf(heard, 'custom').map(({ payload }) => (payload as Line).step)).toEqual(upTo(steps));
  // The attempt that goes on begins by the state that it finds.
  const values = dataOf(heard, 'values').map(({ done = 0 }) => done as number);
  expect(values.toSorted((a, b) => a - b)).toEqual(values);
  expect([...new Set(values)]).toEqual(upTo(steps + 1));
  expect(values).toHaveLength(steps + 2);
  expect(dataOf(heard, 'updates')).toHaveLength(steps);
  const ends = dataOf(await spokenWithin.events, 'lifecycle').map(({ event }) => event);
  expect(ends.filter((event) => event === 'failed' || event === 'interrupted')).toEqual([]);
  expect(ends.at(-1)).toBe('completed');
  const rows = await database.sql<{ lost: number; status: string }>('select distinct lost, status from gx.run');
  expect(rows).toEqual([{ lost: 0, status: 'success' }]);
});
