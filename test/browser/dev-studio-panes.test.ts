import axe from 'axe-core';
import { expect, test } from 'vitest';
import { studioOfDev } from './studio-of-dev.ts';

/* The panes of the studio: how they share the window, what they remember, and that one field is open at a time. */

const studio = studioOfDev(() => ({
  graphs: {
    approval: 'examples/approval/graph.ts:graph',
    chat: 'test/browser/graphs/chat.ts:chat',
  },
  dotEnv: '',
}));

/** The panes in sight, and whether anything of the page is outside of the window. */
const shown = (): Promise<{ panes: string[]; isOutside: boolean }> =>
  studio.tab.page.evaluate(`(() => {
    const inSight = (one) => one.checkVisibility() && one.getBoundingClientRect().right <= innerWidth + 1 && one.getBoundingClientRect().bottom <= innerHeight + 1;
    const { scrollWidth, scrollHeight } = document.documentElement;
    return {
      panes: ['threads', 'talk', 'inspector'].filter((name) => inSight(document.querySelector('.' + name))),
      isOutside: scrollWidth > innerWidth || scrollHeight > innerHeight,
    };
  })()`);

const openFields = (): Promise<number> =>
  studio.tab.page.evaluate(
    `[...document.querySelectorAll('.chat :is(textarea, input)')].filter((one) => one.checkVisibility()).length`,
  );

