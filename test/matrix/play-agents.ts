import assert from 'node:assert/strict';
import { Client } from '@langchain/langgraph-sdk';
import { StreamController } from '@langchain/langgraph-sdk/stream';
import { until } from '../kit/until.ts';

/* What a page asks of the agents of test/matrix/agents: what they say, and what their streams report of subagents. */

type Started = {
  event: string;
  graph_name: string;
  cause?: { type: string; tool_call_id: string };
};
type Lifecycle = { namespace: string[]; data: Started };
type Event = { method: string; params: { namespace: string[]; data: Started } };

const input = { messages: [{ role: 'user', content: 'hello' }] };

export async function playAgents(apiUrl: string): Promise<void> {
  const client = new Client({ apiUrl, apiKey: null });
  await playOne(client, 'agent', {
    name: 'forecaster',
    call: 'call-forecast',
    said: 'Take an umbrella.',
  });
  await playOne(client, 'deep', {
    name: 'researcher',
    call: 'call-task',
    said: 'Tea grows in Asia.',
  });
  await playExtension(client);
  await playSubagents(client);
  await playPage(client);
  await playState(client);
}

/**
 * Checks that the agent's subagent begins with its own name and its cause, and that its messages have its own
 * namespace.
 */
async function playOne(
  client: Client,
  assistantId: string,
  sub: { name: string; call: string; said: string },
): Promise<void> {
  const stream = client.threads.stream({ assistantId });
  const lifecycle: Lifecycle[] = [];
  const listening = (async () => {
    for await (const event of await stream.subscribe({ channels: ['lifecycle'] }))
      lifecycle.push((event as Event).params);
  })();
  await stream.run.start({ input });
  const { messages } = (await stream.output) as { messages: { type: string; content: unknown }[] };
  assert.deepEqual(
    messages.map(({ type }) => type),
    ['human', 'ai', 'tool', 'ai'],
  );
  assert.equal(messages[2]!.content, sub.said);
  await until('the subagent is told', () => lifecycle.length >= 4);
  const [running, started, completed, end] = lifecycle;
  assert.deepEqual([running!.data.event, end!.data.event], ['running', 'completed']);
  assert.match(started!.namespace.join('|'), /^tools:[^|]+$/);
  const cause = { type: 'toolCall', tool_call_id: sub.call };
  const { event, graph_name, cause: told } = started!.data;
  assert.deepEqual(
    { event, graph_name, told },
    { event: 'started', graph_name: sub.name, told: cause },
  );
  assert.deepEqual(completed, {
    ...completed,
    namespace: started!.namespace,
    data: { event: 'completed', graph_name: sub.name },
  });
  await stream.close();
  await listening;
}

/** The channel of the agent's own stream transformer. */
async function playExtension(client: Client): Promise<void> {
  const stream = client.threads.stream({ assistantId: 'agent' });
  const calls = Array.fromAsync(stream.extensions['calls'] as AsyncIterable<string>);
  await stream.run.start({ input });
  assert.deepEqual(await calls, ['forecast', 'weather']);
  await stream.close();
}

/** Checks the SDK's own view of subagents, those of the tool `task`. */
async function playSubagents(client: Client): Promise<void> {
  const stream = client.threads.stream({ assistantId: 'deep' });
  await stream.run.start({ input });
  for await (const subagent of stream.subagents) {
    assert.deepEqual(
      [subagent.name, await subagent.taskInput],
      ['researcher', 'Where does tea grow?'],
    );
    assert.ok(JSON.stringify(await subagent.output).includes('Tea grows in Asia.'));
    break;
  }
  await stream.close();
}

/** Checks what the hooks of React, Vue, Svelte and Angular are built on. */
async function playPage(client: Client): Promise<void> {
  const page = new StreamController({ assistantId: 'deep', client, threadId: null });
  page.activate();
  await page.submit(input);
  const subagent = await until('the subagent has ended', () => {
    const found = page.subagentStore.getSnapshot().get('call-task');
    return found?.status === 'complete' && found;
  });
  assert.equal(subagent.name, 'researcher');
  assert.match(subagent.namespace.join('|'), /^tools:/);
  await until(
    'all is said',
    () => page.rootStore.getSnapshot().messages.at(-1)?.text === 'Tea comes from Asia.',
  );
  await page.dispose();
}

/** Checks that an agent is a graph: it can be drawn, and has schemas, subgraphs, a state and a history. */
async function playState(client: Client): Promise<void> {
  const { thread_id } = await client.threads.create();
  const { nodes } = await client.assistants.getGraph('agent');
  assert.ok(nodes.some(({ id }) => id === 'tools'));
  const [{ assistant_id } = { assistant_id: '' }] = await client.assistants.search({
    graphId: 'agent',
  });
  assert.deepEqual(await client.assistants.getSubgraphs(assistant_id), {});
  assert.ok(
    'messages' in
      ((await client.assistants.getSchemas(assistant_id)).state_schema?.properties ?? {}),
  );
  await client.runs.wait(thread_id, 'agent', { input, interruptBefore: ['tools'] });
  assert.deepEqual((await client.threads.getState(thread_id)).next, ['tools']);
  await client.runs.wait(thread_id, 'agent', { input: null });
  assert.ok((await client.threads.getHistory(thread_id)).length > 3);
}
