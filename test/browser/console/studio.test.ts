import type { IncomingMessage, ServerResponse } from 'node:http';
import { json as bodyOf } from 'node:stream/consumers';
import axe from 'axe-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { hashAgentKey } from '../../../src/schema/wire/agent-key.ts';
import { passKeyOf, verifySignedPass } from '../../../src/tokens/agent-pass.ts';
import { consoleOfAgent, type ConsoleOfAgent } from './console-of-agent.ts';
import type { OpenConsole } from './open-console.ts';

/* The studio in front of a double of an agent, which writes whatever it likes. */

const KEY = 'gxa_of-the-studio';
const THREAD = '11111111-1111-4111-8111-111111111111';

let scene: ConsoleOfAgent;
let tab: OpenConsole;
let asked: string[] = [];
let roles: (string | undefined)[] = [];
let runs = 0;

const HOSTILE =
  '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>[a](javascript:window.hacked=1)';

const state = (checkpoint: string) => ({
  values: {
    messages: [
      { type: 'human', id: 'a', content: HOSTILE },
      {
        type: 'ai',
        id: 'b',
        content: `answer at ${checkpoint}`,
        tool_calls: [{ id: 't', name: 'search', args: { q: 1 } }],
      },
      { type: 'tool', id: 'c', tool_call_id: 't', content: 'found nothing' },
    ],
    topic: `of ${checkpoint}`,
  },
  next: checkpoint === 'c2' ? [] : ['say'],
  interrupts: [],
  created_at: '2026-01-01T00:00:00Z',
});

const checkpoint = (id: string, step: number) => ({
  checkpoint_id: id,
  parent_checkpoint_id: null,
  created_at: '2026-01-01T00:00:00Z',
  metadata: { source: 'loop', step },
  next: [],
});

const thread = (id: string, title: string) => ({
  thread_id: id,
  status: 'idle',
  updated_at: '2026-01-01T00:00:00Z',
  metadata: { title, graph_id: 'chat' },
  values: null,
});

type Answer = { body: unknown; headers?: Record<string, string> };

function answerTo(line: string, body: Record<string, unknown>): Answer {
  if (line === 'POST /threads/search' && body['cursor'] === undefined)
    return {
      body: [thread(THREAD, HOSTILE)],
      headers: { 'x-pagination-next': '50', 'x-pagination-cursor': 'behind-it' },
    };
  if (line === 'POST /threads/search')
    return { body: [thread('22222222-2222-4222-8222-222222222222', 'an older one')] };
  if (line === `GET /threads/${THREAD}`) return { body: thread(THREAD, 'x') };
  if (line === `GET /threads/${THREAD}/state`) return { body: state('c2') };
  if (line === `POST /threads/${THREAD}/history`)
    return {
      body: [...(runs > 0 ? [checkpoint('c3', 3)] : []), checkpoint('c2', 2), checkpoint('c1', 1)],
    };
  if (line.startsWith(`GET /threads/${THREAD}/state/`))
    return { body: state(line.split('/').at(-1)!) };
  if (line === `POST /threads/${THREAD}/runs`) runs += 1;
  if (line === `POST /threads/${THREAD}/runs`) return { body: { run_id: 'r1' } };
  return { body: {} };
}

async function answered(incoming: IncomingMessage, reply: ServerResponse): Promise<void> {
  const line = `${incoming.method} ${incoming.url}`;
  const body =
    incoming.method === 'POST' ? ((await bodyOf(incoming)) as Record<string, unknown>) : {};
  asked.push(
    incoming.method === 'POST' && line.endsWith('/runs') ? `${line} ${JSON.stringify(body)}` : line,
  );
  const pass = incoming.headers.authorization?.replace('Bearer ', '') ?? '';
  roles.push(verifySignedPass(pass, [passKeyOf(hashAgentKey(KEY))])?.role);
  const { body: sent, headers = {} } = answerTo(line, body);
  reply
    .writeHead(200, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(sent));
}

