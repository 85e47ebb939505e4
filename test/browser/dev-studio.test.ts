import axe from 'axe-core';
import { describe, expect, test } from 'vitest';
import { answerOf } from './open-chat.ts';
import { studioOfDev } from './studio-of-dev.ts';

/* The studio of `dev` in a real browser, in front of a real agent server. */

const GRAPHS = {
  chat: 'test/browser/graphs/chat.ts:chat',
  questions: 'test/browser/graphs/questions.ts:questions',
  long: 'test/browser/graphs/long.ts:long',
  nested: 'test/browser/graphs/nested.ts:nested',
  tools: 'examples/tools/graph.ts:graph',
  failing: 'test/browser/graphs/failing.ts:failing',
  broken: 'test/browser/graphs/broken.ts:broken',
};

const studio = studioOfDev(() => ({ graphs: GRAPHS, dotEnv: 'REASON="The stove is off."\n' }));

test('it lists threads and shows one, without an account, a key or another server', async () => {
  await studio.tab.shows('No threads yet.');
  const { thread_id: id } = await studio.post<{ thread_id: string }>('/threads', {
    metadata: { title: 'A first talk' },
  });
  const input = {
    messages: [{ type: 'human', content: 'hello' }],
    words: 3,
    pause: 0,
    asks: false,
  };
  await studio.post(`/threads/${id}/runs/wait`, { assistant_id: 'chat', input });
  await studio.tab.page.reload();
  await studio.tab.shows('A first talk');
  await studio.tab.page.click(`.thread-list a[href="#/${id}"]`);
  await studio.tab.shows('word0 word1 word2');
  const hosts = await studio.tab.page.evaluate<string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin)`,
  );
  expect(new Set(hosts)).toEqual(new Set([studio.dev.url]));
});

test('the page is bound by the rules of the console', async () => {
  const { headers } = await fetch(`${studio.dev.url}/studio`);
  expect(headers.get('content-security-policy')).toContain("script-src 'self'");
  expect((await fetch(`${studio.dev.url}/studio/assets/..%2Findex.html`)).status).toBe(404);
});

/** Chooses an option of a list as a person does. */
const choose = (select: string, label: string): Promise<void> =>
  studio.tab.page.evaluate(`(() => {
    const select = document.querySelector('${select}');
    select.value = [...select.options].find(({ text }) => text === '${label}').value;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);

async function newChat(graph: keyof typeof GRAPHS): Promise<void> {
  await studio.tab.press('New chat');
  await studio.tab.until(
    'the graphs are there',
    `[...document.querySelectorAll('[name=assistant] option')].some(({ text }) => text === '${graph}')`,
  );
  await choose('[name=assistant]', graph);
}

/** Sends a whole input as JSON. */
async function sendJson(input: object): Promise<void> {
  await choose('[name=mode]', 'JSON');
  await studio.tab.until(
    'it takes JSON',
    `document.querySelector('textarea.mono[name=text]') !== null`,
  );
  await studio.tab.page.type('[name=text]', JSON.stringify(input));
  await studio.tab.press('Send');
}

const messages = (): Promise<string[]> =>
  studio.tab.page.evaluate(
    `[...document.querySelectorAll('.log > .messages > li')].map((one) => [...one.querySelectorAll('strong, p, summary')].map((part) => part.innerText).join(': '))`,
  );
const ended = (): Promise<void> =>
  studio.tab.until(
    'it has ended',
    `document.querySelector('.chat')?.getAttribute('aria-busy') === 'false'`,
  );
const words = (count: number): object => ({
  messages: [{ type: 'human', content: 'hello' }],
  words: count,
  pause: 15,
  asks: false,
});
const lengthOf = `document.querySelector('.log li.agent')?.innerText.length ?? 0`;

test('it says which graph is not served, and why', async () => {
  await studio.tab.shows('There is no stove.');
  await studio.tab.shows('It is not served until this is fixed; the others are.');
  expect(await studio.tab.texts('.note')).toHaveLength(1);
});

test('a link of the former chat page leads to its thread, and says where that is gone', async () => {
  await studio.tab.page.goto(`${studio.dev.url}/chat#thread=00000000-0000-7000-8000-000000000000`);
  await studio.tab.shows('Thread with ID 00000000-0000-7000-8000-000000000000 not found');
  expect(await studio.tab.page.evaluate('location.pathname')).toBe('/studio');
});

describe('a chat', () => {
  test('goes on with a run after the graphs were loaded again', async () => {
    await newChat('chat');
    await sendJson(words(60));
    await studio.tab.until('something was written', `${lengthOf} > 100`);
    studio.dev.change('REASON="The stove is cold."\n');
    await expect.poll(() => studio.dev.output()).toContain('reloaded');
    await studio.tab.until(
      'all is there',
      `document.querySelector('.log li.agent').innerText.includes('word59')`,
    );
    await ended();
    expect(await messages()).toEqual(['User: hello', `Agent: ${answerOf(60)}`]);
    studio.dev.change('REASON="The stove is off."\n');
  });

  test('shows a picture that a message brings, and loads none from elsewhere', async () => {
    await newChat('chat');
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const content = [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}` } },
      { type: 'image_url', image_url: { url: 'http://127.0.0.1:9/elsewhere.png' } },
      { type: 'image_url', image_url: { url: 'javascript:window.hacked=1' } },
    ];
    await sendJson({ ...words(1), messages: [{ type: 'human', content }] });
    await studio.tab.shows('word0');
    await ended();
    const addresses = `[...document.querySelectorAll('.log img')].map(({ src, naturalWidth }) => src.slice(0, 15) + naturalWidth)`;
    expect(await studio.tab.page.evaluate(addresses)).toEqual(['data:image/png;1']);
    expect(
      await studio.tab.page.evaluate(
        `[...document.querySelectorAll('.log a')].map(({ href, rel }) => href + ' ' + rel)`,
      ),
    ).toEqual(['http://127.0.0.1:9/elsewhere.png noopener noreferrer']);
  });

  test('shows the answer as it is written, and tool calls with their results', async () => {
    await newChat('tools');
    await studio.tab.page.type('[name=text]', 'weather in Paris\n');
    await studio.tab.shows('sunny, 22');
    await ended();
    expect((await messages())[0]).toBe('User: weather in Paris');
    expect(
      await studio.tab.page.evaluate(
        `[...document.querySelectorAll('.log li details')].map((one) => one.textContent).join()`,
      ),
    ).toMatch(/weather.*city.*sunny/s);
    expect(await studio.tab.page.evaluate(`document.querySelector('[name=text]').value`)).toBe('');
    expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
  });

  test('that is loaded again in mid-run shows all of it, once', async () => {
    await newChat('chat');
    await sendJson(words(60));
    await studio.tab.until('something was written', `${lengthOf} > 100`);
    await studio.tab.page.reload();
    await studio.tab.until('it is there again', `${lengthOf} > 100`);
    expect(await studio.tab.page.evaluate<number>(lengthOf)).toBeLessThan(answerOf(60).length);
    await studio.tab.until(
      'all is there',
      `document.querySelector('.log li.agent').innerText.includes('word59')`,
    );
    await ended();
    expect(await messages()).toEqual(['User: hello', `Agent: ${answerOf(60)}`]);
  });

  test('is stopped, and goes on with the next message', async () => {
    await newChat('chat');
    await sendJson(words(400));
    await studio.tab.until('something was written', `${lengthOf} > 50`);
    await studio.tab.press('Stop');
    await ended();
    expect((await messages())[0]).toBe('User: hello');
    expect(await studio.tab.page.evaluate(`document.body.innerText.includes('word399')`)).toBe(
      false,
    );
  });

  test('says why a run failed, also when it is loaded again', async () => {
    await newChat('failing');
    await studio.tab.page.type('[name=text]', 'cook\n');
    await studio.tab.shows('The stove is off.');
    await ended();
    await studio.tab.page.reload();
    await studio.tab.shows('The stove is off.');
    expect(await studio.tab.page.evaluate(`document.querySelector('details.stack').open`)).toBe(
      false,
    );
    await studio.tab.page.evaluate(`document.querySelector('details.stack summary').click()`);
    await studio.tab.shows('graphs/failing.ts:6');
    expect(await messages()).toEqual(['User: cook']);
  });

  test('is edited and written again as branches, which all stay in the thread', async () => {
    await newChat('tools');
    await studio.tab.page.type('[name=text]', 'hello\n');
    await studio.tab.shows('Ask me for the weather');
    await ended();
    await studio.tab.page.type('[name=text]', 'weather in Oslo\n');
    await studio.tab.shows('snow, -3');
    await ended();
    const before = await messages();
    await studio.tab.press('Edit', '.log li.human:nth-last-of-type(n+2):not(:first-child)');
    await studio.tab.page.evaluate(`(() => {
      const field = document.querySelector('.edit textarea');
      field.value = 'weather in London';
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    })()`);
    await studio.tab.press('Send', '.edit');
    await studio.tab.shows('rain, 14');
    await ended();
    const after = await messages();
    expect(after).toHaveLength(before.length);
    expect(after.slice(0, 2)).toEqual(before.slice(0, 2));
    expect(after.join()).not.toContain('Oslo');
    await studio.tab.press('Regenerate', '.log li.agent:last-child');
    await ended();
    expect((await messages()).slice(0, 3)).toEqual(after.slice(0, 3));
    // The first words of a thread are edited, too, though nothing stands before them.
    await studio.tab.press('Edit', '.log li.human:first-child');
    await studio.tab.page.evaluate(`(() => {
      const field = document.querySelector('.edit textarea');
      field.value = 'weather in Paris';
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    })()`);
    await studio.tab.press('Send', '.edit');
    await studio.tab.shows('sunny, 22');
    await ended();
    expect((await messages()).join()).not.toContain('London');
    expect((await messages())[0]).toBe('User: weather in Paris');
  });

  test('shows a graph within the graph at its place, while the run is on and when it is loaded again', async () => {
    await newChat('questions');
    await sendJson({ messages: [{ type: 'human', content: 'go' }], kind: 'form' });
    await studio.tab.shows('How many seats?');
    const shown = [expect.stringContaining('inner words')];
    expect(await studio.tab.texts('.nested')).toEqual(shown);
    await studio.tab.page.reload();
    await studio.tab.until('it is there again', `document.querySelector('.nested') !== null`);
    expect(await studio.tab.texts('.nested')).toEqual(shown);
  });
});

describe('the drawing of a graph', () => {
  const kindOf = (node: string): Promise<string> =>
    studio.tab.page.evaluate(
      `document.querySelector('[data-node="${node}"]')?.getAttribute('class') ?? ''`,
    );

  test('lights the nodes that run, and those that have ended', async () => {
    await newChat('chat');
    await studio.tab.until(
      'it is drawn',
      `document.querySelectorAll('.drawing .node').length >= 3`,
    );
    await sendJson(words(60));
    await expect.poll(() => kindOf('answer')).toContain('running');
    expect(await kindOf('ask')).toContain('untouched');
    expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
    await ended();
    expect(await kindOf('answer')).toContain('ended');
    expect(await kindOf('ask')).toContain('ended');
  });

  test('stops a run before a node that was clicked, and lets it go on', async () => {
    await newChat('chat');
    await studio.tab.until('it is drawn', `document.querySelector('[data-node="ask"]') !== null`);
    await studio.tab.page.click('[data-node="ask"]');
    await sendJson(words(2));
    await studio.tab.shows('Stopped before ask.');
    expect(await kindOf('ask')).toContain('next');
    await studio.tab.page.click('[data-node="ask"]');
    await studio.tab.press('Resume');
    await expect.poll(() => kindOf('ask')).toContain('ended');
    await ended();
    expect(await studio.tab.text()).not.toContain('Stopped before');
  });

  test('has the graphs within it in boxes', async () => {
    await newChat('nested');
    await studio.tab.until('it is drawn', `document.querySelector('.drawing .box') !== null`);
    expect(
      await studio.tab.page.evaluate(
        `[...document.querySelectorAll('.drawing .box text')].map(({ textContent }) => textContent)`,
      ),
    ).toEqual(['inner']);
  });
});

describe('a question', () => {
  const ask = async (kind: string): Promise<void> => {
    await newChat('questions');
    await sendJson({ messages: [{ type: 'human', content: 'go' }], kind });
    await studio.tab.until('it asks', `document.querySelector('.questions') !== null`);
  };

  /** Makes a decision about one of the calls that wait for one. */
  const decide = (word: string, at = 0): Promise<void> =>
    studio.tab.page.evaluate(
      `[...document.querySelectorAll('.questions [role=radiogroup]')[${at}].querySelectorAll('label')].find((one) => one.innerText === '${word}').querySelector('input').click()`,
    );

  test('about tool calls takes a decision for each', async () => {
    await ask('decisions');
    await studio.tab.shows('It sends a mail.');
    await decide('Edit');
    await studio.tab.page.evaluate(`(() => {
      const field = document.querySelector('.questions textarea');
      field.value = 'b';
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    })()`);
    await decide('Reject', 1);
    await studio.tab.until(
      'it asks for a reason',
      `document.querySelectorAll('.questions textarea').length === 2`,
    );
    await studio.tab.press('Answer');
    // The database puts names in an order of its own.
    const edited = { type: 'edit', editedAction: { args: { to: 'b' }, name: 'send_mail' } };
    await studio.tab.shows(`first: ${JSON.stringify({ decisions: [edited, { type: 'reject' }] })}`);
    await ended();
    expect(await studio.tab.texts('.questions')).toEqual([]);
  });

  test('of Agent Inbox is answered as there', async () => {
    await ask('inbox');
    await decide('Respond');
    await studio.tab.press('Answer');
    await studio.tab.shows('Write an answer.');
    await studio.tab.page.type('.questions textarea', 'three seats');
    await studio.tab.press('Answer');
    await studio.tab.shows('first: [{"args":"three seats","type":"response"}]');
    await ended();
    expect(await studio.tab.texts('.questions')).toEqual([]);
  });

  test('with a schema is a form, which says what is wrong', async () => {
    await ask('form');
    await studio.tab.page.type('.questions [name=seats]', 'x');
    await studio.tab.press('Answer');
    await studio.tab.shows('It is not a number.');
    await studio.tab.page.evaluate(`document.querySelector('.questions [name=seats]').select()`);
    await studio.tab.page.type('.questions [name=seats]', '4');
    expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
    await studio.tab.press('Answer');
    await studio.tab.shows('first: {"seats":4}');
    await ended();
  });

  test('among several is answered by its id', async () => {
    await ask('both');
    expect(await studio.tab.texts('.questions pre')).toEqual(
      expect.arrayContaining(['the first question', 'the second question']),
    );
    await studio.tab.page.evaluate(`(() => {
      for (const fieldset of document.querySelectorAll('.questions fieldset')) {
        const field = fieldset.querySelector('textarea');
        field.value = fieldset.innerText.includes('the first') ? 'one' : 'two';
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
      }
    })()`);
    await studio.tab.press('Answer all 2');
    await studio.tab.shows('first: "one"');
    await studio.tab.shows('second: "two"');
    await ended();
  });

  test('that somebody else has answered says so, and changes nothing', async () => {
    await ask('form');
    const id = decodeURIComponent(
      (await studio.tab.page.evaluate<string>('location.hash')).slice(2),
    );
    await studio.post(`/threads/${id}/runs/wait`, {
      assistant_id: 'questions',
      command: { resume: { seats: 9 } },
    });
    await studio.tab.page.type('.questions [name=seats]', '4');
    await studio.tab.press('Answer');
    await studio.tab.shows('Someone else has answered this meanwhile.');
    await studio.tab.shows('first: {"seats":9}');
    expect(await studio.tab.text()).not.toContain('first: {"seats":4}');
    expect(
      (await (await fetch(`${studio.dev.url}/threads/${id}/runs`)).json()) as unknown[],
    ).toHaveLength(2);
  });

  test('that two people answer at the same instant takes one answer, and tells the other one', async () => {
    await ask('form');
    const other = await studio.open(await studio.tab.page.evaluate<string>('location.href'));
    await other.until('it asks', `document.querySelector('.questions') !== null`);
    await studio.tab.page.type('.questions [name=seats]', '3');
    await other.page.type('.questions [name=seats]', '4');
    await Promise.all([studio.tab.press('Answer'), other.press('Answer')]);
    const tabs = [studio.tab, other];
    for (const one of tabs) await one.shows('first: {"seats":');
    await ended();
    const texts = await Promise.all(tabs.map((one) => one.text()));
    expect(
      texts.filter((text) => text.includes('Someone else has answered this meanwhile.')),
    ).toHaveLength(1);
    const answers = texts.map((text) => /first: {"seats":(\d)}/g.exec(text)?.[1]);
    expect(answers[0]).toBe(answers[1]);
    const id = decodeURIComponent(
      (await studio.tab.page.evaluate<string>('location.hash')).slice(2),
    );
    expect(
      (await (await fetch(`${studio.dev.url}/threads/${id}/runs`)).json()) as unknown[],
    ).toHaveLength(2);
    await other.close();
  });

  test('of a hostile agent is text', async () => {
    await ask('hostile');
    expect((await studio.tab.texts('.questions pre'))[0]).toContain('<script>');
    expect(
      await studio.tab.page.evaluate(
        `document.querySelectorAll('.chat img, .chat script, .chat a').length`,
      ),
    ).toBe(0);
  });
});

describe('the history of a thread', () => {
  const walked = async (steps: number, letters: number): Promise<string> => {
    const { thread_id: id } = await studio.post<{ thread_id: string }>('/threads', {});
    const input = { step: 0, steps, letters };
    await studio.post(`/threads/${id}/runs/wait`, {
      assistant_id: 'long',
      input,
      config: { recursion_limit: steps + 10 },
    });
    return id;
  };
  const openAt = async (id: string): Promise<void> => {
    await studio.tab.page.evaluate(`location.hash = '#/${id}'`);
    await studio.tab.press('History');
    await studio.tab.until(
      'it has checkpoints',
      `document.querySelector('[role=option]') !== null`,
    );
  };
  const optionAt = (text: string): string =>
    `[...document.querySelectorAll('[role=option]')].find(({ innerText }) => innerText.startsWith('${text}'))`;

  test('is a tree in which one writes, runs from a checkpoint on, compares, and copies', async () => {
    const id = await walked(3, 0);
    await openAt(id);
    const before = Number(
      await studio.tab.page.evaluate(`document.querySelector('[role=option]').ariaSetSize`),
    );
    await studio.tab.page.evaluate(`${optionAt('Step 2')}.click()`);
    await studio.tab.until(
      'it is chosen',
      `document.querySelector('[role=option][aria-selected=true]').innerText.startsWith('Step 2')`,
    );
    await studio.tab.press('Compare with previous');
    await studio.tab.until('it is compared', `document.querySelector('.changes') !== null`);
    expect(await studio.tab.texts('.changes tbody tr')).toEqual([
      expect.stringMatching(/^step\s+1\s+2$/),
    ]);
    await studio.tab.press('Edit state');
    await studio.tab.page.evaluate(`(() => {
      const field = document.querySelector('[name=values]');
      field.value = '{"notes": ["by hand"]}';
      field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    })()`);
    await studio.tab.press('Write');
    await studio.tab.until(
      'it is a branch',
      `document.querySelector('[role=option]').innerText.startsWith('Edited')`,
    );
    await studio.tab.press('Run from here');
    await studio.tab.shows('The run has ended.');
    const after = Number(
      await studio.tab.page.evaluate(`document.querySelector('[role=option]').ariaSetSize`),
    );
    expect(after).toBeGreaterThan(before + 1);
    const { values } = (await (await fetch(`${studio.dev.url}/threads/${id}/state`)).json()) as {
      values: { notes: string[] };
    };
    expect(values.notes).toEqual(['at 0', 'by hand']);
    expect(
      await studio.tab.page.evaluate(
        `new Set([...document.querySelectorAll('.checkpoints circle')].map((one) => one.getAttribute('cx'))).size`,
      ),
    ).toBe(2);
    expect(await studio.tab.accessibilityFaults(axe.source)).toEqual([]);
    await studio.tab.page.evaluate(
      `URL.createObjectURL = (blob) => (blob.text().then((text) => (window.saved = text)), '#saved')`,
    );
    await studio.tab.press('Save as a test case');
    await studio.tab.until('it is saved', `window.saved !== undefined`);
    expect(JSON.parse(await studio.tab.page.evaluate<string>('window.saved'))).toMatchObject({
      thread_id: id,
      runs: [{ input: { steps: 3 } }, { input: null }],
      state: { notes: ['at 0', 'by hand'] },
    });
    await studio.tab.press('Copy the thread');
    await studio.tab.until('it is another thread', `!location.hash.includes('${id}')`);
  });
});
