import { beforeAll, expect, test } from 'vitest';
import { studioOfDev } from './studio-of-dev.ts';

/* The studio in a real browser, in front of an agent whose names and words are all hostile. */

const HTML = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

let thread: string;
const studio = studioOfDev(
  () => ({ graphs: { hostile: 'test/browser/graphs/hostile.ts:hostile' }, dotEnv: '' }),
  {
    hash: () => `#/${thread}`,
  },
);

beforeAll(async () => {
  const metadata = { title: HTML, [HTML]: HTML, graph_id: 'hostile' };
  ({ thread_id: thread } = await studio.post<{ thread_id: string }>('/threads', { metadata }));
  const input = { messages: [{ type: 'human', content: HTML }], asks: true };
  await studio.post(`/threads/${thread}/runs/wait`, {
    assistant_id: 'hostile',
    input,
    config: { tags: [HTML] },
  });
});

/** Elements that the agent has made of its words, and addresses that are none of the page's own. */
const strange = (): Promise<string[]> =>
  studio.tab.page
    .evaluate(`[...document.querySelectorAll('#content :is(img, script, iframe, object, embed, a)')]
    .filter((one) => !(one.localName === 'a' && one.getAttribute('href').startsWith('#/')))
    .map((one) => one.outerHTML.slice(0, 100))`);

/** Opens all that is folded, and clicks everything that a reader may click without harm. */
const openAll = (): Promise<void> =>
  studio.tab.page.evaluate(
    `document.querySelectorAll('details').forEach((one) => (one.open = true)); document.querySelectorAll('.json-row button').forEach((one) => one.click())`,
  );

test('a conversation and a question are text', async () => {
  await studio.tab.until('it asks', `document.querySelector('.questions') !== null`);
  await openAll();
  expect(await studio.tab.text('.log')).toContain('<script>window.hacked=1</script>');
  expect(await studio.tab.text('.questions')).toContain('<script>window.hacked=1</script>');
  expect(await strange()).toEqual([]);
});

test('a graph is drawn with its names as text, and huge ones are cut', async () => {
  await studio.tab.until('it is drawn', `document.querySelectorAll('.drawing .node').length >= 3`);
  const texts = await studio.tab.page.evaluate<string[]>(
    `[...document.querySelectorAll('.drawing text')].map(({ textContent }) => textContent)`,
  );
  expect(texts.some((text) => text.startsWith('<img src=x'))).toBe(true);
  expect(Math.max(...texts.map((text) => text.length))).toBeLessThan(50);
  expect(
    await studio.tab.page.evaluate<number>(
      `document.querySelector('.drawing svg').viewBox.baseVal.width`,
    ),
  ).toBeLessThan(2000);
  expect(await strange()).toEqual([]);
});

test('a history and its states are text, and their marks change no text beside them', async () => {
  await studio.tab.press('History');
  await studio.tab.until('its state is there', `document.querySelector('.json-row') !== null`);
  await openAll();
  await studio.tab.press('Compare with previous');
  await studio.tab.until('it is compared', `document.querySelector('.changes') !== null`);
  expect(await studio.tab.text('.changes')).toContain('<script>');
  expect(await strange()).toEqual([]);
  const isolated = `[...document.querySelectorAll('.json-row > *, .changes :is(th, td) > *')].every((one) => getComputedStyle(one).unicodeBidi !== 'normal')`;
  expect(await studio.tab.page.evaluate(isolated)).toBe(true);
});

test('lists, runs and titles are text', async () => {
  await studio.tab.press('Runs');
  await studio.tab.until('it is listed', `document.querySelector('tbody tr') !== null`);
  await studio.tab.page.click('tbody th button');
  await studio.tab.until(
    'it is shown',
    `document.querySelectorAll('.record .json-row').length > 5`,
  );
  await openAll();
  expect(await strange()).toEqual([]);
  await studio.tab.press('Threads');
  await studio.tab.shows('<script>window.hacked=1</script>');
  expect(await strange()).toEqual([]);
});
