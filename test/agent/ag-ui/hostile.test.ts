import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { newInput, post, readEvents } from './kit.ts';
import { Chance } from './plays/acts.ts';

/*
 * Bodies in which something is not as it should be, a few of the many that GX_BODIES=1000 sends. Each is refused before
 * a stream begins, or its stream is one of the protocol with one end; and the server answers the next one.
 */

const BODIES = Number(process.env['GX_BODIES'] ?? 40);

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/ag-ui/graphs/gx.json',
    env: { GX_LOG_LEVEL: 'fatal' },
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

const call = (id: string, args: string): object => ({
  id,
  type: 'function',
  function: { name: 'search', arguments: args },
});

/** A body with all that a request may have. */
const makeBody = (threadId: string): object =>
  newInput('', {
    threadId,
    parentRunId: randomUUID(),
    state: { items: ['a'], note: 'n' },
    messages: [
      { id: 's', role: 'system', content: 'Be brief.' },
      { id: 'u', role: 'user', content: [{ type: 'text', text: 'calls' }] },
      { id: 'r', role: 'reasoning', content: 'Hm.', encryptedValue: 'x' },
      { id: 'a', role: 'assistant', content: 'I look.', toolCalls: [call('c', '{"query":"x"}')] },
      { id: 't', role: 'tool', toolCallId: 'c', content: 'found x', error: 'late' },
      { id: 'p', role: 'activity', activityType: 'PLAN', content: { steps: [] } },
      {
        id: 'i',
        role: 'user',
        content: [{ type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'a/b' } }],
      },
      { id: randomUUID(), role: 'user', content: 'go on' },
    ],
    tools: [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }],
    context: [{ description: 'where', value: 'here' }],
    forwardedProps: {
      config: { configurable: { colour: 'red' } },
      context: { user: 'ann' },
      metadata: { kind: 'test' },
      command: { resume: 1 },
    },
    resume: [{ interruptId: 'q', status: 'resolved', payload: { a: 1 } }],
  });

const nest = (depth: number): unknown => (depth === 0 ? [] : [nest(depth - 1)]);

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  '',
  ' ',
  'breakpoint:send',
  'forwarded_to_frontend',
  '__proto__',
  '2.0',
  '1.99',
  'a\u{0}b',
  '\u{D800}',
  '\r\n\r\ndata: {"type":"RUN_ERROR"}\n\n',
  '🎈'.repeat(300),
  [],
  {},
  [null],
  [[]],
  { id: null },
  { thread_id: randomUUID(), checkpoint_id: 'x' },
  { configurable: { thread_id: randomUUID(), checkpoint_ns: 'x|y', __pregel_read: 1 } },
  [{ id: 'a', role: 'assistant' }],
  [{ type: 'text', text: 5 }, 7, { type: 'image', source: { type: 'file', value: 'f' } }],
  nest(200),
];

const KEYS = ['__proto__', 'constructor', 'toJSON', 'type', 'messages', '', 'a.b', 'x'.repeat(999)];

type Place = { holder: Record<string, unknown>; key: string };

function listPlaces(holder: object): Place[] {
  return Object.entries(holder).flatMap(([key, value]: [string, unknown]) => [
    { holder: holder as Record<string, unknown>, key },
    ...(typeof value === 'object' && value !== null ? listPlaces(value) : []),
  ]);
}

/** Changes one to three things anywhere in a body, and sometimes its text. */
function mutate(chance: Chance, body: object): string {
  for (let left = 1 + chance.below(3); left > 0; left -= 1) {
    const { holder, key } = chance.oneOf(listPlaces(body));
    const way = chance.below(5);
    if (way === 0 && !Array.isArray(holder)) Reflect.deleteProperty(holder, key);
    else if (way === 1 && Array.isArray(holder)) holder.push(structuredClone(holder[Number(key)]));
    else if (way === 2 && Array.isArray(holder)) holder.reverse();
    else if (way === 3 && !Array.isArray(holder))
      Object.defineProperty(holder, chance.oneOf(KEYS), {
        value: chance.oneOf(VALUES),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    else holder[key] = structuredClone(chance.oneOf(VALUES));
  }
  const text = JSON.stringify(body);
  return chance.isLikely(0.1) ? text.slice(0, chance.below(text.length)) : text;
}

/** Returns what is wrong with an answer; undefined for one as it should be. */
function findFault(status: number, type: string, text: string): string | undefined {
  if (status >= 500) return 'a failure of the server';
  if (status !== 200) return type.startsWith('application/json') ? undefined : `refused as ${type}`;
  try {
    const ends = readEvents(text).filter(
      (event) => event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR',
    );
    return ends.length === 1 ? undefined : `${ends.length} ends`;
  } catch (error) {
    return String(error);
  }
}

test('a body that is not as it should be is refused with a sentence, or its stream is whole', async () => {
  const faults: string[] = [];
  const answers: Record<number, number> = {};
  const threads = [randomUUID(), randomUUID()];
  for (let seed = 1; seed <= BODIES; seed += 1) {
    const chance = new Chance(seed);
    const body = mutate(chance, makeBody(chance.oneOf([...threads, randomUUID()])));
    const graph = chance.oneOf(['chat', 'shared', 'approval', 'paused']);
    const reply = await post(
      `${agent.url}/ag-ui/${graph}${chance.oneOf(['', '', '', '/connect'])}`,
      body,
    );
    const text = await reply.text();
    const fault = findFault(reply.status, reply.headers.get('content-type') ?? '', text);
    answers[reply.status] = (answers[reply.status] ?? 0) + 1;
    if (fault !== undefined)
      faults.push(`seed ${seed}: ${fault}\n${reply.status} ${text.slice(0, 2000)}\n${body}`);
  }
  expect(faults).toEqual([]);
  expect(Object.keys(answers)).toEqual(expect.arrayContaining(['200', '422']));
  expect((await post(`${agent.url}/ag-ui/chat`, newInput('hello'))).status).toBe(200);
});
