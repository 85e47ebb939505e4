import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { launch, type Browser } from './chromium.ts';
import { OpenConsole } from './console/open-console.ts';
import { startDev, type DevServer } from './dev-server.ts';

/* The studio in a real browser, in front of an agent whose names and words are all hostile. */

const HTML = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

let dev: DevServer;
let browser: Browser;
let tab: OpenConsole;
let thread: string;

beforeAll(async () => {
  dev = await startDev({ graphs: { hostile: 'test/browser/graphs/hostile.ts:hostile' }, dotEnv: '' });
  const { chromium, packages } = inject('browser');
  browser = await launch(chromium, packages);
  const metadata = { title: HTML, [HTML]: HTML, graph_id: 'hostile' };
  ({ thread_id: thread } = await post<{ thread_id: string }>('/threads', { metadata }));
  const input = { messages: [{ type: 'human', content: HTML }], asks: true };
  await post(`/threads/${thread}/runs/wait`, { assistant_id: 'hostile', input, config: { tags: [HTML] } });
});
afterAll(async () => {
  await browser?.close();
  await dev?.stop();
});
beforeEach(async () => {
  tab = await OpenConsole.open(browser, `${dev.url}/studio#/${thread}`);
});
afterEach(async () => {
  const { failures } = tab;
  if ((await tab.page.evaluate('window.hacked')) !== undefined) failures.push('a script of the agent ran');
  if (!(await tab.page.evaluate<string>('location.href')).startsWith(dev.url)) failures.push('the page has gone elsewhere');
  await tab.close();
  if (failures.length > 0) throw new Error(`The page has failed: ${failures.join(', ')}`);
});

async function post<Answer>(path: string, body: object): Promise<Answer> {
  const answer = await fetch(`${dev.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Answer;
}

/** Elements that the agent has made of its words, and addresses that are none of the page's own. */
const strange = (): Promise<string[]> =>
  tab.page.evaluate(`[...document.querySelectorAll('#content :is(img, script, iframe, object, embed, a)')]
    .filter((one) => !(one.localName === 'a' && one.getAttribute('href').startsWith('#/')))
    .map((one) => one.outerHTML.slice(0, 100))`);

/** Opens all that is folded, and clicks everything that a reader may click without harm. */
const openAll = (): Promise<void> =>
  tab.page.evaluate(
    `document.querySelectorAll('details').forEach((one) => (one.open = true)); document.querySelectorAll('.json-row button').forEach((one) => one.click())`,
  );

test('a conversation and a question are text', async () => {
  await tab.until('it asks', `document.querySelector('.questions') !== null`);
  await openAll();
  expect(await tab.text('.log')).toContain('<script>window.hacked=1</script>');
  expect(await tab.text('.questions')).toContain('<script>window.hacked=1</script>');
  expect(await strange()).toEqual([]);
});

test('a graph is drawn with its names as text, and huge ones are cut', async () => {
  await tab.press('Graph');
  await tab.until('it is drawn', `document.querySelectorAll('.drawing .node').length >= 3`);
  const texts = await tab.page.evaluate<string[]>(`[...document.querySelectorAll('.drawing text')].map(({ textContent }) => textContent)`);
  expect(texts.some((text) => text.startsWith('<img src=x'))).toBe(true);
  expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(50);
  expect(await tab.page.evaluate<number>(`document.querySelector('.drawing svg').viewBox.baseVal.width`)).toBeLessThan(2000);
  expect(await strange()).toEqual([]);
});

test('a history and its states are text, and their marks change no text beside them', async () => {
  await tab.press('Checkpoints');
  await tab.until('its state is there', `document.querySelector('.json-row') !== null`);
  await openAll();
  await tab.press('Compare with the one before');
  await tab.until('it is compared', `document.querySelector('.changes') !== null`);
  expect(await tab.text('.changes')).toContain('<script>');
  expect(await strange()).toEqual([]);
  const isolated = `[...document.querySelectorAll('.json-row > *, .changes :is(th, td) > *')].every((one) => getComputedStyle(one).unicodeBidi !== 'normal')`;
  expect(await tab.page.evaluate(isolated)).toBe(true);
});

test('lists, runs and titles are text', async () => {
  await tab.press('Runs');
  await tab.until('it is listed', `document.querySelector('tbody tr') !== null`);
  await tab.page.click('tbody th button');
  await tab.until('it is shown', `document.querySelectorAll('.record .json-row').length > 5`);
  await openAll();
  expect(await strange()).toEqual([]);
  await tab.press('Threads');
  await tab.shows('<script>window.hacked=1</script>');
  expect(await strange()).toEqual([]);
});
