import { setTimeout as wait } from 'node:timers/promises';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { SimpleChatModel } from '@langchain/core/language_models/chat_models';
import {
  AIMessage,
  AIMessageChunk,
  RemoveMessage,
  type BaseMessage,
} from '@langchain/core/messages';
import { ChatGenerationChunk } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
  type LangGraphRunnableConfig,
} from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';
import type { Act } from './acts.ts';

/* A graph that plays what the last message of the user says: JSON, a list of acts. */

class PlayingModel extends SimpleChatModel {
  readonly #act: Act;

  constructor(act: Act) {
    super({});
    this.#act = act;
  }

  _llmType(): string {
    return 'playing';
  }

  _call(): Promise<string> {
    return Promise.resolve('');
  }

  override async *_streamResponseChunks(
    _: BaseMessage[],
    __: this['ParsedCallOptions'],
    manager?: CallbackManagerForLLMRun,
  ) {
    const { id, pause = 0, thought = [], pieces = [], calls = [] } = this.#act;
    const build = (content: string | object[], more: object = {}): ChatGenerationChunk =>
      new ChatGenerationChunk({
        message: new AIMessageChunk({
          content: content as string,
          ...(id !== undefined && { id }),
          ...more,
        }),
        text: typeof content === 'string' ? content : '',
      });
    const chunks = [
      ...thought.map((reasoning) => build([{ type: 'reasoning', reasoning, index: 0 }])),
      ...pieces.map((text) =>
        build(thought.length > 0 ? [{ type: 'text', text, index: 1 }] : text),
      ),
      ...calls.map(([index, name, callId, args]) =>
        build('', {
          tool_call_chunks: [
            {
              type: 'tool_call_chunk',
              index,
              args,
              ...(name !== '' && { name, id: callId }),
            },
          ],
        }),
      ),
    ];
    for (const chunk of chunks) {
      await wait(pause);
      yield chunk;
      await manager?.handleLLMNewToken(chunk.text);
    }
  }
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  items: Annotation<string[], string[]>({
    reducer: (before, more) => [...before, ...more],
    default: () => [],
  }),
  board: Annotation<unknown>,
  acts: Annotation<Act[]>,
  at: Annotation<number>,
});
type Play = typeof State.State;
type Change = typeof State.Update;

const ask = (act: Act, config: LangGraphRunnableConfig): Promise<BaseMessage> =>
  new PlayingModel(act).invoke('', config);

const search = tool(({ query }) => `found ${query}`, {
  name: 'search',
  schema: z.object({ query: z.string() }),
});
const broken = tool(
  (): string => {
    throw new Error('The tool is away.');
  },
  { name: 'broken', schema: z.object({ query: z.string() }) },
);
const note = tool(
  ({ query }, config: LangGraphRunnableConfig) =>
    new Command({
      update: {
        items: [`noted ${query}`],
        messages: [
          {
            type: 'tool',
            content: `noted ${query}`,
            tool_call_id: (config as unknown as { toolCall: { id: string } }).toolCall.id,
          },
        ],
      },
    }),
  { name: 'note', schema: z.object({ query: z.string() }) },
);

/** The agent within the agent. Its messages are in no state but its own. */
const helper = new StateGraph(MessagesAnnotation)
  .addNode('help', async (_, config: LangGraphRunnableConfig) => ({
    messages: [await ask({ do: 'say', pieces: ['Let me ', 'help.'] }, config)],
  }))
  .addEdge(START, 'help')
  .compile()
  .withConfig({ metadata: { lc_agent_name: 'helper' } });
const delegate = tool(
  async ({ query }, config: LangGraphRunnableConfig) => {
    await helper.invoke({ messages: [{ role: 'user', content: query }] }, config);
    return `helped with ${query}`;
  },
  { name: 'delegate', schema: z.object({ query: z.string() }) },
);
const tools = [search, broken, note, delegate];
const toolNode = new ToolNode(tools);
const isOfServer = ({ name }: { name: string }): boolean => tools.some((one) => one.name === name);