beforeAll(async () => {
  scene = await consoleOfAgent('console-studio', {
    key: KEY,
    answered: (incoming, reply) => void answered(incoming, reply),
  });
});
afterAll(() => scene?.stop());
beforeEach(() => {
  asked = [];
  roles = [];
});
afterEach(async () => {
  const { failures } = tab;
  if ((await tab.page.evaluate('window.hacked')) !== undefined)
    failures.push('a script of the agent ran');
  await tab.close();
  if (failures.length > 0) throw new Error(`The page has failed: ${failures.join(', ')}`);
});

async function open(rest = '', key = scene.plane.keys.write): Promise<void> {
  tab = await scene.stage.open(`d/${scene.deployment.id}/studio${rest}`);
  await tab.until('it is there', `document.querySelector('.top, [name=api_key]') !== null`);
  if ((await tab.text('h1')) === 'Sign in') await tab.signIn(key);
  await tab.resize(1280, 720);
}

test('threads are listed page by page, and what they say is text', async () => {
  await open();
  await tab.shows('<img src=x onerror=');
  expect(await tab.texts('.thread-list li')).toEqual([
    expect.stringContaining('<img src=x onerror='),
  ]);
  expect(await tab.page.evaluate(`document.querySelector('.thread-list a').title`)).toBe(THREAD);
  await tab.press('Older');
  await tab.shows('an older one');
  expect(await tab.texts('.thread-list li')).toHaveLength(1);
  await tab.press('Newer');
  await tab.shows('<img src=x onerror=');
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
});

test('a thread shows its messages, and its state at each checkpoint', async () => {
  await open(`/${THREAD}`);
  await tab.shows('answer at c2');
  const messages = await tab.texts('.messages > li');
  expect(messages).toEqual([
    expect.stringContaining('<script>'),
    expect.stringContaining('search'),
  ]);
  expect(
    await tab.page.evaluate(
      `document.querySelectorAll('.messages img, .messages script, .messages a').length`,
    ),
  ).toBe(0);
  await tab.press('History');
  await tab.shows('"of c2"');
  await tab.page.evaluate(
    `[...document.querySelectorAll('[role=option]')].find(({ innerText }) => innerText.includes('Step 1')).click()`,
  );
  await tab.shows('"of c1"');
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
});

test('a click runs from a checkpoint on, and shows where that ended', async () => {
  await open(`/${THREAD}`);
  await tab.press('History');
  await tab.shows('"of c2"');
  await tab.press('Run from here');
  await tab.shows('The run has ended.');
  await tab.shows('"of c3"');
  expect(asked).toContain(
    `POST /threads/${THREAD}/runs {"assistant_id":"chat","checkpoint_id":"c2","input":null}`,
  );
  expect(new Set(roles)).toEqual(new Set(['write']));
});

test('who may only read looks and does not run', async () => {
  await open(`/${THREAD}`);
  await tab.page.evaluate(
    `fetch('session', { method: 'DELETE', headers: { 'x-gx-console': '1' } })`,
  );
  await tab.close();
  await open(`/${THREAD}`, scene.plane.keys.read);
  await tab.shows('answer at');
  await tab.press('History');
  await tab.shows('Your key may only read.');
  await tab.shows('Run from here');
  expect(
    await tab.page.evaluate(
      `[...document.querySelectorAll('button')].find((one) => one.innerText === 'Run from here').disabled`,
    ),
  ).toBe(true);
  expect(roles.at(-1)).toBe('read');
});

test('a deployment that sleeps is shown as that, and its agent is not asked', async () => {
  const name = { namespace: scene.plane.namespace, name: 'chat' };
  await scene.plane.kube.patchStatus(kinds.deployment, name, {
    asleepSince: '2026-01-01T00:00:00Z',
    conditions: [],
  });
  await open();
  await tab.shows('Opening this page does not wake it.');
  expect(asked).toEqual([]);
});
