import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { HttpAgent } from '@ag-ui/client';
import { ProxiedCopilotRuntimeAgent } from '@copilotkit/core';
import { CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';

/*
 * CopilotKit's pages and a server, with CopilotKit's runtime between them, or by the paths that the server has of it: a
 * run, a page that is loaded again, a question that is answered as useInterrupt does it, a run that is stopped, and two
 * users at once. Arguments: the server's url; `direct` for a page without the runtime.
 */

const [server, way] = process.argv.slice(2);
const report = (line) => process.stdout.write(`${line}\n`);
const runtime = new CopilotRuntime({
  agents: {
    chat: new HttpAgent({ url: `${server}/ag-ui/chat` }),
    approval: new HttpAgent({ url: `${server}/ag-ui/approval` }),
  },
});
const listener = createCopilotNodeListener({ runtime, basePath: '/api/copilotkit' });
const front = createServer(listener).listen(0, '127.0.0.1');
await once(front, 'listening');
const runtimeUrl =
  way === 'direct'
    ? `${server}/copilotkit`
    : `http://127.0.0.1:${front.address().port}/api/copilotkit`;

const newPage = (agentId, threadId = randomUUID()) =>
  new ProxiedCopilotRuntimeAgent({ runtimeUrl, agentId, threadId, runtimeMode: 'sse' });
const say = (page, content) => page.addMessage({ id: randomUUID(), role: 'user', content });
const ask = async (path) => (await fetch(`${server}${path}`)).json();
const stateOf = async ({ threadId }) => (await ask(`/threads/${threadId}/state`)).values;
const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('');
const shown = ({ messages }) =>
  messages.filter(({ role }) => role !== 'reasoning').map(({ content }) => textOf(content));

/** Checks that the page shows the texts that the thread holds. */
async function checkPage(page) {
  const { messages } = await stateOf(page);
  assert.deepEqual(
    shown(page),
    messages.map(({ content }) => textOf(content)),
  );
}

const page = newPage('chat');
for (const text of ['hello there', 'calls', 'think']) {
  say(page, text);
  await page.runAgent();
  await checkPage(page);
}
report('run: three turns, with tools and reasoning, are those of the thread');

const again = newPage('chat', page.threadId);
await again.connectAgent();
assert.deepEqual(shown(again), shown(page));
report('reload: a new page has them all');

const asking = newPage('approval');
say(asking, 'go');
let finished;
const subscriber = { onRunFinishedEvent: ({ event }) => void (finished = event) };
await asking.runAgent({}, subscriber);
const [question] = finished.outcome.interrupts;
assert.equal(question.message, 'May I?');
const payload = { ok: true };
// useInterrupt answers under the id of the run that asked.
await asking.runAgent(
  { runId: finished.runId, resume: [{ interruptId: question.id, status: 'resolved', payload }] },
  subscriber,
);
assert.equal(shown(asking).at(-1), 'You said {"ok":true}.');
await checkPage(asking);
report('question: answered under the id of the run that asked');

const stopped = newPage('chat');
say(stopped, 'slow');
const heard = [];
const ended = stopped.runAgent(
  {},
  { onTextMessageContentEvent: ({ event }) => void heard.push(event) },
);
ended.catch(() => undefined);
while (heard.length < 3) await wait(20);
const at = performance.now();
stopped.abortRun();
const statusOf = async () => (await ask(`/threads/${stopped.threadId}/runs`))[0].status;
while ((await statusOf()) === 'running') await wait(20);
const took = performance.now() - at;
assert.equal(await statusOf(), 'interrupted');
assert.ok(took < 3000, `the run goes on for ${took} ms`);
await ended.catch(() => undefined);
report(`stop: the run ended ${Math.round(took)} ms later`);

if (way === 'direct') {
  const gone = newPage('chat');
  say(gone, 'slow');
  // Whoever waits for the end of the run within it waits for ever.
  await gone.runAgent({}, { onTextMessageContentEvent: () => void gone.detachActiveRun() });
  const back = newPage('chat', gone.threadId);
  await back.connectAgent();
  assert.deepEqual(shown(back), ['slow', 'slow '.repeat(40)]);
  report('reload in the middle: the run has gone on, and a new page has all of it');
}

const users = ['ann', 'bob'].map((name) => ({ name, page: newPage('chat') }));
await Promise.all(
  users.map(async ({ name, page: own }) => {
    for (let turn = 0; turn < 5; turn += 1) {
      say(own, `${name} ${turn}`);
      await own.runAgent();
    }
    await checkPage(own);
    assert.ok(shown(own).every((text) => text.includes(name)));
  }),
);
report('two users: five turns each at the same time, each with their own');
process.exit(0);
