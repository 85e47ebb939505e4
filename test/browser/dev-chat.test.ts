import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { launch, type Browser, type Page } from './chromium.ts';
import { startDev, type DevServer } from './dev-server.ts';
import { answerOf } from './open-chat.ts';

/* The chat page of `dev` in a real browser, as somebody uses it with the examples in the first hour. */

const GRAPHS = {
  tools: 'examples/tools/graph.ts:graph',
  approval: 'examples/approval/graph.ts:graph',
  chat: 'test/browser/graphs/chat.ts:chat',
  failing: 'test/browser/graphs/failing.ts:failing',
  broken: 'test/browser/graphs/broken.ts:broken',
};

let dev: DevServer;
let browser: Browser;
let page: Page;
let failures: string[];

beforeAll(async () => {
  dev = await startDev({ graphs: GRAPHS, dotEnv: 'REASON="The stove is off."\n' });
  const { chromium, packages } = inject('browser');
  browser = await launch(chromium, packages);
});

afterAll(async () => {
  await browser?.close();
  await dev?.stop();
});

afterEach(async () => {
  await page.close();
  if (failures.length > 0) throw new Error(`The page's scripts have failed: ${failures.join(', ')}`);
});

/** Opens the page with one of the graphs chosen. */
async function open(graph: keyof typeof GRAPHS): Promise<void> {
  page = await browser.newPage();
  failures = [];
  page.on('pageerror', (error) => failures.push(error.message));
  await page.goto(`${dev.url}/chat`);
  await expect.poll(() => names()).toContain(graph);
  await page.evaluate(
    `(select => { select.value = [...select.options].find(({ text }) => text === "${graph}").value; })(document.querySelector("#assistant"))`,
  );
  // The length of the agent's first words, each time that the page changed.
  await page.evaluate(
    `new MutationObserver(() => (window.lengths ??= new Set()).add(document.querySelector(".entry.agent")?.textContent.length ?? 0))
      .observe(document.querySelector("#log"), { childList: true, subtree: true })`,
  );
}

const names = (): Promise<string[]> => page.evaluate('[...document.querySelectorAll("#assistant option")].map(({ text }) => text)');
/** Returns the conversation as the page shows it, as `<speaker>: <text>`. */
const entries = (): Promise<string[]> => page.evaluate('[...document.querySelectorAll(".entry")].map((entry) => entry.textContent)');
const shown = (selector: string): Promise<string | undefined> =>
  page.evaluate(`[...document.querySelectorAll("${selector}")].find((one) => one.checkVisibility())?.innerText`);
const isIdle = (): Promise<boolean> =>
  page.evaluate('document.querySelector("#log").getAttribute("aria-busy") === "false" && document.querySelector("#stop").hidden');
const ended = (): Promise<void> => expect.poll(isIdle).toBe(true);
/** The whole input of the graph that says so many words. */
const words = (count: number): string =>
  JSON.stringify({ messages: [{ type: 'human', content: 'hello' }], words: count, pause: 15, asks: false });
const lengthOf = 'document.querySelector(".entry.agent")?.textContent.length ?? 0';
const length = (): Promise<number> => page.evaluate(lengthOf);

