import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startPair, type AgentPair } from '../kit/agent-pair.ts';
import { launch, type Browser } from './chromium.ts';
import { answerOf, OpenChat } from './open-chat.ts';

/* A page with the vendor's hooks in a real browser, on a server whose runs are in another process. */

let pair: AgentPair;
let browser: Browser;

beforeAll(async () => {
  pair = await startPair({}, 'test/browser/graphs/gx.json');
  const { chromium, packages } = inject('browser');
  browser = await launch(chromium, packages);
});

afterAll(async () => {
  await browser?.close();
  await pair?.stop();
});

const lengthOf = 'document.querySelector("li.ai")?.textContent.length ?? 0';

describe.each(['sse', 'websocket'] as const)('a chat over %s', (transport) => {
  test('shows what is said as it comes, asks, and goes on with the answer', async () => {
    const words = 40;
    const chat = await OpenChat.open(browser, {
      api: pair.api.url,
      transport,
      input: { words, pause: 15, asks: true },
    });
    await chat.send();
    const lengths = new Set<number>();
    await expect
      .poll(async () => lengths.add(await chat.page.evaluate<number>(lengthOf)).size, {
        interval: 20,
      })
      .toBeGreaterThan(5);
    expect(Math.max(...lengths)).toBeLessThan(answerOf(words).length);
    await chat.until('the question is there', 'document.querySelector(".question") !== null');
    expect(await chat.messages()).toEqual(['human: hello', `ai: ${answerOf(words)}`]);
    await chat.page.click('.question button');
    await chat.until('the answer to it is there', 'document.querySelectorAll("li").length === 3');
    expect(await chat.messages()).toEqual([
      'human: hello',
      `ai: ${answerOf(words)}`,
      'ai: You said yes.',
    ]);
    await chat.until(
      'the run has ended',
      'document.querySelector("section").dataset.loading === "false"',
    );
    expect(chat.failures).toEqual([]);
    await chat.close();
  });

  test('that is loaded again in the middle of a run shows all of it, once', async () => {
    const words = 60;
    const chat = await OpenChat.open(browser, {
      api: pair.api.url,
      transport,
      record: true,
      input: { words, pause: 15, asks: false },
    });
    await chat.send();
    await chat.until('something was said', `${lengthOf} > 100`);
    await chat.page.reload();
    await chat.until('what was said is there again', `${lengthOf} > 100`);
    expect(await chat.page.evaluate<number>(lengthOf)).toBeLessThan(answerOf(words).length);
    await chat.until('the run has ended', `${lengthOf} === ${answerOf(words).length}`);
    await chat.until('it is told', 'window.told.at(-1)?.method === "lifecycle"');
    expect(await chat.messages()).toEqual(['human: hello', `ai: ${answerOf(words)}`]);
    const told = await chat.told();
    expect(told.map(({ seq }) => seq)).toEqual(told.map((_, at) => at + 1));
    expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
    await chat.close();
  });
});

describe('a page', () => {
  /** Connections that Chromium opens to one server with HTTP/1.1; a seventh request waits for one of them. */
  const CONNECTIONS = 6;

  test('with eight subscriptions leaves connections for its commands', async () => {
    const input = { words: 5, pause: 10, asks: true };
    const chat = await OpenChat.open(browser, { api: pair.api.url, channels: true, input });
    await chat.send();
    await chat.until('the question is there', 'document.querySelector(".question") !== null');
    await chat.page.click('.question button');
    await chat.until('the answer to it is there', 'document.querySelectorAll("li").length === 3');
    const shown = { lifecycle: '4', input: '1', custom: '1', progress: 'answer', tools: '0' };
    await expect.poll(() => chat.channels()).toMatchObject(shown);
    expect(Object.keys(await chat.channels())).toHaveLength(8);
    expect(chat.streams.most).toBeLessThan(CONNECTIONS - 1);
    await chat.close();
  });

  test('with eight chats has one connection for each over WebSocket, and all of them go on', async () => {
    const chats = 8;
    const words = 10;
    const input = { words, pause: 10, asks: false };
    const chat = await OpenChat.open(browser, {
      api: pair.api.url,
      transport: 'websocket',
      chats,
      input,
    });
    await chat.send();
    await chat.until(
      'all have answered',
      `[...document.querySelectorAll("li.ai")].filter((li) => li.textContent.endsWith("word${words - 1}")).length === ${chats}`,
    );
    expect(chat.streams.most).toBe(0);
    await chat.close();
  });
});
