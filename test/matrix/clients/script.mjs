import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { Client } from '@langchain/langgraph-sdk';

/*
 * Takes one client through the interface: thread, wait, stream, join, cancel, webhook, state, search, store, event
 * streaming.
 * Argument: url.
 */

const [apiUrl] = process.argv.slice(2);
const name = 'npm';
const client = new Client({ apiUrl, apiKey: null });

// The server keeps what earlier runs of this script left.
const by = `${name} ${randomUUID()}`;
const { thread_id } = await client.threads.create({ metadata: { by } });
const input = { left: 2, pause: 10 };
assert.equal((await client.runs.wait(thread_id, 'steps', { input })).done, 2);
const events = await Array.fromAsync(
  client.runs.stream(thread_id, 'steps', { input, streamMode: ['values', 'custom'] }),
);
assert.equal(events[0].event, 'metadata');
assert.deepEqual(
  events.filter(({ event }) => event === 'custom').map(({ data }) => data.left),
  [2, 1],
);
const run = await client.runs.create(thread_id, 'steps', { input });
assert.equal((await client.runs.join(thread_id, run.run_id)).done, 6);
const long = await client.runs.create(thread_id, 'steps', { input: { left: 200, pause: 1000 } });
await client.runs.cancel(thread_id, long.run_id, true);
assert.equal((await client.runs.get(thread_id, long.run_id)).status, 'interrupted');
const receiver = createServer().listen(0, '127.0.0.1');
await once(receiver, 'listening');
const webhook = `http://127.0.0.1:${receiver.address().port}/`;
const [told] = await Promise.all([
  once(receiver, 'request'),
  client.runs.create(thread_id, 'steps', { input, webhook }),
]);
assert.partialDeepStrictEqual(await json(told[0]), {
  thread_id,
  status: 'success',
  values: { done: 8 },
});
told[1].writeHead(204).end();
receiver.close();
assert.deepEqual(
  (await client.threads.search({ metadata: { by } })).map((thread) => thread.thread_id),
  [thread_id],
);
await client.store.putItem(['sdk', name], 'k', { a: 1 });
assert.deepEqual((await client.store.getItem(['sdk', name], 'k')).value, { a: 1 });
assert.equal((await client.store.searchItems(['sdk', name])).items.length, 1);

// A question, its answer, the history that led there, and a branch of it.
const asked = await client.threads.create();
const question = await client.runs.wait(asked.thread_id, 'approval', { input: { request: 'go' } });
assert.deepEqual(question.__interrupt__[0].value, { question: 'May I go?' });
assert.equal((await client.threads.get(asked.thread_id)).status, 'interrupted');
assert.equal(
  (await client.runs.wait(asked.thread_id, 'approval', { command: { resume: 'yes' } })).answer,
  'yes',
);
const history = await client.threads.getHistory(asked.thread_id);
assert.deepEqual(history.map(({ values }) => values.answer).filter(Boolean), ['yes']);
const copy = await client.threads.copy(asked.thread_id);
await client.threads.updateState(copy.thread_id, { values: { answer: 'no' }, asNode: 'ask' });
assert.equal((await client.threads.getState(copy.thread_id)).values.answer, 'no');

// A reader that leaves comes back where it was.
const { run_id } = await client.runs.create(thread_id, 'steps', {
  input,
  streamMode: ['custom'],
  streamResumable: true,
});
await client.runs.join(thread_id, run_id);
const replayed = await Array.fromAsync(
  client.runs.joinStream(thread_id, run_id, { lastEventId: '-1', streamMode: 'custom' }),
);
const [, first, ...others] = replayed;
const resumed = await Array.fromAsync(
  client.runs.joinStream(thread_id, run_id, { lastEventId: first.id, streamMode: 'custom' }),
);
assert.deepEqual(resumed, others);

// Old versions of the package have no event streaming.
for (const transport of client.threads.stream === undefined ? [] : ['sse', 'websocket']) {
  const thread = client.threads.stream({ assistantId: 'agent', transport });
  const tokens = [];
  const reading = (async () => {
    for await (const message of thread.messages) {
      for await (const token of message.text) tokens.push(token);
      return;
    }
  })();
  await thread.run.start({ input: { messages: [{ role: 'user', content: 'hello' }] } });
  await reading;
  assert.deepEqual(tokens, ['Hello', ' from', ' the', ' agent.']);
  assert.deepEqual((await thread.output).messages.at(-1).content, [
    { type: 'text', text: 'Hello from the agent.' },
  ]);
  await thread.close();

  const asking = client.threads.stream({ assistantId: 'approval', transport });
  await asking.run.start({ input: { request: 'go' } });
  await asking.output;
  assert.equal(asking.interrupts.length, 1);
  const [{ interruptId: interrupt_id, namespace, payload }] = asking.interrupts;
  assert.deepEqual(payload, { question: 'May I go?' });
  const values = (async () => {
    for await (const value of asking.values) if (value.answer === 'yes') return;
  })();
  await asking.input.respond({ interrupt_id, namespace, response: 'yes' });
  await values;
  await asking.close();
}