/** Reads the acts, or goes on behind the call that the page has answered. */
function begin({ messages }: Play): Change {
  const last = messages.at(-1);
  return last?.getType() === 'human' ? { acts: JSON.parse(last.text) as Act[], at: 0 } : {};
}

const current = ({ acts, at }: Play): Act => acts[at]!;

function next({ acts, at }: Play): string | Send[] {
  const act = acts?.[at];
  if (act === undefined) return END;
  if (act.do === 'fan') return act.acts!.map((one) => new Send('branch', { acts: [one], at: 0 }));
  if (act.do === 'sub') return 'sub';
  return act.do === 'ask' ? 'ask' : 'act';
}

async function play(state: Play, config: LangGraphRunnableConfig): Promise<Change> {
  const act = current(state);
  const { messages } = state;
  const target = messages[(act.which ?? 0) % messages.length];
  switch (act.do) {
    case 'say':
    case 'call':
      return { messages: [await ask(act, config)] };
    case 'hum':
      await ask(act, config);
      return {};
    case 'tell':
      return {
        messages: [new AIMessage({ content: act.pieces!.join(''), ...(act.id && { id: act.id }) })],
      };
    case 'drop':
      return { messages: [new RemoveMessage({ id: target!.id! })] };
    case 'rewrite':
      return target!.getType() === 'ai'
        ? { messages: [new AIMessage({ id: target!.id!, content: act.pieces!.join('') })] }
        : {};
    case 'set':
      return { items: act.items ?? [], ...('board' in act && { board: act.board }) };
    case 'write':
      config.writer?.(act.board);
      return {};
    case 'fail':
      if (act.pieces) await ask(act, config);
      throw new Error('The play fails.');
    default:
      throw new Error(`There is no act ${act.do}.`);
  }
}

const advance = ({ at }: Play): Change => ({ at: at + 1 });

async function useTools({ messages }: Play, config: LangGraphRunnableConfig): Promise<unknown> {
  const last = messages.at(-1) as AIMessage;
  const asked = new AIMessage({
    id: last.id!,
    content: last.content,
    tool_calls: last.tool_calls!.filter(isOfServer),
  });
  return toolNode.invoke({ messages: [asked] }, config);
}

const callsOf = (state: Play): { name: string }[] =>
  current(state).do === 'call' ? ((state.messages.at(-1) as AIMessage).tool_calls ?? []) : [];

/** Ends the run where the page has to answer a call. */
const isForPage = (state: Play): boolean =>
  (state.acts[state.at - 1]?.calls ?? []).some(([, name]) => name === 'paint');

const inner = new StateGraph(State)
  .addNode('each', async (state: Play, config: LangGraphRunnableConfig) => {
    const messages: BaseMessage[] = [];
    for (const act of current(state).acts!) messages.push(await ask(act, config));
    return { messages };
  })
  .addEdge(START, 'each')
  .compile();

export const plays = new StateGraph(State)
  .addNode('begin', begin)
  .addNode('act', play)
  .addNode('branch', async (state: Play, config: LangGraphRunnableConfig) => ({
    messages: [await ask(current(state), config)],
  }))
  .addNode('ask', (state: Play) => ({
    items: [`answered ${JSON.stringify(interrupt(current(state).board))}`],
  }))
  .addNode('sub', inner)
  .addNode('tools', useTools as never)
  .addNode('advance', advance)
  .addEdge(START, 'begin')
  .addConditionalEdges('begin', next, ['act', 'branch', 'ask', 'sub', END])
  .addConditionalEdges('act', (state) => (callsOf(state).some(isOfServer) ? 'tools' : 'advance'), [
    'tools',
    'advance',
  ])
  .addEdge('tools', 'advance')
  .addEdge('branch', 'advance')
  .addEdge('ask', 'advance')
  .addEdge('sub', 'advance')
  .addConditionalEdges('advance', (state) => (isForPage(state) ? END : next(state)), [
    'act',
    'branch',
    'ask',
    'sub',
    END,
  ])
  .compile();
