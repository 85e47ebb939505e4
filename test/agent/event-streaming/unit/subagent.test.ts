import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { describe, expect, it } from 'vitest';
import { ProtocolEventsOfRun } from '../../../../src/agent/graph-thread/event-streaming/convert.ts';
import { formatEventParams } from '../../../../src/agent/graph-thread/event-streaming/protocol-stream.ts';
import { capturedData, capturedLines, lines, type WireEvent } from '../wire.ts';

/* An agent that another agent's tool calls, as LangGraph.js streams it. */

const TASK = '3c47c320-e31f-f14b-dca0-07581f9d452e';
const INNER = '2fe9fc2c-56c7-5c74-87e1-6ec8d9c7ec4b';
const tools = `tools:${TASK}`;
const args = { subagent_type: 'researcher', description: 'research v3 streaming' };
const human = new HumanMessage({ id: 'h', content: 'research' });
const asks = new AIMessage({
  id: 'sup-1',
  content: '',
  tool_calls: [{ id: 'tc-task-1', name: 'task', args }],
});
const answer = new ToolMessage({
  tool_call_id: 'tc-task-1',
  content: 'v3 streaming is event-typed.',
});
const researcher = { lc_agent_name: 'researcher' };

const CHUNKS: [namespace: string[], mode: string, payload: unknown][] = [
  [[], 'values', { messages: [human] }],
  [[], 'values', { messages: [human, asks] }],
  [[], 'tasks', { id: TASK, name: 'tools', input: {}, metadata: {} }],
  [
    [tools],
    'tools',
    { event: 'on_tool_start', toolCallId: 'tc-task-1', name: 'task', input: JSON.stringify(args) },
  ],
  [[tools], 'values', { messages: [human] }],
  [[tools], 'tasks', { id: INNER, name: 'model', input: {}, metadata: researcher }],
  [[tools], 'tasks', { id: INNER, name: 'model', result: {}, error: null, interrupts: [] }],
  [
    [tools],
    'values',
    { messages: [human, new AIMessage({ id: 'res-1', content: 'v3 streaming is event-typed.' })] },
  ],
  [
    [tools],
    'tools',
    {
      event: 'on_tool_end',
      toolCallId: 'tc-task-1',
      name: 'task',
      output: { update: { messages: [answer] } },
    },
  ],
  [[], 'tasks', { id: TASK, name: 'tools', result: {}, error: null, interrupts: [] }],
  [[], 'values', { messages: [human, asks, answer] }],
  [[], 'values', { messages: [human, asks, answer] }],
];

function events(): WireEvent[] {
  const run = new ProtocolEventsOfRun();
  return CHUNKS.flatMap(([namespace, mode, payload]) =>
    run.convertChunk({ namespace, mode, payload }),
  ).map((event) => ({
    method: event.method,
    params: JSON.parse(formatEventParams(event, 0)) as WireEvent['params'],
  }));
}

const shown = (all: string[]): string[] =>
  all.filter((line) => !line.startsWith('tasks ') && !line.startsWith('lifecycle [] '));

describe('a subagent', () => {
  it('is told as in the captured stream', () => {
    expect(shown(lines(events()))).toEqual(shown(capturedLines('subagent')));
  });

  it('begins with its own name, and with the call that caused it', () => {
    const wanted = 'lifecycle ["tools:*"] started';
    const [theirs] = capturedData('subagent', wanted);
    const ours = events().find((event) => lines([event])[0] === wanted)!;
    expect(ours.params.data).toEqual(theirs);
  });

  it('that is under way when the run ends, ends with it', () => {
    const run = new ProtocolEventsOfRun();
    for (const [namespace, mode, payload] of CHUNKS.slice(0, 6))
      run.convertChunk({ namespace, mode, payload });
    expect(run.end('failed')).toEqual([
      {
        method: 'lifecycle',
        namespace: [tools],
        data: { event: 'failed', graph_name: 'researcher' },
      },
    ]);
    expect(run.end('failed')).toEqual([]);
  });
});

describe('a model of a node', () => {
  it('streams under the graph of the node, with its own run', () => {
    const run = new ProtocolEventsOfRun();
    for (const [namespace, mode, payload] of CHUNKS.slice(0, 6))
      run.convertChunk({ namespace, mode, payload });
    const part = { event: 'message-start', id: 'm' };
    const [inner] = run.convertChunk({
      namespace: [tools, `model:${INNER}`],
      mode: 'messages',
      payload: [part, { langgraph_node: 'model', run_id: 'r' }],
    });
    expect(inner).toEqual({
      method: 'messages',
      namespace: [tools],
      node: 'model',
      data: { role: 'ai', ...part, run_id: 'r' },
    });
    const [outer] = run.convertChunk({
      namespace: [`model:${INNER}`],
      mode: 'messages',
      payload: [part, {}],
    });
    expect(outer).toMatchObject({ namespace: [] });
  });
});
