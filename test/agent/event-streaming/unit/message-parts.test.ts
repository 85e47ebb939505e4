import { AIMessage, AIMessageChunk, type BaseMessage } from '@langchain/core/messages';
import { describe, expect, it } from 'vitest';
import {
  ProtocolEventsOfRun,
  type ProtocolEvent,
} from '../../../../src/agent/graph-thread/event-streaming/convert.ts';

/* LangGraph.js up to 1.2 streams parts of messages as well as whole ones. */

const TASK = 'model:1';

class Run {
  readonly #events = new ProtocolEventsOfRun();

  /** Returns the events for a message, or a part of one, that a task streams. */
  message(payload: BaseMessage, task = TASK): object[] {
    const chunk = {
      namespace: [task],
      mode: 'messages',
      payload: [payload, { langgraph_node: 'model', run_id: 'the whole run' }],
    };
    return this.#told(chunk);
  }

  taskEnds(id = '1'): object[] {
    return this.#told({
      namespace: [],
      mode: 'tasks',
      payload: { id, name: 'model', result: {}, error: null, interrupts: [] },
    });
  }

  #told(chunk: Parameters<ProtocolEventsOfRun['convertChunk']>[0]): object[] {
    const isOfModel = ({ method, namespace, node }: ProtocolEvent): boolean =>
      method === 'messages' && namespace.length === 0 && node === 'model';
    return this.#events
      .convertChunk(chunk)
      .filter(isOfModel)
      .map(({ data }) => data as object);
  }
}

const part = (fields: object): AIMessageChunk =>
  new AIMessageChunk({ id: 'm', content: '', ...fields });
const of = (run_id: string, ...events: object[]): object[] =>
  events.map((event) => ({ ...event, run_id }));

describe('parts of a message', () => {
  it('begin it, are appended, and end with their task', () => {
    const run = new Run();
    const start = { event: 'message-start', role: 'ai', id: 'm' };
    const block = { event: 'content-block-start', index: 0, content: { type: 'text', text: '' } };
    const delta = (text: string) => ({
      event: 'content-block-delta',
      index: 0,
      delta: { type: 'text-delta', text },
    });
    expect(run.message(part({ content: '' }))).toEqual(of('m', start));
    expect(run.message(part({ content: 'Hel' }))).toEqual(of('m', block, delta('Hel')));
    expect(run.message(part({ content: 'lo' }))).toEqual(of('m', delta('lo')));
    expect(run.taskEnds('2')).toEqual([]);
    const finish = {
      event: 'content-block-finish',
      index: 0,
      content: { type: 'text', text: 'Hello' },
    };
    expect(run.taskEnds()).toEqual(of('m', finish, { event: 'message-finish', reason: 'stop' }));
    expect(run.taskEnds()).toEqual([]);
  });

  it('of several messages of one task stay apart, and the whole message ends its own', () => {
    const run = new Run();
    run.message(part({ content: 'one' }));
    run.message(part({ id: 'n', content: 'two' }));
    const ended = run.message(new AIMessage({ id: 'n', content: 'two' }));
    expect(ended).toMatchObject(
      of(
        'n',
        { event: 'content-block-finish', content: { text: 'two' } },
        { event: 'message-finish' },
      ),
    );
    expect(run.taskEnds()).toMatchObject(
      of('m', { content: { text: 'one' } }, { event: 'message-finish' }),
    );
  });

  it('are reasoning and calls of tools, each a block of its own', () => {
    const run = new Run();
    const call = (fields: object): AIMessageChunk =>
      part({ tool_call_chunks: [{ type: 'tool_call_chunk', index: 0, ...fields }] });
    run.message(part({ content: [{ type: 'thinking', thinking: 'Hm', index: 0 }] }));
    run.message(part({ content: [{ type: 'thinking', thinking: 'm.', index: 0 }] }));
    expect(run.message(call({ id: 'c', name: 'search', args: '{"q":' }))).toEqual(
      of(
        'm',
        {
          event: 'content-block-start',
          index: 1,
          content: { type: 'tool_call_chunk', id: 'c', name: 'search', args: '', index: 1 },
        },
        {
          event: 'content-block-delta',
          index: 1,
          delta: { type: 'tool-call-delta', args: '{"q":' },
        },
      ),
    );
    run.message(call({ args: '"tea"}' }));
    expect(run.taskEnds()).toMatchObject([
      { index: 0, content: { type: 'reasoning', reasoning: 'Hmm.' } },
      { index: 1, content: { type: 'tool_call', id: 'c', name: 'search', args: { q: 'tea' } } },
      { event: 'message-finish' },
    ]);
  });

  it('say what the model used', () => {
    const run = new Run();
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    run.message(part({ content: 'a', usage_metadata: usage }));
    const twice = { input_tokens: 2, output_tokens: 4, total_tokens: 6 };
    expect(run.message(part({ usage_metadata: usage }))).toEqual(
      of('m', { event: 'usage', usage: twice }),
    );
    expect(run.taskEnds().at(-1)).toMatchObject({ event: 'message-finish', usage: twice });
  });
});

it('a message that no model streams is told at once', () => {
  const told = new Run().message(new AIMessage({ id: 'made', content: 'made' }));
  expect(told.map((event) => (event as { event: string }).event)).toEqual([
    'message-start',
    'content-block-start',
    'content-block-delta',
    'content-block-finish',
    'message-finish',
  ]);
});
