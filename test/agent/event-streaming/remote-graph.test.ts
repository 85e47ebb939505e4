import { randomUUID } from 'node:crypto';
import { Annotation, Command, START, StateGraph } from '@langchain/langgraph';
import { RemoteGraph } from '@langchain/langgraph/remote';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPair, type AgentPair } from '../../kit/agent-pair.ts';

/* LangGraph's own RemoteGraph uses a graph of this server as a graph of another program. */

let pair: AgentPair;

beforeAll(async () => {
  pair = await startPair({}, 'test/agent/event-streaming/graphs/gx.json');
});

afterAll(() => pair.stop());

const graph = (graphId: string): RemoteGraph =>
  new RemoteGraph({ graphId, url: pair.api.url, apiKey: '' });
const onThread = () => ({ configurable: { thread_id: randomUUID() } });
const asking = { messages: [], value: 'init', items: [] };

describe('a remote graph', () => {
  test('is invoked, with a thread and without', async () => {
    const counted = { left: 0, pause: 0, texts: ['2', '1'] };
    expect(await graph('counter').invoke({ left: 2, pause: 0 })).toEqual(counted);
    const config = onThread();
    expect(await graph('counter').invoke({ left: 2, pause: 0 }, config)).toEqual(counted);
    expect((await graph('counter').getState(config)).values).toEqual(counted);
    await expect(graph('counter').invoke({ left: -1, pause: 0 })).rejects.toThrow(
      'There is nothing to count.',
    );
  });

  test('streams one mode, several, tokens, and what its subgraphs do', async () => {
    const updates = await Array.fromAsync(
      await graph('counter').stream({ left: 2, pause: 0 }, { streamMode: 'updates' }),
    );
    expect(updates).toEqual([
      { count: { left: 1, texts: ['2'] } },
      { count: { left: 0, texts: ['1'] } },
    ]);
    const several = await Array.fromAsync(
      await graph('counter').stream({ left: 1, pause: 0 }, { streamMode: ['custom', 'values'] }),
    );
    expect(several).toContainEqual(['custom', { name: 'count', payload: 1 }]);
    expect(several.at(-1)).toEqual(['values', { left: 0, pause: 0, texts: ['1'] }]);
    const config = onThread();
    const tokens: string[] = [];
    await expect(
      (async () => {
        for await (const chunk of await graph('agent').stream(asking, {
          ...config,
          streamMode: 'messages',
        }))
          tokens.push((chunk as [{ content: string }])[0].content);
      })(),
    ).rejects.toThrow('Are we good?');
    expect(tokens.slice(0, 13).join('')).toBe('Hello, world!');
    const rest = await graph('agent').stream(new Command({ resume: 'yes' }), {
      ...config,
      subgraphs: true,
      streamMode: 'updates',
    });
    const namespaces = (await Array.fromAsync(rest)).map(
      (chunk) => (chunk as [string[]])[0].join('|').split(':')[0],
    );
    expect(namespaces).toContain('run_subgraph');
  });

  test('has a state, a history, and takes updates and forks', async () => {
    const config = onThread();
    await expect(graph('agent').invoke(asking, config)).rejects.toThrow('Are we good?');
    // The call ends with the event of the question, which may be sent before the step is stored.
    await expect
      .poll(async () => (await graph('agent').getState(config)).next)
      .toEqual(['ask_human']);
    const waiting = await graph('agent').getState(config);
    expect(waiting.tasks[0]!.interrupts[0]).toMatchObject({ value: 'Are we good?' });
    await graph('agent').updateState(config, { value: 'updated' }, 'ask_human');
    const updated = await graph('agent').getState(config);
    expect(updated).toMatchObject({ values: { value: 'updated' }, next: ['run_subgraph'] });
    const history = await Array.fromAsync(graph('agent').getStateHistory(config));
    expect(history.length).toBeGreaterThan(3);
    expect(history[0]!.config).toEqual(updated.config);
    expect(await graph('agent').getState(history.at(-1)!.config)).toMatchObject({
      config: history.at(-1)!.config,
    });
    expect(
      await Array.fromAsync(
        graph('agent').getStateHistory(config, { limit: 1, before: history[0]!.config }),
      ),
    ).toMatchObject([{ config: history[1]!.config }]);
    expect(await graph('agent').invoke(null, config)).toMatchObject({
      items: ['streamed', 'tool', 'sub'],
    });
  });

  test('streams its events', async () => {
    const config = onThread();
    const run = await graph('agent').streamEvents(asking, { ...config, version: 'v3' });
    const texts: string[] = [];
    for await (const message of run.messages) texts.push(await message.text);
    expect(texts).toContain('Hello, world!');
    expect(await run.output).toMatchObject({ value: 'x', items: ['streamed', 'tool'] });
    expect(run.interrupted).toBe(true);
    expect(run.interrupts).toMatchObject([{ payload: 'Are we good?' }]);
    const counting = await graph('counter').streamEvents({ left: 2, pause: 0 }, { version: 'v3' });
    const methods: string[] = [];
    for await (const { method } of counting) methods.push(method);
    expect(methods.filter((method) => method === 'custom')).toHaveLength(2);
    const bytes = await graph('counter').streamEvents(
      { left: 1, pause: 0 },
      { version: 'v3', encoding: 'text/event-stream' },
    );
    const text = (await Array.fromAsync(bytes, (chunk) => new TextDecoder().decode(chunk))).join(
      '',
    );
    expect(text).toContain('event: custom\ndata: {"name":"count","payload":1}\n\n');
  });

  test('is drawn, and is a node of another graph', async () => {
    const drawn = await graph('counter').getGraphAsync();
    expect(Object.keys(drawn.nodes)).toEqual(['__start__', 'count', '__end__']);
    const State = Annotation.Root({
      left: Annotation<number>,
      pause: Annotation<number>,
      texts: Annotation<string[]>,
    });
    const outer = new StateGraph(State)
      .addNode('remote', graph('counter'))
      .addEdge(START, 'remote')
      .compile();
    expect(await outer.invoke({ left: 2, pause: 0 })).toEqual({
      left: 0,
      pause: 0,
      texts: ['2', '1'],
    });
  });
});