describe('the chat page of dev', () => {
  test('shows the answer to a message token by token', async () => {
    await open('tools');
    await page.type('#text', 'hello\n');
    const answer = 'Agent: Ask me for the weather in a city, or to roll dice.';
    await expect.poll(() => entries()).toEqual(['You: hello', answer]);
    await ended();
    expect(await entries()).toEqual(['You: hello', answer]);
    const lengths = await page.evaluate<number[]>('[...window.lengths]');
    expect(lengths.filter((one) => one > 'Agent: '.length && one < answer.length).length).toBeGreaterThan(1);
    expect(await page.evaluate('document.querySelector("#text").value')).toBe('');
    await expect.poll(() => shown('#threads li')).toBe('hello');
  });

  test('sends a message once, however often Enter is pressed', async () => {
    await open('tools');
    const twice = 'for (const _ of [1, 2]) document.querySelector("#say").requestSubmit()';
    await page.evaluate(`document.querySelector("#text").value = "twice"; ${twice}`);
    await expect.poll(async () => (await entries()).length).toBe(2);
    await ended();
    const titles = '[...document.querySelectorAll("#threads button")].map(({ title }) => title)';
    await expect.poll(() => page.evaluate<string[]>(titles)).toContain('twice');
    expect((await page.evaluate<string[]>(titles)).filter((title) => title === 'twice')).toHaveLength(1);
  });

  test('shows a tool folded, with what it was asked and what it answered', async () => {
    await open('tools');
    await page.type('#text', 'The weather in Paris?\n');
    await expect.poll(() => shown('summary')).toBe('Tool weather answered');
    await ended();
    expect(await entries()).toHaveLength(3);
    expect((await entries()).at(-1)).toBe('Agent: The tool says: sunny, 22 °C');
    expect(await shown('details.use pre')).toBeUndefined();
    await page.click('details.use summary');
    expect(await page.evaluate('document.querySelector("details.use").innerText')).toMatch(/"city": "Paris"[\s\S]*sunny, 22 °C/);
  });

  test('says which graph can not be loaded and why, while the others answer', async () => {
    await open('tools');
    await expect
      .poll(async () => (await shown('#faults')) ?? '')
      .toMatch(/Graph "broken": .*broken\.ts can't be loaded: Error: There is no stove/);
    await page.type('#text', 'hello\n');
    await expect.poll(async () => (await entries()).at(-1)).toMatch(/^Agent: Ask me .* dice\.$/);
    await ended();
  });

  test('asks a question of the graph, and goes on with the answer', async () => {
    await open('approval');
    await page.type('#text', 'tea at four\n');
    const mail = 'Agent: Dear all, tea at four. Kind regards';
    await expect.poll(() => shown('#answers label')).toBe('Send this mail? Say yes, or what to change.');
    expect(await entries()).toEqual(['You: tea at four', mail]);
    expect(await shown('#say')).toBeUndefined();
    await page.reload();
    await expect.poll(() => shown('#answers label')).toBe('Send this mail? Say yes, or what to change.');
    await page.type('#answers input', 'yes\n');
    await expect.poll(() => entries()).toEqual(['You: tea at four', mail, 'Agent: The mail is sent.']);
    await ended();
    expect(await shown('#answers')).toBeUndefined();
    expect(await shown('#say')).toBeDefined();
  });

  test('stops a run, and says more afterwards', async () => {
    await open('chat');
    await page.type('#text', `${words(400)}\n`);
    await expect.poll(length).toBeGreaterThan(50);
    await page.click('#stop');
    await ended();
    expect(await shown('#error')).toBeUndefined();
    expect((await entries())[0]).toBe('You: hello');
    await page.type('#text', `${words(3)}\n`);
    await expect.poll(async () => (await entries()).at(-1)).toBe(`Agent: ${answerOf(3)}`);
    await ended();
    expect(await shown('#error')).toBeUndefined();
  });

  test('that is loaded again in the middle of a run shows all of it, once', async () => {
    await open('chat');
    await page.type('#text', `${words(60)}\n`);
    await expect.poll(length).toBeGreaterThan(100);
    await page.reload();
    await expect.poll(length).toBeGreaterThan(100);
    expect(await length()).toBeLessThan(answerOf(60).length);
    expect(await shown('#stop')).toBe('Stop');
    const whole = ['You: hello', `Agent: ${answerOf(60)}`];
    await expect.poll(() => entries()).toEqual(whole);
    await ended();
    expect(await entries()).toEqual(whole);
  });

  test('follows a run that goes on after the graphs were loaded again', async () => {
    await open('chat');
    await page.type('#text', `${words(60)}\n`);
    await expect.poll(length).toBeGreaterThan(100);
    dev.change('REASON="The stove is cold."\n');
    const whole = ['You: hello', `Agent: ${answerOf(60)}`];
    await expect.poll(() => dev.output()).toContain('reloaded');
    await expect.poll(() => entries()).toEqual(whole);
    await ended();
    expect(await shown('#error')).toBeUndefined();
    expect(await entries()).toEqual(whole);
  });

  test('says that a thread of the address is gone, and begins another one', async () => {
    await open('tools');
    await page.goto(`${dev.url}/docs`);
    await page.goto(`${dev.url}/chat#thread=00000000-0000-7000-8000-000000000000`);
    await expect.poll(async () => (await shown('#error')) ?? '').toContain('00000000-0000-7000-8000-000000000000');
    await page.evaluate('[...document.querySelector("#assistant").options].find(({ text }) => text === "tools").selected = true');
    await page.type('#text', 'hello\n');
    await expect.poll(async () => (await entries()).at(-1)).toMatch(/^Agent: Ask me .* dice\.$/);
    await ended();
  });

  test('shows why a graph failed, also when it is loaded again, until the next message', async () => {
    await open('failing');
    await page.type('#text', 'cook\n');
    await expect.poll(async () => (await shown('#error')) ?? '').toContain('The stove is');
    await ended();
    expect(await entries()).toEqual(['You: cook']);
    await expect.poll(() => shown('#threads .mark')).toBe('failed');
    await page.reload();
    await expect.poll(async () => (await shown('#error')) ?? '').toContain('The stove is');
    await page.click('#new');
    await expect.poll(() => shown('#error')).toBeUndefined();
  });
});
