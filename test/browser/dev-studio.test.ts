import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { launch, type Browser } from './chromium.ts';
import { OpenConsole } from './console/open-console.ts';
import { startDev, type DevServer } from './dev-server.ts';

/* The studio of `dev` in a real browser, in front of a real agent server. */

const GRAPHS = { chat: 'test/browser/graphs/chat.ts:chat' };

let dev: DevServer;
let browser: Browser;
let tab: OpenConsole;

beforeAll(async () => {
  dev = await startDev({ graphs: GRAPHS, dotEnv: '' });
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

test('it lists threads and shows one, without an account, a key or another server', async () => {
  await tab.shows('There are none.');
  const { thread_id: id } = await post<{ thread_id: string }>('/threads', { metadata: { title: 'A first talk' } });
  const input = { messages: [{ type: 'human', content: 'hello' }], words: 3, pause: 0, asks: false };
  await post(`/threads/${id}/runs/wait`, { assistant_id: 'chat', input });
  await tab.page.reload();
  await tab.shows('A first talk');
  await tab.press(id);
  await tab.shows('word0 word1 word2');
  const hosts = await tab.page.evaluate<string[]>(`performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin)`);
  expect(new Set(hosts)).toEqual(new Set([dev.url]));
});

test('the page is bound by the rules of the console', async () => {
  const { headers } = await fetch(`${dev.url}/studio`);
  expect(headers.get('content-security-policy')).toContain("script-src 'self'");
  expect((await fetch(`${dev.url}/studio/assets/..%2Findex.html`)).status).toBe(404);
});
