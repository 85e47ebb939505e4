import { resolve } from 'node:path';
import axe from 'axe-core';
import { expect, test } from 'vitest';
import { studioOfDev } from './studio-of-dev.ts';

/* The lists of the studio in a real browser, in front of a real agent server. */

const HOSTILE = '<img src=x onerror="window.hacked=1">';

const studio = studioOfDev(() => {
  const index = { embed: `${resolve('test/browser/graphs/embed.ts')}:embed`, dims: 2 };
  const graphs = {
    chat: 'test/browser/graphs/chat.ts:chat',
    failing: 'test/browser/graphs/failing.ts:failing',
  };
  return { graphs, dotEnv: '', more: { store: { index } } };
});

async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${studio.dev.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as Answer;
}

const choose = (select: string, value: string): Promise<void> =>
  studio.tab.page.evaluate(`(() => {
    const select = document.querySelector('${select}');
    select.value = '${value}';
    select.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
const write = (field: string, text: string): Promise<void> =>
  studio.tab.page.evaluate(`(() => {
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
  await studio.tab.press('Assistants');
  await studio.tab.press(`Helper ${HOSTILE}`);
  await studio.tab.press('2', '.record');
  await studio.tab.until('it is compared', `document.querySelector('.changes') !== null`);
  expect(await studio.tab.texts('.changes tbody tr')).toEqual([
    expect.stringMatching(/^config\.configurable\.tone\s+"dry"\s+"warm"$/),
    expect.stringMatching(/^context\.tone\s+"dry"\s+"warm"$/),
  ]);
  await choose('[name=version]', '3');
  await studio.tab.until(
    'it is compared',
    `document.querySelector('.changes')?.innerText.includes('the third')`,
  );
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
});

test('a run shows what it really used, its webhook, and what people thought of it', async () => {
  const { assistant_id: id } = await call<{ assistant_id: string }>('POST', '/assistants', {
    graph_id: 'chat',
  });
  await call('PATCH', `/assistants/${id}`, { context: { tone: 'dry' } });
  const { thread_id: thread } = await call<{ thread_id: string }>('POST', '/threads', {});
  const input = { messages: [{ type: 'human', content: 'hi' }], words: 1, pause: 0, asks: false };
  const body = {
    assistant_id: id,
    input,
    webhook: 'http://127.0.0.1:9/done',
    feedback_keys: ['taste'],
    config: { tags: ['mine'] },
  };
  const ended = await call<{ __feedback__: { taste: string } }>(
    'POST',
    `/threads/${thread}/runs/wait`,
    body,
  );
  const [listed] = await call<object[]>('GET', `/threads/${thread}/runs`);
  expect(listed).toMatchObject({ attempt: 1, revision: null, kwargs: { assistant_version: 2 } });
  await call('POST', new URL(ended['__feedback__'].taste, studio.dev.url).pathname, {
    score: 1,
    comment: `good ${HOSTILE}`,
  });
  await studio.tab.page.evaluate(`location.hash = '#/${thread}'`);
  await studio.tab.press('Runs');
  await studio.tab.until('it is listed', `document.querySelector('tbody tr') !== null`);
  expect(await studio.tab.text('tbody tr')).toMatch(/success[^]*(?:pending|failed)/);
  await studio.tab.page.click('tbody th button');
  await studio.tab.shows('"dry"');
  await studio.tab.shows('["mine"]');
  expect(await studio.tab.text('.record')).toMatch(/Version of the assistant\s+value 2/);
  await studio.tab.shows(`good ${HOSTILE}`);
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
  await studio.tab.press('Storage');
  await studio.tab.shows('It takes');
  await studio.tab.shows('Values of messages');
});

test('a store shows its namespaces as a tree, and its items, also by meaning', async () => {
  const put = (namespace: string[], key: string, value: object) =>
    call('PUT', '/store/items', { namespace, key, value });
  await put(['users', 'ann', 'notes'], 'one', { text: 'warm warm', kind: 'note' });
  await put(['users', 'bob'], 'two', { text: 'sea sea', kind: 'letter' });
  await put([HOSTILE.replace('.', '')], HOSTILE, { text: HOSTILE });
  await studio.tab.press('Store');
  await studio.tab.press('users');
  await studio.tab.until(
    'all below it are shown',
    `document.querySelectorAll('tbody tr').length === 2`,
  );
  await studio.tab.press('ann');
  await studio.tab.until('one is shown', `document.querySelectorAll('tbody tr').length === 1`);
  expect(await studio.tab.text('tbody tr')).toContain('users › ann › notes');
  await studio.tab.press('one');
  await studio.tab.shows('{"kind":"note","text":"warm warm"}');
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
  await studio.tab.press('users');
  await write('[name=query]', 'the sea');
  await studio.tab.press('Search');
  await studio.tab.until(
    'the nearest is first',
    `document.querySelector('tbody tr')?.innerText.startsWith('two') && document.querySelectorAll('th').length > 4`,
  );
  await write('[name=query]', '');
  await write('[name=filter]', '{"kind": "note"}');
  await studio.tab.press('Search');
  await studio.tab.until(
    'one has it',
    `document.querySelector('tbody tr')?.innerText.startsWith('one') && document.querySelectorAll('tbody tr').length === 1`,
  );
  await write('[name=filter]', '{');
  await studio.tab.press('Search');
  await studio.tab.shows('It is not JSON');
});

test('crons are listed with the time at which they fire next', async () => {
  await studio.tab.press('Crons');
  await studio.tab.shows('None yet.');
  await call('POST', '/runs/crons', {
    assistant_id: 'chat',
    schedule: '0 0 1 1 *',
    timezone: 'Europe/Berlin',
    input: {},
  });
  await call('POST', '/runs/crons', {
    assistant_id: 'chat',
    schedule: '0 0 2 1 *',
    input: {},
    enabled: false,
  });
  await studio.tab.press('Threads');
  await studio.tab.press('Crons');
  await studio.tab.until('both are there', `document.querySelectorAll('tbody tr').length === 2`);
  const rows = await studio.tab.texts('tbody tr');
  expect(rows.find((row) => row.startsWith('0 0 1 1 *'))).toMatch(/Europe\/Berlin\s+(?:in|next)/);
  expect(rows.find((row) => row.startsWith('0 0 2 1 *'))).toMatch(/UTC\s+It rests/);
});

test('a run from a checkpoint takes an earlier version of its assistant, and says which one it can not take', async () => {
  const { assistant_id: id } = await call<{ assistant_id: string }>('POST', '/assistants', {
    graph_id: 'failing',
    name: 'Changed',
  });
  await call('PATCH', `/assistants/${id}`, { graph_id: 'chat', context: { tone: 'dry' } });
  await call('PATCH', `/assistants/${id}`, { context: { tone: 'warm' } });
  const { thread_id: thread } = await call<{ thread_id: string }>('POST', '/threads', {});
  const input = { messages: [{ type: 'human', content: 'hi' }], words: 1, pause: 0, asks: false };
  await call('POST', `/threads/${thread}/runs/wait`, { assistant_id: id, input });
  await studio.tab.page.evaluate(`location.hash = '#/${thread}'`);
  await studio.tab.press('History');
  await studio.tab.until(
    'versions are there',
    `document.querySelector('[name=replay_version]') !== null`,
  );
  await choose('[name=replay_version]', '1');
  await studio.tab.shows('Version 1 is of the graph "failing".');
  expect(
    await studio.tab.page.evaluate(
      `[...document.querySelectorAll('button')].find(({ innerText }) => innerText === 'Run from here').disabled`,
    ),
  ).toBe(true);
  await choose('[name=replay_version]', '2');
  await studio.tab.page.evaluate(`[...document.querySelectorAll('[role=option]')].at(-2).click()`);
  await studio.tab.press('Run from here');
  await studio.tab.shows('The run has ended.');
  const runs = await call<{ kwargs: { assistant_version: number; context: object } }[]>(
    'GET',
    `/threads/${thread}/runs`,
  );
  expect(runs.map(({ kwargs }) => [kwargs.assistant_version, kwargs.context])).toEqual([
    [2, { tone: 'dry' }],
    [3, { tone: 'warm' }],
  ]);
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
});
