import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { printLine } from '../../../dev/steps.ts';
import { until } from '../../kit/until.ts';
import { consoleOfAgent, type ConsoleOfAgent } from './console-of-agent.ts';
import { measured, share } from './goal.ts';

/* The way of a token from an agent to the pixel, beside a direct read of the same stream. */

const THREAD = '11111111-1111-4111-8111-111111111111';
const STREAM = `/threads/${THREAD}/runs/r1/stream`;
const TOKENS = 200;
const PAUSE = 50;
/** Tokens at the beginning that do not count, while the page compiles its code. */
const WARM = 20;

let scene: ConsoleOfAgent;
let readers: ServerResponse[] = [];
let isOver = false;

const now = (): number => performance.timeOrigin + performance.now();
const run = (): object[] => (isOver ? [] : [{ run_id: 'r1', status: 'running' }]);
const answers: [start: string, body: () => unknown][] = [
  ['POST /assistants/search', () => [{ assistant_id: 'a', graph_id: 'chat', name: 'chat' }]],
  [`GET /threads/${THREAD}/runs`, run],
  [
    `GET /threads/${THREAD}/state`,
    () => ({ values: { messages: [] }, next: [], interrupts: [], created_at: null }),
  ],
  [
    `GET /threads/${THREAD}`,
    () => ({ thread_id: THREAD, status: 'busy', metadata: { graph_id: 'chat' } }),
  ],
];

function answered({ method, url = '' }: IncomingMessage, reply: ServerResponse): void {
  if (url.startsWith(STREAM)) {
    reply.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    readers.push(reply);
    return;
  }
  const found = answers.find(([start]) => `${method} ${url}`.startsWith(start));
  reply
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify(found?.[1]() ?? []));
}

beforeAll(async () => {
  scene = await consoleOfAgent('console-tokens', { key: 'gxa_of-the-tokens', answered });
});
afterAll(() => scene?.stop());

/** Reads the stream at the agent itself. Returns when each token came. */
async function readDirectly(): Promise<Map<number, number>> {
  const { body } = await fetch(`${scene.agentUrl}${STREAM}`);
  const came = new Map<number, number>();
  for await (const piece of body!.pipeThrough(new TextDecoderStream()))
    for (const [, number] of piece.matchAll(/t(\d+) "/g)) came.set(Number(number), now());
  return came;
}

async function writeTokens(): Promise<void> {
  const send = (text: string): void => readers.forEach((one) => one.write(text));
  for (let number = 0; number < TOKENS; number += 1) {
    const token = JSON.stringify([{ type: 'AIMessageChunk', id: 'm', content: `t${number} ` }, {}]);
    send(`event: messages\ndata: ${token}\n\n`);
    await wait(PAUSE);
  }
  isOver = true;
  for (const reader of readers) reader.end();
  readers = [];
}

/** Notes in the page when each token is painted: behind the frame that first has it. */
const NOTES = `(() => {
  window.seen = [];
  let next = 0;
  new MutationObserver(() => {
    const last = Number([...document.querySelector('.log').innerText.matchAll(/t(\\d+)/g)].at(-1)?.[1] ?? -1);
    const from = next;
    next = Math.max(next, last + 1);
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { for (let at = from; at <= last; at += 1) window.seen[at] ??= performance.timeOrigin + performance.now(); };
      port2.postMessage(0);
    });
  }).observe(document.querySelector('.log'), { subtree: true, childList: true, characterData: true });
})()`;

test('a token is painted soon after a direct reader has it', async () => {
  const tab = await scene.stage.open(`d/${scene.deployment.id}/studio/${THREAD}`);
  await tab.signIn(scene.plane.keys.write);
  await until('the page reads', () => readers.length === 1);
  await tab.page.evaluate(NOTES);
  const reading = readDirectly();
  await until('both read', () => readers.length === 2);
  await writeTokens();
  const came = await reading;
  await tab.until('the last one is painted', `window.seen[${TOKENS - 1}] !== undefined`);
  const seen = await tab.page.evaluate<number[]>('window.seen');
  expect([came.size, seen.length]).toEqual([TOKENS, TOKENS]);
  const added = seen.map((at, number) => at - (came.get(number) ?? NaN)).slice(WARM);
  measured('a token to the pixel, behind a direct read, p50', share(added, 0.5), 15);
  printLine(
    `    the same, p99 and the most: ${share(added, 0.99).toFixed(0)} ms, ${Math.max(...added).toFixed(0)} ms`,
  );
  expect(tab.failures).toEqual([]);
  await tab.close();
});
