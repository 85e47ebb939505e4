import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startPair, type AgentPair } from '../kit/agent-pair.ts';
import { badWire, type BadWire } from '../kit/bad-wire.ts';
import { launch, type Browser } from './chromium.ts';
import { answerOf, OpenChat } from './open-chat.ts';

/* A tab sleeps for a minute in the middle of a run, like that of a laptop whose lid was closed. */

const ASLEEP = 60_000;

let pair: AgentPair;
let wire: BadWire;
let browser: Browser;

beforeAll(async () => {
  pair = await startPair({}, 'test/browser/graphs/gx.json');
  wire = await badWire(pair.api.url);
  const { chromium, packages } = inject('browser');
  browser = await launch(chromium, packages);
});

afterAll(async () => {
  await browser?.close();
  wire?.stop();
  await pair?.stop();
});

const CHATS = [
  // The run ends while the tab sleeps, or goes on when it is awake again.
  { transport: 'sse', words: 100, pause: 50 },
  { transport: 'sse', words: 160, pause: 70 },
  { transport: 'websocket', words: 160, pause: 70 },
] as const;

async function open({ transport, words, pause }: (typeof CHATS)[number]): Promise<OpenChat> {
  const chat = await OpenChat.open(browser, {
    api: wire.url,
    transport,
    record: true,
    input: { words, pause, asks: false },
  });
  await chat.page.evaluate('setInterval(() => (window.ticks = (window.ticks ?? 0) + 1), 1000)');
  await chat.send();
  await chat.until(
    'something was said',
    '(document.querySelector("li.ai")?.textContent.length ?? 0) > 20',
  );
  return chat;
}

const turn = (chats: OpenChat[], state: 'frozen' | 'active'): Promise<unknown> =>
  Promise.all(chats.map(({ session }) => session.send('Page.setWebLifecycleState', { state })));

test('has missed nothing and has nothing twice when it wakes up', async () => {
  const chats: OpenChat[] = [];
  for (const one of CHATS) chats.push(await open(one));
  await turn(chats, 'frozen');
  wire.cut();
  await wait(ASLEEP);
  const ticks = await Promise.all(chats.map(({ page }) => page.evaluate<number>('window.ticks')));
  wire.mend();
  await turn(chats, 'active');
  for (const [at, chat] of chats.entries()) {
    const { words } = CHATS[at]!;
    await chat.until(
      'the run has ended',
      `document.querySelector("li.ai").textContent.length === ${answerOf(words).length}`,
      60,
    );
    await chat.until('it is told', 'window.told.at(-1)?.method === "lifecycle"');
    expect(await chat.messages()).toEqual(['human: hello', `ai: ${answerOf(words)}`]);
    const told = await chat.told();
    expect(told.map(({ seq }) => seq)).toEqual(told.map((_, index) => index + 1));
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
    expect(chat.failures).toEqual([]);
  }
  // The tabs slept: a page that is awake counts the seconds.
  expect(Math.max(...ticks)).toBeLessThan(ASLEEP / 1000 / 2);
});
