import { resolve } from 'node:path';
import axe from 'axe-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { launch, type Browser } from './chromium.ts';
import { OpenConsole } from './console/open-console.ts';
import { startDev, type DevServer } from './dev-server.ts';

/* The lists of the studio in a real browser, in front of a real agent server. */

const HOSTILE = '<img src=x onerror="window.hacked=1">';

let dev: DevServer;
let browser: Browser;
let tab: OpenConsole;

beforeAll(async () => {
  const index = { embed: `${resolve('test/browser/graphs/embed.ts')}:embed`, dims: 2 };
  dev = await startDev({
    graphs: { chat: 'test/browser/graphs/chat.ts:chat', failing: 'test/browser/graphs/failing.ts:failing' },
    dotEnv: '',
    more: { store: { index } },
  });
  const { chromium, packages } = inject('browser');
  browser = await launch(chromium, packages);
});
afterAll(async () => {
  await browser?.close();
  await dev?.stop();
});
beforeEach(async () => {
  tab = await OpenConsole.open(browser, `${dev.url}/studio`);
});
afterEach(async () => {
  const { failures } = tab;
  if ((await tab.page.evaluate('window.hacked')) !== undefined) failures.push('a script of the agent ran');
  await tab.close();
  if (failures.length > 0) throw new Error(`The page has failed: ${failures.join(', ')}`);
});

async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${dev.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as Answer;
}

