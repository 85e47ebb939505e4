import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { dispatchCustomEvent } from '@langchain/core/callbacks/dispatch';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { SimpleChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, AIMessageChunk, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import {
  Annotation,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';

/* A chat whose model does what the last message of the user says. */

type Piece = {
  content?: string | Record<string, unknown>[];
  calls?: { index: number; id?: string; name?: string; args?: string }[];
};

const text = (words: string): Piece[] => words.split(/(?<= )/).map((content) => ({ content }));

/** Two calls whose arguments come in turns. */
const CALLS: Piece[] = [
  { calls: [{ index: 0, id: 'call-a', name: 'search', args: '' }] },
  { calls: [{ index: 1, id: 'call-b', name: 'search', args: '' }] },
  { calls: [{ index: 0, args: '{"query":' }] },
  { calls: [{ index: 1, args: '{"query":"b' }] },
  { calls: [{ index: 0, args: '"a"}' }] },
  { calls: [{ index: 1, args: '"}' }] },
];

const THOUGHT: Piece[] = [
  { content: [{ type: 'reasoning', reasoning: 'Let me ', index: 0 }] },
  { content: [{ type: 'reasoning', reasoning: 'think.', index: 0 }] },
  { content: [{ type: 'text', text: 'Four.', index: 1 }] },
];

class ScriptedModel extends SimpleChatModel {
  _llmType(): string {
    return 'scripted';
  }

  _call(): Promise<string> {
    return Promise.resolve('');
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _: this['ParsedCallOptions'],
    manager?: CallbackManagerForLLMRun,
  ) {
    for (const piece of script(messages)) {
      const words = typeof piece.content === 'string' ? piece.content : '';
      if (words === 'slow ') {
        await wait(50);
        // A test sees by the length of the file whether the model still speaks.
        if (process.env['GX_TEST_BEATS']) appendFileSync(process.env['GX_TEST_BEATS'], '.');
      }
      const message = new AIMessageChunk({
        content: (piece.content ?? '') as string,
        tool_call_chunks: (piece.calls ?? []).map((call) => ({
          type: 'tool_call_chunk' as const,
          ...call,
        })),
      });
      const usage_metadata = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
      if (piece.content === 'Done.') Object.assign(message, { usage_metadata });
      yield new ChatGenerationChunk({ message, text: words });
      await manager?.handleLLMNewToken(words);
    }
  }
}

function script(messages: BaseMessage[]): Piece[] {
  const last = messages.at(-1);
  if (last?.getType() === 'tool') return [{ content: 'Done.' }];
  const said = String(last?.text ?? '');
  if (said.includes('calls')) return CALLS;
  if (said.includes('think')) return THOUGHT;
  if (said.includes('paint'))
    return [
      {
        calls: [
          { index: 0, id: `paint-${messages.length}`, name: 'paint', args: '{"colour":"red"}' },
        ],
      },
    ];
  if (said.includes('predict'))
    return [
      { calls: [{ index: 0, id: `write-${messages.length}`, name: 'write', args: '{"text":' }] },
      { calls: [{ index: 0, args: '"foretold"}' }] },
    ];
  if (said.includes('slow slow')) return text('slow '.repeat(400));
  if (said.includes('slow')) return text('slow '.repeat(said.includes('a bit slow') ? 12 : 40));
  return text(`You said: ${said}`);
}

const search = tool(({ query }) => `found ${query}`, {
  name: 'search',
  schema: z.object({ query: z.string() }),
});

const Items = Annotation<string[], string[]>({
  reducer: (before, more) => [...before, ...more],
  default: () => [],
});
const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  items: Items,
  note: Annotation<string>,
});

/** What graphs made for the bridge of AG-UI say to the page beside their state. */
async function sayByHand(count: number, config: LangGraphRunnableConfig): Promise<void> {
  const say = (name: string, payload: object): Promise<void> =>
    dispatchCustomEvent(name, payload, config);
  await say('manually_emit_state', { note: 'halfway', messages: [] });
  await say('copilotkit_manually_emit_message', { message_id: `hand-${count}`, message: 'Busy.' });
  await say('manually_emit_tool_call', { id: `look-${count}`, name: 'look', args: '{"at":"x"}' });
  await say('gx.usage', { model: 'of-its-own', input_tokens: 1 });
  await say('anything', { a: 1 });
}

const PREDICTED = { state_key: 'note', tool: 'write', tool_argument: 'text' };

