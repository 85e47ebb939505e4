import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { eventsOf, newInput, post, readEvents, readText, typesOf, type Event } from './kit.ts';

/* A page that comes back, in another process than the one that the run began in, and runs that are stopped. */

let agents: AgentProcess[];
let database: Awaited<ReturnType<typeof freshDatabase>>;

let folder: string;
let beats: string;

beforeAll(async () => {
  database = await freshDatabase();
  folder = mkdtempSync(join(tmpdir(), 'gx-beats-'));
  beats = join(folder, 'beats');
  const config = 'test/agent/ag-ui/graphs/gx.json';
  const env = { GX_TEST_BEATS: beats };
  agents = [
    await startAgent({ database: database.uri, config, env }),
    await startAgent({ database: database.uri, config, env }),
  ];
});

afterAll(async () => {
  for (const agent of agents) await agent.kill();
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Waits until the code of the graph writes nothing any more, and checks that this took a second at most. */
async function checkStopped(stoppedAt: number): Promise<void> {
  let [size, grewAt] = [0, stoppedAt];
  while (performance.now() - grewAt < 250 || performance.now() - stoppedAt < 250) {
    const now = statSync(beats).size;
    if (now !== size) [size, grewAt] = [now, performance.now()];
    await wait(20);
  }
  expect(grewAt - stoppedAt).toBeLessThan(1000);
}

type Input = { threadId: string; runId: string; messages: object[] };

const door = (at: 0 | 1, path = ''): string => `${agents[at]!.url}/ag-ui/chat${path}`;
const stateOf = async (
  threadId: string,
): Promise<{ messages: { id: string; type: string; content: unknown }[]; items: string[] }> =>
  ((await (await fetch(`${agents[0]!.url}/threads/${threadId}/state`)).json()) as { values: never })
    .values;
const runsOf = async (threadId: string): Promise<{ status: string }[]> =>
  (await (await fetch(`${agents[0]!.url}/threads/${threadId}/runs`)).json()) as {
    status: string;
  }[];

/** Begins a run that goes on without its client. Returns its input, and its events up to the given number of texts. */
async function begin(
  text: string,
  texts: number,
): Promise<{ input: Input; told: Event[]; lastId: string; rest: Promise<Event[]> }> {
  const input = newInput(text) as Input;
  const answer = await post(`${door(0)}?on_disconnect=continue`, input);
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let read = '';
  const readOn = async (isEnough: () => boolean): Promise<void> => {
    while (!isEnough()) {
      const { value, done } = await reader.read();
      if (done) return;
      read += value;
    }
  };
  await readOn(() => read.split('TEXT_MESSAGE_CONTENT').length > texts);
  const whole = read.slice(0, read.lastIndexOf('\n\n') + 2);
  const told = readEvents(whole);
  const lastId = [...whole.matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
  const rest = readOn(() => false).then(() => readEvents(read));
  return { input, told, lastId, rest };
}

/** Returns the texts of the messages that a client has by these events. */
function shownBy(events: Event[]): Record<string, string> {
  const shown = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'MESSAGES_SNAPSHOT') {
      shown.clear();
      for (const { id, content } of event['messages'] as { id: string; content?: unknown }[])
        shown.set(id, readText(content ?? ''));
    }
    if (event.type === 'TEXT_MESSAGE_CONTENT')
      shown.set(
        String(event['messageId']),
        (shown.get(String(event['messageId'])) ?? '') + String(event['delta']),
      );
  }
  return Object.fromEntries(shown);
}

test('a page that comes back in the middle of a text has in the end what one has that never left', async () => {
  const { input, rest } = await begin('slow', 5);
  const joined = await eventsOf(door(1, '/connect'), { ...input, messages: [] });
  expect(joined.at(-1)).toMatchObject({
    type: 'RUN_FINISHED',
    threadId: input.threadId,
    runId: input.runId,
    outcome: { type: 'success' },
  });
  const { messages } = await stateOf(input.threadId);
  const expected = Object.fromEntries(messages.map(({ id, content }) => [id, readText(content)]));
  expect(shownBy(joined)).toEqual(expected);
  const whole = await rest;
  const [said] = input.messages as { id: string; content: string }[];
  expect({ [said!.id]: said!.content, ...shownBy(whole) }).toEqual(expected);
  expect(joined.filter(({ type }) => type === 'STATE_SNAPSHOT').at(-1)).toMatchObject({
    snapshot: { items: ['turn 1'] },
  });
});

test('a client that names its last event gets those behind it, and none twice', async () => {
  const { input, told, lastId, rest } = await begin('slow', 10);
  const answer = await post(
    door(1, '/connect'),
    { ...input, messages: [] },
    { 'last-event-id': lastId },
  );
  const text = await answer.text();
  const ids = [...text.matchAll(/^id: (.+)$/gm)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).not.toContain(lastId);
  const texts = (events: Event[]): number =>
    events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').length;
  expect(texts(told) + texts(readEvents(text))).toBe(40);
  expect(texts(await rest)).toBe(40);
});

test('a thread that rests, and one that nobody knows, are told as they are, and no run is made', async () => {
  const input = newInput('hello') as Input;
  await eventsOf(door(0), input);
  const rests = await eventsOf(door(1, '/connect'), { ...input, messages: [] });
  expect(typesOf(rests)).toEqual([
    'RUN_STARTED',
    'MESSAGES_SNAPSHOT',
    'STATE_SNAPSHOT',
    'RUN_FINISHED',
  ]);
  expect(Object.values(shownBy(rests))).toEqual(['hello', 'You said: hello']);
  expect(await runsOf(input.threadId)).toHaveLength(1);
  const unknown = await eventsOf(door(1, '/connect'), newInput('', { messages: [] }));
  expect(typesOf(unknown)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
});

test('a question is told to a page that comes back', async () => {
  const input = newInput('go') as Input;
  await eventsOf(`${agents[0]!.url}/ag-ui/approval`, input);
  const told = await eventsOf(`${agents[1]!.url}/ag-ui/approval/connect`, {
    ...input,
    messages: [],
  });
  expect(told.at(-1)).toMatchObject({
    outcome: { type: 'interrupt', interrupts: [{ message: 'May I?' }] },
  });
});

test.each([
  ['by /stop', (input: Input) => post(door(1, '/stop'), { threadId: input.threadId })],
  [
    'by /stop with its own name',
    (input: Input) => post(door(1, '/stop'), { threadId: input.threadId, runId: input.runId }),
  ],
  [
    'over REST',
    async (input: Input) => {
      const [run] = (await runsOf(input.threadId)) as unknown as { run_id: string }[];
      return fetch(`${agents[1]!.url}/threads/${input.threadId}/runs/${run!.run_id}/cancel`, {
        method: 'POST',
      });
    },
  ],
])(
  'a run that is stopped %s ends as cancelled, with everything closed, and its code stops',
  async (_, stop) => {
    const { input, rest } = await begin('slow slow', 3);
    const stoppedAt = performance.now();
    expect((await stop(input)).ok).toBe(true);
    const events = await rest;
    await checkStopped(stoppedAt);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } });
    expect(events.filter(({ type }) => type === 'TEXT_MESSAGE_END')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'STEP_FINISHED')).toHaveLength(1);
  },
);

