import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { launch, type Browser, type Page } from './chromium.ts';
import { servePage } from './page-server.ts';

/* The page of the example talks to its agent by AG-UI, in a real browser and from another origin. */

const EXAMPLE = 'examples/ag-ui';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let agent: AgentProcess;
let browser: Browser;
let served: Awaited<ReturnType<typeof servePage>>;

beforeAll(async () => {
  const { chromium, packages } = inject('browser');
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: `${EXAMPLE}/gx.json` });
  const html = readFileSync(`${EXAMPLE}/index.html`, 'utf8');
  served = await servePage(packages, `${EXAMPLE}/page.js`, html);
  browser = await launch(chromium, packages);
});

afterAll(async () => {
  await browser?.close();
  served?.stop();
  await agent?.kill();
  await database?.drop();
});

const untilTrue = (page: Page, what: string, script: string): Promise<unknown> =>
  until(what, async () => (await page.evaluate<boolean>(script)) || undefined, 30);

const untilReady = (page: Page): Promise<unknown> =>
  untilTrue(page, 'the page is there', 'document.body.dataset.ready === "yes"');

const readTexts = (page: Page, selector: string): Promise<string[]> =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map((one) => one.textContent)`,
  );

async function write(page: Page, form: 'say' | 'add', text: string): Promise<void> {
  const field = `document.querySelector("#${form} input")`;
  await page.evaluate(`${field}.value = ${JSON.stringify(text)}`);
  await page.evaluate(`document.getElementById("${form}").requestSubmit()`);
}

async function open(): Promise<{ page: Page; failures: string[] }> {
  const page = await browser.newPage();
  const failures: string[] = [];
  page.on('pageerror', (error) => failures.push(error.message));
  await page.goto(`${served.url}/?api=${encodeURIComponent(agent.url)}`);
  await untilReady(page);
  return { page, failures };
}

test('a chat shows the words as they come, and the tool of the page is called', async () => {
  const { page, failures } = await open();
  await write(page, 'say', 'hello');
  const lengths = new Set<number>();
  const length = 'document.querySelector(".assistant")?.textContent.length ?? 0';
  await expect
    .poll(async () => lengths.add(await page.evaluate<number>(length)).size, { interval: 20 })
    .toBeGreaterThan(3);
  const answer = 'Say "add milk", "order", or "paint it yellow".';
  await expect.poll(() => readTexts(page, '#messages p')).toEqual(['hello', answer]);
  await write(page, 'say', 'paint it yellow');
  await expect.poll(() => readTexts(page, '.assistant')).toContain('Done: The page is yellow.');
  expect(await page.evaluate('document.body.style.background')).toBe('yellow');
  expect(failures).toEqual([]);
  await page.close();
});

test('page and agent share a list, and a question about it is there after a reload', async () => {
  const { page, failures } = await open();
  await write(page, 'add', 'bread');
  await write(page, 'say', 'add milk');
  await expect.poll(() => readTexts(page, '.assistant')).toEqual(['Done: milk is on the list.']);
  expect(await readTexts(page, '#items li')).toEqual(['bread', 'milk']);
  await write(page, 'say', 'order');
  const question = ['Order bread, milk?'];
  await expect.poll(() => readTexts(page, '#questions p')).toEqual(question);
  await page.reload();
  await untilReady(page);
  expect(await readTexts(page, '#questions p')).toEqual(question);
  expect(await readTexts(page, '#items li')).toEqual(['bread', 'milk']);
  await page.click('#questions button');
  await expect
    .poll(() => readTexts(page, '.assistant'))
    .toEqual(['Done: milk is on the list.', 'Done: ordered bread, milk.']);
  expect(await readTexts(page, '#items li')).toEqual([]);
  expect(await readTexts(page, '#questions p')).toEqual([]);
  expect(failures).toEqual([]);
  await page.close();
});
