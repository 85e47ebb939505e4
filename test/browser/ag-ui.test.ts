import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { freshDatabase } from '../kit/postgres.ts';
import { until } from '../kit/until.ts';
import { launch, type Browser, type Page } from './chromium.ts';
import { servePage } from './page-server.ts';

/* A page that talks to an agent by AG-UI, in a real browser and from another origin. */

let database: Awaited<ReturnType<typeof freshDatabase>>;
let agent: AgentProcess;
let browser: Browser;
let served: Awaited<ReturnType<typeof servePage>>;

beforeAll(async () => {
  const { chromium, packages } = inject('browser');
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri, config: 'test/agent/ag-ui/graphs/gx.json' });
  served = await servePage(packages, 'test/browser/page/ag-ui.js');
  browser = await launch(chromium, packages);
});

afterAll(async () => {
  await browser?.close();
  served?.stop();
  await agent?.kill();
  await database?.drop();
});

type Shown = { page: Page; failures: string[]; messages: () => Promise<string[]> };

const untilTrue = (page: Page, what: string, script: string): Promise<unknown> =>
  until(what, async () => (await page.evaluate<boolean>(script)) || undefined, 30);

async function open(name: string): Promise<Shown> {
  const page = await browser.newPage();
  const failures: string[] = [];
  page.on('pageerror', (error) => failures.push(error.message));
  const query = new URLSearchParams({ api: agent.url, agent: name, thread: randomUUID() });
  await page.goto(`${served.url}/?${query.toString()}`);
  await untilTrue(page, 'the page is there', 'document.body.dataset.ready === "yes"');
  const script =
    '[...document.querySelectorAll("li")].map((li) => `${li.className}: ${li.textContent}`)';
  return { page, failures, messages: () => page.evaluate<string[]>(script) };
}

const hasEnded = 'document.body.dataset.runs === "no"';

test('a chat shows the words as they come', async () => {
  const { page, failures, messages } = await open('chat');
  await page.evaluate('void say("a bit slow")');
  const lengths = new Set<number>();
  const length = 'document.querySelector("li.assistant")?.textContent.length ?? 0';
  await expect
    .poll(async () => lengths.add(await page.evaluate<number>(length)).size, { interval: 20 })
    .toBeGreaterThan(3);
  await untilTrue(page, 'the run has ended', hasEnded);
  expect(await messages()).toEqual(['user: a bit slow', `assistant: ${'slow '.repeat(12)}`]);
  expect(failures).toEqual([]);
  await page.close();
});

test('a question is there after a reload, and is answered', async () => {
  const { page, failures, messages } = await open('approval');
  await page.evaluate('void say("go")');
  const isAsked = 'document.querySelector(".question")?.textContent === "May I?"';
  await untilTrue(page, 'the question is there', isAsked);
  await untilTrue(page, 'the run has ended', hasEnded);
  await page.reload();
  await untilTrue(page, 'the question is there again', isAsked);
  await page.click('.question');
  await untilTrue(page, 'the run has ended', hasEnded);
  expect(await messages()).toEqual(['user: go', 'assistant: You said "yes".']);
  expect(failures).toEqual([]);
  await page.close();
});

test('page and graph share a state', async () => {
  const { page, failures } = await open('shared');
  await page.evaluate('void setNote("from the page")');
  await untilTrue(page, 'the run has ended', hasEnded);
  const readState = async (): Promise<unknown> =>
    JSON.parse(await page.evaluate<string>('document.querySelector("main").dataset.state'));
  const state = await readState();
  expect(state).toMatchObject({ note: 'from the page!' });
  await page.reload();
  await untilTrue(page, 'the page is there again', 'document.body.dataset.ready === "yes"');
  expect(await readState()).toEqual(state);
  expect(failures).toEqual([]);
  await page.close();
});
