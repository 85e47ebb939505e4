import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/agent/db/base/pool.ts';
import { deleteOldProtocolEvents } from '../../../src/agent/db/events/protocol-events.ts';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';
import { startAgent } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { silentLog } from '../../kit/log.ts';
import { ALL, isRunEnd, WireThread, type ReadEvent } from './client.ts';
import { capturedLines, lines } from './wire.ts';

/* Event streaming over SSE, with readers in one process and runs in another. */

const GRAPHS = 'test/agent/event-streaming/graphs/gx.json';

let pair: AgentPair;
let db: Database;

beforeAll(async () => {
  pair = await startPair({ GX_JOB_LEASE_SECS: '6' }, GRAPHS);
  db = openDatabase(
    { uri: pair.database.uri, poolSize: 2, statementTimeoutSeconds: 60, name: 'test' },
    silentLog(),
  );
});

afterAll(async () => {
  await db.close();
  await pair.stop();
});

const newThread = (): WireThread & { id: string } => {
  const id = randomUUID();
  return Object.assign(new WireThread(pair.api.url, id), { id });
};

const seqs = (events: ReadEvent[]): number[] => events.map(({ seq }) => seq);
const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);
const count = (left: number, pause = 0): object => ({
  assistant_id: 'counter',
  input: { left, pause },
});

test('a thread that does not exist yet is followed from its first event, through a question and its answer', async () => {
  const thread = newThread();
  const first = thread.read({ channels: ALL }, isRunEnd);
  await wait(300);
  const input = { messages: [], value: 'init', items: [] };
  const started = await thread.command('run.start', { assistant_id: 'agent', input });
  expect(started).toEqual({
    type: 'success',
    id: 1,
    result: { run_id: expect.any(String) as string },
    meta: { applied_through_seq: 0 },
  });
  const events = await first;
  expect(seqs(events)).toEqual(upTo(events.length));
  expect(events.at(-1)!.params.data).toEqual({ event: 'interrupted', graph_name: 'agent' });
  const asked = events.find(({ method }) => method === 'input.requested')!.params.data;
  expect(asked).toMatchObject({ payload: 'Are we good?' });
  const second = thread.read({ channels: ALL, since: events.length }, isRunEnd);
  const answer = { interrupt_id: asked['interrupt_id'], namespace: [], response: 'yes' };
  expect(await thread.command('input.respond', answer)).toMatchObject({
    type: 'success',
    result: {},
  });
  const later = await second;
  expect(later.at(-1)!.params.data).toEqual({ event: 'completed', graph_name: 'agent' });
  const again = await thread.read({ channels: ALL }, ({ seq }) => seq === later.at(-1)!.seq);
  expect(again).toEqual([...events, ...later]);
  const lifecycle = (all: string[]): string[] => all.filter((line) => line.startsWith('lifecycle'));
  expect(lifecycle(lines(again))).toEqual(lifecycle(capturedLines('approval')));
});