const choose = (label: string): Promise<void> =>
  studio.tab.page.evaluate(`(() => {
    const select = document.querySelector('[name=assistant]');
    select.value = [...select.options].find(({ text }) => text === '${label}').value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);

async function begin(graph: string): Promise<void> {
  await studio.tab.until(
    'the graphs are there',
    `document.querySelectorAll('[name=assistant] option').length === 2`,
  );
  await choose(graph);
}

test('threads, conversation and inspector are in one view, and the graph is drawn at once', async () => {
  await studio.tab.until('it is drawn', `document.querySelector('.drawing .node') !== null`);
  expect(await shown()).toEqual({ panes: ['threads', 'talk', 'inspector'], isOutside: false });
  const bottom = `document.querySelector('.composer').getBoundingClientRect().bottom`;
  expect(await studio.tab.page.evaluate<number>(bottom)).toBeLessThanOrEqual(720);
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
});

test('an empty conversation offers an input that fits the schema of the graph', async () => {
  await begin('chat');
  await studio.tab.press('An input with words, pause, asks');
  await studio.tab.until(
    'it is written',
    `document.querySelector('textarea.mono[name=text]')?.value !== ''`,
  );
  const written = await studio.tab.page.evaluate<string>(
    `document.querySelector('[name=text]').value`,
  );
  expect(Object.keys(JSON.parse(written) as object)).toEqual([
    'messages',
    'words',
    'pause',
    'asks',
  ]);
});

test('the inspector keeps its width and whether it is open', async () => {
  const width = `Math.round(document.querySelector('.inspector').getBoundingClientRect().width)`;
  await studio.tab.until('it is there', `document.querySelector('.inspector') !== null`);
  const before = await studio.tab.page.evaluate<number>(width);
  await studio.tab.page.evaluate(`document.querySelector('[role=separator]').focus()`);
  await studio.tab.keys('ArrowLeft', 'ArrowLeft');
  expect(await studio.tab.page.evaluate(width)).toBe(before + 48);
  await studio.tab.page.reload();
  await studio.tab.until('it is there again', `document.querySelector('.inspector') !== null`);
  expect(await studio.tab.page.evaluate(width)).toBe(before + 48);
  await studio.tab.press('Hide the inspector');
  await studio.tab.page.reload();
  await studio.tab.until('it is there again', `document.querySelector('.chat') !== null`);
  expect((await shown()).panes).toEqual(['threads', 'talk']);
  await studio.tab.press('Show the inspector');
  expect((await shown()).panes).toEqual(['threads', 'talk', 'inspector']);
});

test('panes fold where the window is narrow, and a phone has one at a time', async () => {
  await studio.tab.resize(800, 700);
  await studio.tab.until('they fold', `document.querySelector('.pane-switch').checkVisibility()`);
  expect(await shown()).toEqual({ panes: ['talk'], isOutside: false });
  await studio.tab.press('Inspector');
  await expect.poll(shown).toEqual({ panes: ['talk', 'inspector'], isOutside: false });
  await studio.tab.resize(390, 844);
  await expect.poll(shown).toEqual({ panes: ['inspector'], isOutside: false });
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
  await studio.tab.press('Threads', '.pane-switch');
  await expect.poll(shown).toEqual({ panes: ['threads'], isOutside: false });
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
  await studio.tab.press('Chat');
  await expect.poll(shown).toEqual({ panes: ['talk'], isOutside: false });
});

test('Stop stands in place of Send as long as a run is under way', async () => {
  await begin('chat');
  await studio.tab.press('An input with words, pause, asks');
  await studio.tab.until('it is written', `document.querySelector('[name=text]').value !== ''`);
  await studio.tab.page.evaluate(`(() => {
    const field = document.querySelector('[name=text]');
    field.value = JSON.stringify({ messages: [], words: 300, pause: 20, asks: false });
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
  })()`);
  await studio.tab.press('Send');
  const buttons = `[...document.querySelectorAll('.composer button')].map(({ innerText }) => innerText.trim()).join()`;
  await studio.tab.until('it can be stopped', `${buttons} === 'Stop'`);
  await studio.tab.press('Stop');
  await expect.poll(() => studio.tab.page.evaluate(buttons)).toBe('Send');
});

test('a question is the only field that is open, and a thread that waits stands first', async () => {
  await begin('approval');
  await studio.tab.page.type('[name=text]', 'Write to Ann.\n');
  await studio.tab.until('it asks', `document.querySelector('.questions') !== null`);
  await studio.tab.shows('Send this mail? Say yes, or what to change.');
  expect(await openFields()).toBe(1);
  await studio.tab.press('Write a message instead');
  await studio.tab.until('it takes a message', `document.querySelector('.composer') !== null`);
  expect(await openFields()).toBe(1);
  await studio.tab.press('Answer it');
  await studio.post('/threads', { metadata: { title: 'A later one' } });
  await studio.tab.page.reload();
  await studio.tab.shows('A later one');
  expect((await studio.tab.texts('.thread-list li'))[0]).toMatch(/Write to Ann\.\s+Waiting/);
  await studio.tab.until('it asks again', `document.querySelector('.questions') !== null`);
  await studio.tab.page.type('.questions textarea', 'yes');
  await studio.tab.press('Answer');
  await studio.tab.shows('The mail is sent.');
  expect(await openFields()).toBe(1);
});

/** A thread whose last message has this text, open in the tab. */
async function openWith(content: string): Promise<void> {
  const { thread_id: id } = await studio.post<{ thread_id: string }>('/threads', {
    metadata: { graph_id: 'chat' },
  });
  const messages = [
    { type: 'human', id: 'h', content: '**typed** by a person' },
    { type: 'ai', id: 'a', content },
  ];
  await studio.post(`/threads/${id}/state`, {
    values: { messages, words: 3, pause: 0, asks: false },
  });
  await studio.tab.page.evaluate(`location.hash = '#/${id}'`);
  await studio.tab.until('it is read', `document.querySelector('.markdown') !== null`);
}

test('an answer is read as Markdown, of which nothing but text and safe links comes', async () => {
  await openWith(
    [
      '# Head\n\n**bold** [page](https://x.example/a) [bad](javascript:window.hacked=1)',
      '<script>window.hacked=1</script> ![p](https://x.example/p.png)',
      '| a | b |\n|---|---|\n| 1 | 2 |',
      '```js\nconst a = 1;\n```',
    ].join('\n\n'),
  );
  const names = `[...document.querySelectorAll('.markdown *')].map(({ localName }) => localName)`;
  const found = new Set(await studio.tab.page.evaluate<string[]>(names));
  for (const name of ['h3', 'b', 'table', 'figure', 'code']) expect(found).toContain(name);
  for (const name of ['script', 'img', 'iframe']) expect(found).not.toContain(name);
  expect(
    await studio.tab.page.evaluate(
      `[...document.querySelectorAll('.markdown a')].map(({ href, rel }) => href + ' ' + rel)`,
    ),
  ).toEqual([
    'https://x.example/a noopener noreferrer',
    'https://x.example/p.png noopener noreferrer',
  ]);
  const text = await studio.tab.text('.log');
  expect(text).toContain('[bad](javascript:window.hacked=1)');
  expect(text).toContain('**typed** by a person');
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
});

test('files that are dropped go with the message, and are shown in it', async () => {
  await openWith('Send me files.');
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await studio.tab.page.evaluate(`(() => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob('${pixel}'), (one) => one.charCodeAt(0))], 'dot.png', { type: 'image/png' }));
    data.items.add(new File(['a,b'], 'rows.csv', { type: 'text/csv' }));
    data.items.add(new File(['%PDF'], 'left.pdf', { type: 'application/pdf' }));
    document.querySelector('.chat').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  })()`);
  await studio.tab.until('all are there', `document.querySelectorAll('.picked li').length === 3`);
  await studio.tab.press('Remove left.pdf');
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
  await studio.tab.press('Send');
  await studio.tab.shows('rows.csv:');
  await studio.tab.until('it is over', `document.querySelector('.chat').ariaBusy === 'false'`);
  expect(
    await studio.tab.page.evaluate(
      `[...document.querySelectorAll('.log img')].map((one) => one.naturalWidth)`,
    ),
  ).toEqual([1]);
  expect(await studio.tab.texts('.picked li')).toEqual([]);
});

test('a run says how long it took and lists its steps, and the state is searched', async () => {
  await openWith('Say something.');
  await studio.tab.page.type('[name=text]', 'hello\n');
  await studio.tab.until('it is over', `document.querySelector('.run button') !== null`);
  await studio.tab.page.evaluate(`[...document.querySelectorAll('.run button')].at(-1).click()`);
  await expect.poll(() => studio.tab.texts('.run-steps bdi')).toEqual(['answer', 'ask']);
  await studio.tab.press('State');
  await studio.tab.until('it is there', `document.querySelector('[name=find_in_state]') !== null`);
  await studio.tab.page.type('[name=find_in_state]', 'hello');
  await studio.tab.until('it is found', `document.querySelector('.found li') !== null`);
  expect((await studio.tab.texts('.found bdi'))[0]).toBe('messages[2].content');
  expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
});