const choose = (select: string, value: string): Promise<void> =>
  tab.page.evaluate(`(() => {
    const select = document.querySelector('${select}');
    select.value = '${value}';
    select.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
const write = (field: string, text: string): Promise<void> =>
  tab.page.evaluate(`(() => {
    const field = document.querySelector('${field}');
    field.value = ${JSON.stringify(text)};
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
  })()`);

test('an assistant shows its versions, and the changes between two of them', async () => {
  const { assistant_id: id } = await call<{ assistant_id: string }>('POST', '/assistants', {
    graph_id: 'chat',
    name: `Helper ${HOSTILE}`,
    context: { tone: 'dry' },
  });
  await call('PATCH', `/assistants/${id}`, { context: { tone: 'warm' } });
  await call('PATCH', `/assistants/${id}`, { context: { tone: 'warm' }, description: 'the third' });
  await tab.press('Assistants');
  await tab.press(`Helper ${HOSTILE}`);
  await tab.press('2', '.record');
  await tab.until('it is compared', `document.querySelector('.changes') !== null`);
  expect(await tab.texts('.changes tbody tr')).toEqual([
    expect.stringMatching(/^config\.configurable\.tone\s+"dry"\s+"warm"$/),
    expect.stringMatching(/^context\.tone\s+"dry"\s+"warm"$/),
  ]);
  await choose('[name=version]', '3');
  await tab.until('it is compared', `document.querySelector('.changes')?.innerText.includes('the third')`);
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
});

test('a run shows what it really used, its webhook, and what people thought of it', async () => {
  const { assistant_id: id } = await call<{ assistant_id: string }>('POST', '/assistants', { graph_id: 'chat' });
  await call('PATCH', `/assistants/${id}`, { context: { tone: 'dry' } });
  const { thread_id: thread } = await call<{ thread_id: string }>('POST', '/threads', {});
  const input = { messages: [{ type: 'human', content: 'hi' }], words: 1, pause: 0, asks: false };
  const body = { assistant_id: id, input, webhook: 'http://127.0.0.1:9/done', feedback_keys: ['taste'], config: { tags: ['mine'] } };
  const ended = await call<{ __feedback__: { taste: string } }>('POST', `/threads/${thread}/runs/wait`, body);
  const [listed] = await call<object[]>('GET', `/threads/${thread}/runs`);
  expect(listed).toMatchObject({ attempt: 1, revision: null, kwargs: { assistant_version: 2 } });
  await call('POST', new URL(ended['__feedback__'].taste, dev.url).pathname, { score: 1, comment: `good ${HOSTILE}` });
  await tab.page.evaluate(`location.hash = '#/${thread}'`);
  await tab.press('Runs');
  await tab.until('it is listed', `document.querySelector('tbody tr') !== null`);
  expect(await tab.text('tbody tr')).toMatch(/success[^]*(?:pending|failed)/);
  await tab.page.click('tbody th button');
  await tab.shows('"dry"');
  await tab.shows('["mine"]');
  expect(await tab.text('.record')).toMatch(/Version of the assistant\s+value 2/);
  await tab.shows(`good ${HOSTILE}`);
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
  await tab.press('Storage');
  await tab.shows('It takes');
  await tab.shows('Values of messages');
});

test('a store shows its namespaces as a tree, and its items, also by meaning', async () => {
  const put = (namespace: string[], key: string, value: object) => call('PUT', '/store/items', { namespace, key, value });
  await put(['users', 'ann', 'notes'], 'one', { text: 'warm warm', kind: 'note' });
  await put(['users', 'bob'], 'two', { text: 'sea sea', kind: 'letter' });
  await put([HOSTILE.replace('.', '')], HOSTILE, { text: HOSTILE });
  await tab.press('Store');
  await tab.press('users');
  await tab.until('all below it are shown', `document.querySelectorAll('tbody tr').length === 2`);
  await tab.press('ann');
  await tab.until('one is shown', `document.querySelectorAll('tbody tr').length === 1`);
  expect(await tab.text('tbody tr')).toContain('users › ann › notes');
  await tab.press('one');
  await tab.shows('{"kind":"note","text":"warm warm"}');
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
  await tab.press('users');
  await write('[name=query]', 'the sea');
  await tab.press('Search');
  await tab.until(
    'the nearest is first',
    `document.querySelector('tbody tr')?.innerText.startsWith('two') && document.querySelectorAll('th').length > 4`,
  );
  await write('[name=query]', '');
  await write('[name=filter]', '{"kind": "note"}');
  await tab.press('Search');
  await tab.until(
    'one has it',
    `document.querySelector('tbody tr')?.innerText.startsWith('one') && document.querySelectorAll('tbody tr').length === 1`,
  );
  await write('[name=filter]', '{');
  await tab.press('Search');
  await tab.shows('It is no JSON');
});

test('crons are listed with the time at which they fire next', async () => {
  await tab.press('Crons');
  await tab.shows('There are none.');
  await call('POST', '/runs/crons', { assistant_id: 'chat', schedule: '0 0 1 1 *', timezone: 'Europe/Berlin', input: {} });
  await call('POST', '/runs/crons', { assistant_id: 'chat', schedule: '0 0 2 1 *', input: {}, enabled: false });
  await tab.press('Threads');
  await tab.press('Crons');
  await tab.until('both are there', `document.querySelectorAll('tbody tr').length === 2`);
  const rows = await tab.texts('tbody tr');
  expect(rows.find((row) => row.startsWith('0 0 1 1 *'))).toMatch(/Europe\/Berlin\s+(?:in|next)/);
  expect(rows.find((row) => row.startsWith('0 0 2 1 *'))).toMatch(/UTC\s+It rests/);
});

test('a run from a checkpoint takes an earlier version of its assistant, and says which one it can not take', async () => {
  const { assistant_id: id } = await call<{ assistant_id: string }>('POST', '/assistants', { graph_id: 'failing', name: 'Changed' });
  await call('PATCH', `/assistants/${id}`, { graph_id: 'chat', context: { tone: 'dry' } });
  await call('PATCH', `/assistants/${id}`, { context: { tone: 'warm' } });
  const { thread_id: thread } = await call<{ thread_id: string }>('POST', '/threads', {});
  const input = { messages: [{ type: 'human', content: 'hi' }], words: 1, pause: 0, asks: false };
  await call('POST', `/threads/${thread}/runs/wait`, { assistant_id: id, input });
  await tab.page.evaluate(`location.hash = '#/${thread}'`);
  await tab.press('Checkpoints');
  await tab.until('versions are there', `document.querySelector('[name=replay_version]') !== null`);
  await choose('[name=replay_version]', '1');
  await tab.shows('Version 1 is of the graph "failing".');
  expect(
    await tab.page.evaluate(`[...document.querySelectorAll('button')].find(({ innerText }) => innerText === 'Run from here').disabled`),
  ).toBe(true);
  await choose('[name=replay_version]', '2');
  await tab.page.evaluate(`[...document.querySelectorAll('[role=option]')].at(-2).click()`);
  await tab.press('Run from here');
  await tab.shows('The run has ended.');
  const runs = await call<{ kwargs: { assistant_version: number; context: object } }[]>('GET', `/threads/${thread}/runs`);
  expect(runs.map(({ kwargs }) => [kwargs.assistant_version, kwargs.context])).toEqual([
    [2, { tone: 'dry' }],
    [3, { tone: 'warm' }],
  ]);
  expect(await tab.accessibilityFaults(axe.source)).toEqual([]);
});
