import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { appendEvents, readEvents, type StoredEvent } from '../../../src/agent/db/events/events.ts';
import { freshOpenDatabase, type OpenDatabase } from '../../kit/postgres-opened.ts';

let on: OpenDatabase;

beforeAll(async () => {
  on = await freshOpenDatabase();
});

afterAll(() => on.drop());

test('events that a worker that had lost its run wrote stay, and those behind them are added', async () => {
  const [run_id, thread_id] = [randomUUID(), randomUUID()];
  const event = (seq: number, by: string): StoredEvent => ({
    run_id,
    thread_id,
    ms: 1,
    seq,
    event: 'custom',
    json: JSON.stringify(by),
  });
  const settings = { wake: [], lifeSeconds: 60 };
  await appendEvents(on.db, [event(1, 'first'), event(2, 'first')], settings);
  await appendEvents(on.db, [event(2, 'second'), event(3, 'second')], settings);
  const events = await readEvents(on.db, run_id, { after: { ms: 0, seq: 0 }, limit: 10 });
  expect(events.map(({ seq, json }) => [seq, JSON.parse(json)])).toEqual([
    [1, 'first'],
    [2, 'first'],
    [3, 'second'],
  ]);
});