const readPageMetadata = (said: string): object => ({
  ...(said.includes('predict') && { predict_state: [PREDICTED] }),
  ...(said.includes('hidden') && { 'copilotkit:emit-messages': false }),
});

async function speak(
  { messages }: typeof State.State,
  config: LangGraphRunnableConfig,
): Promise<typeof State.Update> {
  const said = String(messages.at(-1)?.text ?? '');
  if (said.includes('fail')) throw new Error('The model is away.');
  config.writer?.({ name: 'progress', said });
  if (said.includes('by hand')) await sayByHand(messages.length, config);
  const metadata = { ...config.metadata, ...readPageMetadata(said) };
  const answer = await new ScriptedModel({}).invoke(messages, { ...config, metadata });
  const items = [`turn ${messages.length}`];
  const [call] = answer.tool_calls ?? [];
  if (call?.name !== 'write') return { messages: [answer], items };
  const written = new ToolMessage({ tool_call_id: call.id!, content: 'Written.' });
  return { messages: [answer, written], items, note: String(call.args['text']) };
}

const callsServerTool = ({ messages }: typeof State.State): 'tools' | '__end__' => {
  const last = messages.at(-1) as AIMessage | undefined;
  return last?.tool_calls?.some(({ name }) => name === 'search') === true ? 'tools' : '__end__';
};

export const chat = new StateGraph(State)
  .addNode('speak', speak)
  .addNode('tools', new ToolNode([search]))
  .addEdge(START, 'speak')
  .addConditionalEdges('speak', callsServerTool)
  .addEdge('tools', 'speak')
  .compile();

/** Asks as many questions as the user says, at once, and tells the answers. */
export const approval = new StateGraph(State)
  .addNode('first', () => ({ note: 'asks' }))
  .addNode('ask', () => {
    const answer: unknown = interrupt({
      message: 'May I?',
      reason: 'approval',
      options: ['yes', 'no'],
    });
    return {
      messages: [
        new AIMessage({
          id: `told-${JSON.stringify(answer)}`,
          content: `You said ${JSON.stringify(answer)}.`,
        }),
      ],
    };
  })
  .addNode('ask_too', () => ({ items: [`too: ${JSON.stringify(interrupt('And this?'))}`] }))
  .addEdge(START, 'first')
  .addConditionalEdges('first', ({ messages }) =>
    String(messages.at(-1)?.text).includes('two') ? ['ask', 'ask_too'] : ['ask'],
  )
  .compile();

/** Changes the state that it shares with a page. */
export const shared = new StateGraph(
  Annotation.Root({ ...MessagesAnnotation.spec, items: Items, note: Annotation<string> }),
)
  .addNode('write', ({ items, note }) => ({
    items: [`item ${items.length}`],
    note: `${note ?? ''}!`,
  }))
  .addNode('again', ({ items }) => ({ items: [`item ${items.length}`] }))
  .addEdge(START, 'write')
  .addEdge('write', 'again')
  .compile();

/** Stops before a node, and asks nothing. */
export const paused = new StateGraph(State)
  .addNode('write', () => ({ items: ['written'] }))
  .addNode('send', () => ({ items: ['sent'] }))
  .addEdge(START, 'write')
  .addEdge('write', 'send')
  .compile({ interruptBefore: ['send'] });

/** Asks about a call as LangChain's human-in-the-loop middleware does. */
export const guarded = new StateGraph(State)
  .addNode('call', ({ messages }) => ({
    messages: [
      new AIMessage({
        id: `asks-${messages.length}`,
        content: '',
        tool_calls: [{ id: `delete-${messages.length}`, name: 'delete', args: { file: 'a.txt' } }],
      }),
    ],
  }))
  .addNode('review', ({ messages }) => {
    const description = 'May delete a.txt go?';
    const request = { name: 'delete', args: { file: 'a.txt' }, description };
    const { decisions } = interrupt<unknown, { decisions: { type: string }[] }>({
      action_requests: [request],
      review_configs: [{ action_name: 'delete', allowed_decisions: ['approve', 'reject'] }],
    });
    const { id } = (messages.at(-1) as AIMessage).tool_calls![0]!;
    return {
      messages: [{ type: 'tool', content: decisions[0]!.type, tool_call_id: id! }],
    };
  })
  .addEdge(START, 'call')
  .addEdge('call', 'review')
  .compile();