test('the same request at several processes at once is one run, and with an answer it is another one', async () => {
  const input = newInput('go', { runId: 'the same' }) as Input;
  const ask = (at: 0 | 1, body: object): Promise<Event[]> =>
    eventsOf(`${agents[at]!.url}/ag-ui/approval`, body);
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, at) => ask(at % 2 === 0 ? 0 : 1, input)),
  );
  const questions = all.map(
    (events) => (events.at(-1)!['outcome'] as { interrupts: { id: string }[] }).interrupts[0]!.id,
  );
  expect(new Set(questions).size).toBe(1);
  expect(await runsOf(input.threadId)).toHaveLength(1);
  const resume = [{ interruptId: questions[0], status: 'resolved', payload: 'yes' }];
  const answered = await ask(1, { ...input, resume });
  expect(answered.at(-1)).toMatchObject({ outcome: { type: 'success' } });
  expect(await runsOf(input.threadId)).toHaveLength(2);
});

test('a stop of what does not run says so, and one of an unknown thread is 404', async () => {
  const input = newInput('hello') as Input;
  await eventsOf(door(0), input);
  expect(await (await post(door(0, '/stop'), { threadId: input.threadId })).json()).toEqual({
    stopped: false,
  });
  expect((await post(door(0, '/stop'), { threadId: randomUUID() })).status).toBe(404);
});

test('a client that leaves before its run is made stops it, too', async () => {
  const input = newInput('hello') as Input;
  await eventsOf(door(0), input);
  const postgres = new Client({ connectionString: database.uri });
  await postgres.connect();
  await postgres.query('begin');
  await postgres.query('select 1 from gx.thread where thread_id = $1 for update', [input.threadId]);
  const leaving = new AbortController();
  const more = newInput('slow slow', { threadId: input.threadId });
  const answer = post(door(0), more, {}, leaving.signal).catch(() => undefined);
  await until('the run waits for its thread', async () => {
    const { rowCount } = await postgres.query(
      "select 1 from pg_locks where not granted and locktype in ('transactionid', 'tuple')",
    );
    return rowCount === 0 ? undefined : true;
  });
  leaving.abort();
  await answer;
  await wait(100);
  await postgres.query('commit');
  await postgres.end();
  await expect.poll(async () => (await runsOf(input.threadId))[0]!.status).toBe('interrupted');
});

test('a client that leaves stops its run, unless it says otherwise', async () => {
  for (const [query, status] of [
    ['', 'interrupted'],
    ['?on_disconnect=continue', 'running'],
  ] as const) {
    const input = newInput('slow') as Input;
    const leaving = new AbortController();
    const answer = await post(door(0) + query, input, {}, leaving.signal);
    const reader = answer.body!.getReader();
    await reader.read();
    await vi.waitFor(
      async () => expect((await runsOf(input.threadId))[0]!.status).toBe('running'),
      { timeout: 5000 },
    );
    const leftAt = performance.now();
    leaving.abort();
    await reader.read().catch(() => undefined);
    if (status === 'interrupted') await checkStopped(leftAt);
    else await wait(1200);
    expect((await runsOf(input.threadId))[0]!.status).toBe(status);
  }
});
