import assert from 'node:assert/strict';
import { Client } from '@langchain/langgraph-sdk';
import { until } from '../kit/until.ts';

/**
 * Does what a user does with the graph of test/matrix/project: a streamed run that ends in a question, its state, and
 * the answer.
 */
export async function play(apiUrl: string): Promise<void> {
  const client = new Client({ apiUrl, apiKey: null });
  const { thread_id } = await client.threads.create();
  const input = { topic: 'tea', messages: [{ role: 'user', content: 'hello' }] };
  const stream = client.runs.stream(thread_id, 'talk', {
    input,
    streamMode: ['values', 'updates', 'messages-tuple'],
  });
  const events = await Array.fromAsync(stream as AsyncIterable<{ event: string; data: unknown }>);

  const tokens = events
    .filter(({ event }) => event === 'messages')
    .map(({ data }) => (data as [{ content: string }])[0].content);
  assert.ok(
    tokens.length > 5,
    `tokens are streamed one by one, but ${JSON.stringify(events)} came`,
  );
  assert.equal(tokens.join(''), 'Tea it is.');
  const updates = events
    .filter(({ event }) => event === 'updates')
    .map(({ data }) => Object.keys(data as object));
  assert.deepEqual(updates, [['answer'], ['__interrupt__']]);

  const asked = await client.threads.getState<State>(thread_id);
  assert.deepEqual(asked.next, ['ask']);
  assert.deepEqual(asked.tasks[0]?.interrupts[0]?.value, { question: 'More about tea?' });
  assert.deepEqual(
    asked.values.messages.map(({ type }) => type),
    ['human', 'ai'],
  );

  const answered = (await client.runs.wait(thread_id, 'talk', {
    command: { resume: 'yes' },
  })) as State;
  assert.deepEqual(answered.notes, ['answered', 'told yes']);
  assert.deepEqual((await client.threads.getState<State>(thread_id)).values, answered);
  assert.equal((await client.threads.get(thread_id)).status, 'idle');

  await playEvents(client, input);

  const [assistant] = await client.assistants.search({ graphId: 'talk' });
  const { state_schema: schema } = await client.assistants.getSchemas(assistant!.assistant_id);
  assert.deepEqual(schema?.properties?.['topic'], { type: 'string' });
}

/** Does the same through event streaming: tokens in blocks, the question and its answer. */
async function playEvents(client: Client, input: object): Promise<void> {
  const stream = client.threads.stream({ assistantId: 'talk' });
  const reading = (async () => {
    for await (const message of stream.messages) {
      const tokens = await Array.fromAsync(message.text);
      if (tokens.length > 1) return { tokens, whole: await message.text };
    }
    return undefined;
  })();
  await stream.run.start({ input });
  const said = await reading;
  assert.ok(
    said !== undefined && said.tokens.length > 5,
    `tokens are streamed one by one, but ${JSON.stringify(said)} came`,
  );
  assert.equal(said.whole, 'Tea it is.');
  await stream.output;
  const [
    { interruptId: interrupt_id, namespace, payload } = {
      interruptId: '',
      namespace: [],
      payload: undefined,
    },
  ] = stream.interrupts;
  assert.deepEqual(payload, { question: 'More about tea?' });
  await stream.input.respond({ interrupt_id, namespace, response: 'yes' });
  await until(
    'the run has ended',
    async () => (await client.threads.get(stream.threadId)).status === 'idle',
  );
  const { values } = (await stream.state.get({ namespace: [] })) as { values: State };
  assert.deepEqual(values.notes, ['answered', 'told yes']);
  await stream.close();
}

type State = { messages: { type: string }[]; notes: string[] };