describe('a reader', () => {
  test('gets the channels, namespaces and depth that it asks for, under the same numbers', async () => {
    const thread = newThread();
    await thread.command('run.start', {
      assistant_id: 'agent',
      input: { messages: [], items: [] },
    });
    const all = await thread.read({ channels: ALL }, isRunEnd);
    const end = all.at(-1)!;
    const isEnd = ({ seq }: ReadEvent): boolean => seq === end.seq;
    const values = await thread.read({ channels: ['values', 'lifecycle'] }, isEnd);
    expect(values).toEqual(all.filter(({ method }) => ['values', 'lifecycle'].includes(method)));
    const named = await thread.read(
      { channels: ['custom:progress', 'lifecycle'], namespaces: [[]], depth: 0 },
      isEnd,
    );
    expect(named.filter(({ method }) => method === 'custom').length).toBeGreaterThan(0);
    expect(await thread.read({ channels: ['custom:other', 'lifecycle'] }, isEnd)).toEqual(
      all.filter(({ method }) => method === 'lifecycle'),
    );
  });

  test('goes on behind a number, an event id, or the last event of its connection', async () => {
    const thread = newThread();
    await thread.command('run.start', count(3));
    const all = await thread.read({ channels: ALL }, isRunEnd);
    const rest = all.slice(4);
    expect(await thread.read({ channels: ALL, since: 4 }, isRunEnd)).toEqual(rest);
    for (const id of ['4', all[3]!.event_id])
      expect(await thread.read({ channels: ALL }, isRunEnd, { 'last-event-id': id })).toEqual(rest);
  });

  test('sees runs that follow each other, and runs under way, without a hole', async () => {
    const thread = newThread();
    await Promise.all([
      thread.command('run.start', count(3, 30)),
      thread.command('run.start', count(2, 30)),
    ]);
    let ends = 0;
    const all = await thread.read(
      { channels: ALL },
      (event) => isRunEnd(event) && (ends += 1) === 2,
    );
    expect(seqs(all)).toEqual(upTo(all.length));
    expect(new Set(all.map(({ event_id }) => event_id)).size).toBe(all.length);
    expect(all.filter(({ params }) => params.data['event'] === 'running')).toHaveLength(2);
  });

  test('is told how a run ends that fails, or is stopped', async () => {
    const thread = newThread();
    await thread.command('run.start', { assistant_id: 'counter', input: { left: -1 } });
    const failed = await thread.read({ channels: ['lifecycle'] }, isRunEnd);
    expect(failed.at(-1)!.params.data).toEqual({
      event: 'failed',
      graph_name: 'counter',
      error: 'There is nothing to count.',
    });
    const { result } = await thread.command('run.start', count(100, 100));
    const rest = thread.read({ channels: ['lifecycle'], since: failed.at(-1)!.seq }, isRunEnd);
    await wait(300);
    await pair.api.client.runs.cancel(
      thread.id,
      (result as { run_id: string }).run_id,
      true,
      'rollback',
    );
    expect((await rest).map(({ params }) => params.data['event'])).toEqual([
      'running',
      'interrupted',
    ]);
    await thread.command('run.start', count(1));
    let ends = 0;
    const all = await thread.read(
      { channels: ALL },
      (event) => isRunEnd(event) && (ends += 1) === 3,
    );
    expect(seqs(all)).toEqual(upTo(all.length));
  });

  test('that comes when the events are gone gets the state and the status, and what comes after', async () => {
    const thread = newThread();
    await thread.command('run.start', count(2));
    const all = await thread.read({ channels: ALL }, isRunEnd);
    const last = all.length;
    await until(
      'the run has ended',
      async () => (await pair.api.client.threads.get(thread.id)).status === 'idle',
    );
    await deleteOldProtocolEvents(db, { lifeSeconds: 0 });
    const late = await thread.read({ channels: ALL }, isRunEnd);
    expect(late.map(({ seq, method, params }) => [seq, method, params.data])).toEqual([
      [last - 1, 'values', { left: 0, pause: 0, texts: ['2', '1'] }],
      [last, 'lifecycle', { event: 'completed', graph_name: 'counter' }],
    ]);
    expect(await thread.read({ channels: ALL }, isRunEnd)).toEqual(late);
    const gap = await thread.read({ channels: ALL, since: 2 }, isRunEnd);
    expect(gap[0]).toMatchObject({ type: 'error', id: null, error: 'resume_gap' });
    expect(gap.slice(1)).toEqual(late);
    const next = thread.read({ channels: ALL, since: last }, isRunEnd);
    await thread.command('run.start', count(1));
    expect((await next)[0]!.seq).toBe(last + 1);
  });

  test('loses nothing and gets nothing twice when the worker dies', async () => {
    const thread = newThread();
    const worker = await startAgent({
      database: pair.database.uri,
      config: GRAPHS,
      env: { N_JOBS_PER_WORKER: '5', GX_JOB_LEASE_SECS: '6' },
    });
    const direct = new WireThread(worker.url, thread.id);
    await direct.command('run.start', count(24, 200));
    const reading = thread.read({ channels: ALL }, isRunEnd);
    await wait(1500);
    await worker.kill('SIGKILL');
    const all = await reading;
    expect(seqs(all)).toEqual(upTo(all.length));
    expect(all.at(-1)!.params.data).toMatchObject({ event: 'completed' });
    expect(all.filter(({ method }) => method === 'values').at(-1)!.params.data).toMatchObject({
      left: 0,
    });
    expect(await thread.read({ channels: ALL }, isRunEnd)).toEqual(all);
  }, 60_000);
});

describe('the older streams', () => {
  test('carry no protocol events, and their runs give none', async () => {
    const thread = newThread();
    const { result } = await thread.command('run.start', count(1));
    await thread.read({ channels: ALL }, isRunEnd);
    const { run_id } = result as { run_id: string };
    const joined = await Array.fromAsync(
      pair.api.client.runs.joinStream(thread.id, run_id, { lastEventId: '-1' }),
    );
    expect(joined.map(({ event }) => event)).toEqual(['metadata']);
    await pair.api.client.runs.wait(thread.id, 'counter', { input: { left: 1, pause: 0 } });
    await thread.command('run.start', count(1));
    let ends = 0;
    const all = await thread.read(
      { channels: ALL },
      (event) => isRunEnd(event) && (ends += 1) === 2,
    );
    expect(seqs(all)).toEqual(upTo(all.length));
  });
});

test('a request that is none is refused', async () => {
  const thread = newThread();
  expect((await thread.post('/stream/events', { channels: ['nope'] })).status).toBe(400);
  expect((await thread.post('/stream/events', { channels: [] })).status).toBe(422);
  expect((await thread.post('/stream/events', {})).status).toBe(422);
  expect((await thread.post('/stream/events', { channels: ['values'], since: -1 })).status).toBe(
    422,
  );
  expect(
    (await new WireThread(pair.api.url, 'x').post('/stream/events', { channels: ['values'] }))
      .status,
  ).toBe(422);
});
