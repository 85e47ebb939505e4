import { Command } from '@langchain/langgraph';
import { describe, expect, it } from 'vitest';
import {
  PROTOCOL_MODES,
  ProtocolEventsOfRun,
} from '../../../../src/agent/graph-thread/event-streaming/convert.ts';
import { formatEventParams } from '../../../../src/agent/graph-thread/event-streaming/protocol-stream.ts';
import { approval, tools } from '../graphs/graphs.ts';
import { capturedData, capturedLines, lines, type WireEvent } from '../wire.ts';

type Streams = { stream(input: unknown, config: object): Promise<AsyncIterable<unknown>> };

/** One run's events as they go over the wire. */
async function eventsOf(graph: unknown, input: unknown): Promise<WireEvent[]> {
  const run = new ProtocolEventsOfRun();
  const config = {
    configurable: { thread_id: 'one' },
    version: 'v3',
    subgraphs: true,
    streamMode: PROTOCOL_MODES,
  };
  const events: WireEvent[] = [];
  for await (const chunk of await (graph as Streams).stream(input, config)) {
    const [namespace, mode, payload] = chunk as [string[], string, unknown];
    for (const event of run.convertChunk({ namespace, mode, payload }))
      events.push({
        method: event.method,
        params: JSON.parse(formatEventParams(event, 0)) as WireEvent['params'],
      });
  }
  return events;
}

/**
 * Events that both servers send. This leaves out those that only LangGraph.js sends (tasks, checkpoints, messages that
 * no model streamed) and those about the run as a whole.
 */
function comparable(all: string[]): string[] {
  return all.filter(
    (line) => !/^(tasks|checkpoints|updates) /.test(line) && !line.startsWith('lifecycle [] '),
  );
}

/** Messages that nodes made themselves. */
const MADE = ['ai-msg-2', 'ai-msg-3', 'sub-msg-1', 'ai-tools-call', 'ai-tools-final'];

function withoutMade(events: WireEvent[]): WireEvent[] {
  let made = false;
  return events.filter(({ method, params: { data } }) => {
    if (method !== 'messages') return true;
    if (data['event'] === 'message-start') made = MADE.includes(data['id'] as string);
    return !made;
  });
}

describe('events of a run', () => {
  it('are those of the captured stream: a model, a question, a subgraph', async () => {
    const first = await eventsOf(approval, { messages: [], value: 'init', items: [] });
    const second = await eventsOf(approval, new Command({ resume: 'yes' }));
    const ours = comparable(lines(withoutMade([...first, ...second])));
    const theirs = comparable(capturedLines('approval'));
    // The other server repeats the state after it has asked the question.
    theirs.splice(theirs.indexOf('input.requested []') + 1, 1);
    expect(ours).toEqual(theirs);
  });

  it('say of a subgraph what the captured stream says', async () => {
    const events = [
      ...(await eventsOf(approval, { messages: [], value: 'init', items: [] })),
      ...(await eventsOf(approval, new Command({ resume: 'yes' }))),
    ];
    for (const phase of ['started', 'completed']) {
      const wanted = `lifecycle ["run_subgraph:*"] ${phase}`;
      const ours = events.filter((event) => lines([event])[0] === wanted).at(-1)!.params;
      const [theirs] = capturedData('approval', wanted);
      expect(Object.keys(ours.data)).toEqual(Object.keys({ ...theirs }));
      expect(ours.data).toMatchObject({ event: phase, graph_name: 'run_subgraph' });
    }
  });

  it('are those of the captured stream: a tool, whose answer is a message under its call', async () => {
    const events = withoutMade(
      await eventsOf(tools, { messages: [{ role: 'human', content: 'search' }] }),
    );
    expect(comparable(lines(events))).toEqual(comparable(capturedLines('tools')));
    const started = events.find(({ params }) => params.data['event'] === 'tool-started')!;
    expect(started.params.data).toEqual(capturedData('tools', 'tools [] tool-started')[0]);
    const finished = events.find(({ params }) => params.data['event'] === 'tool-finished')!.params
      .data as { output: object };
    expect(finished.output).toMatchObject({
      type: 'tool',
      content: "result for 'v3'",
      tool_call_id: 'tc-1',
      status: 'success',
    });
  });
});
