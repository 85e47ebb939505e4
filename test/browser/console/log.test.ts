import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { printLine } from '../../../dev/steps.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { creation, startPlane, type Plane } from '../../control-plane/kit/api-server-plane.ts';
import type { LogFeed } from './console-server.ts';
import { openConsole, type ConsoleStage, type OpenConsole } from './open-console.ts';

/* The page follows a log of a stream that the test writes, because the API server of the tests has no pods. */

let plane: Plane;
let stage: ConsoleStage;
let tab: OpenConsole;
let id: string;
/** All lines so far. A stream sends those behind the id that it is asked for, and each that comes. */
const lines: string[] = [];
const open = new Set<() => void>();

const feed: LogFeed = (incoming, response) => {
  const after = incoming.headers['last-event-id'];
  let at = after === undefined ? 0 : Number(after) + 1;
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const send = (): void => {
    let text = '';
    for (; at < lines.length; at += 1)
      text += `event: log\r\ndata: ${lines[at]}\r\nid: ${at}\r\n\r\n`;
    if (text !== '') response.write(text);
  };
  open.add(send);
  response.on('close', () => open.delete(send));
  send();
};

const write = (messages: string[], level = 'INFO'): void => {
  const now = new Date().toISOString();
  for (const message of messages)
    lines.push(JSON.stringify({ id: '', timestamp: now, level, message }));
  for (const send of open) send();
};
const numbered = (from: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `line ${from + index}`);

beforeAll(async () => {
  plane = await startPlane('console-log');
  id = (await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('chatty') })).body
    .id;
  stage = await openConsole(plane.url, feed);
  const first = await stage.open();
  await first.signIn(plane.keys.read);
  await first.close();
});
afterAll(async () => {
  await stage?.stop();
  await plane?.stop();
});
beforeEach(async () => {
  lines.length = 0;
  write(numbered(0, 500));
  tab = await stage.open(`d/${id}/logs`);
  await tab.shows('500 lines');
});
afterEach(async () => {
  const { failures } = tab;
  await tab.close();
  if (failures.length > 0) throw new Error(`The page has failed: ${failures.join(', ')}`);
});

const drawn = (): Promise<string[]> =>
  tab.page.evaluate(
    `[...document.querySelectorAll('.log-lines .line')].map((one) => one.lastChild.textContent)`,
  );

test('follows the end, stops when the reader scrolls up, and goes on when asked', async () => {
  await expect.poll(async () => (await drawn()).at(-1)).toBe('line 499');
  write(['newest']);
  await expect.poll(async () => (await drawn()).at(-1)).toBe('newest');
  await tab.page.evaluate(`document.querySelector('.log-lines').scrollTo({ top: 1000 })`);
  await tab.until('it stops', `document.querySelector('.follow') !== null`);
  write(numbered(1000, 3));
  await tab.shows('Follow (3 new)');
  expect(await tab.page.evaluate(`document.querySelector('.log-lines').scrollTop`)).toBe(1000);
  await tab.page.evaluate(`document.querySelector('.follow').click()`);
  await expect.poll(async () => (await drawn()).at(-1)).toBe('line 1002');
});

test('has no gap and no repeat after a connection that was away', async () => {
  stage.server.cut();
  write(numbered(500, 100));
  await tab.shows('The connection is lost');
  stage.server.mend();
  await tab.shows('600 lines');
  await tab.page.evaluate(
    `[...document.querySelectorAll('label')].find((one) => one.innerText.trim() === 'Wrap').click()`,
  );
  await expect.poll(drawn).toEqual(numbered(0, 600));
});

test('finds lines by level and text, in those that come later, too', async () => {
  write(['the stove is cold'], 'ERROR');
  await tab.page.type('[name=find]', 'STOVE');
  await tab.shows('1 of 501 lines');
  write(['another stove', 'something else']);
  await tab.shows('2 of 503 lines');
  await tab.page.evaluate(
    `(select => { select.value = 'ERROR'; select.dispatchEvent(new Event('change', { bubbles: true })); })(document.querySelector('.log select'))`,
  );
  await tab.shows('1 of 503 lines');
  expect(await drawn()).toEqual(['the stove is cold']);
});

test('a line of 5 MB and markup in a line are text', async () => {
  write([`<img src=x onerror=alert(1)>${'x'.repeat(5_000_000)}`]);
  await tab.shows('501 lines');
  const last = (await drawn()).at(-1) ?? '';
  expect(last).toMatch(
    /^<img src=x onerror=alert\(1\)>x+ … 5000028 characters; the download has all$/,
  );
  expect(last.length).toBeLessThan(5000);
});

test('100,000 lines at 2,000 a second leave the page quick', async () => {
  await tab.page.evaluate(
    `window.tasks = []; new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => window.tasks.push(duration))).observe({ entryTypes: ['longtask'] })`,
  );
  write(numbered(0, 90_000));
  await tab.shows('90500 lines');
  await tab.page.evaluate('window.tasks.length = 0');
  for (let at = 0; at < 100; at += 1) {
    write(numbered(at * 100, 100));
    await new Promise((done) => setTimeout(done, 50));
  }
  await tab.shows('older ones are no longer kept');
  const longest = Math.max(0, ...(await tab.page.evaluate<number[]>('window.tasks')));
  printLine(
    `    longest task while 2,000 lines a second come: ${longest.toFixed(0)} ms   goal 100 ms: ${longest <= 100 ? 'met' : 'MISSED'}`,
  );
  expect(longest).toBeLessThan(300);
  expect(await tab.page.evaluate('document.querySelectorAll("*").length')).toBeLessThan(1500);
});
