import { appendFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import type { ChatResult } from '@langchain/core/outputs';
import type { RunnableConfig } from '@langchain/core/runnables';
import { tool } from '@langchain/core/tools';
import { Annotation, END, interrupt, Send, START, StateGraph } from '@langchain/langgraph';

/* Graphs that ask a model as often as their input says. Each call of the model named "dear" costs $0.03. */

type Fields = { name?: string; most?: number | undefined; fails?: boolean };

/** Writes down what has happened besides the state: a call of a model, or an effect that must happen once. */
const note = (what: string, thread: unknown): void => {
  const file = process.env['EFFECTS'];
  if (file !== undefined) appendFileSync(file, `${what} ${String(thread)}\n`);
};

class Model extends BaseChatModel {
  readonly #fields: Fields;
  thread: unknown;

  constructor(fields: Fields, thread: unknown) {
    super({ maxRetries: 0 });
    this.#fields = fields;
    this.thread = thread;
  }
  override _llmType(): string {
    return 'dear';
  }
  override getLsParams() {
    const { name = 'dear', most = 10 } = this.#fields;
    return {
      ls_provider: 'own',
      ls_model_name: name,
      ls_model_type: 'chat' as const,
      ...(most > 0 && { ls_max_tokens: most }),
    };
  }
  override async _generate(): Promise<ChatResult> {
    note('call', this.thread);
    await wait(this.#fields.name === 'slow' ? 400 : 20);
    if (this.#fields.fails === true) throw new Error('The provider is overloaded.');
    const usage_metadata = { input_tokens: 0, output_tokens: 10, total_tokens: 10 };
    const message = Object.assign(new AIMessage('yes'), { usage_metadata });
    return { generations: [{ text: 'yes', message }] };
  }
}

type Config = RunnableConfig;
const threadOf = (config: Config): unknown => config.configurable?.['thread_id'];

const State = Annotation.Root({
  kind: Annotation<string>(),
  calls: Annotation<number>(),
  model: Annotation<string>(),
  done: Annotation<number>({ reducer: (one, other) => one + other, default: () => 0 }),
  answers: Annotation<string[]>({ reducer: (one, other) => [...one, ...other], default: () => [] }),
});
type State = typeof State.State;

async function ask({ model }: State, config: Config): Promise<string> {
  const fields = { name: model || 'dear' };
  return String((await new Model(fields, threadOf(config)).invoke('', config)).content);
}

const answering = async (state: State, config: Config): Promise<Partial<State>> => ({
  answers: [await ask(state, config)],
  done: 1,
});

const asking = tool(
  async (state: State, config: Config) => {
    note('tool', threadOf(config));
    return ask(state, config);
  },
  { name: 'asking', description: 'Asks.', schema: { type: 'object', properties: {} } },
);

/** Calls a tool, whose types are those of all its forms. */
const callTool = (called: object, state: State, config: Config): Promise<unknown> =>
  (called as { invoke(input: State, config: Config): Promise<unknown> }).invoke(state, config);

/** Asks with all that would make another answer of an error. */
async function insist(state: State, config: Config): Promise<string> {
  const model = new Model({ name: state.model || 'dear' }, threadOf(config));
  const other = new Model({ name: 'dear' }, threadOf(config));
  const insisting = model.withRetry({ stopAfterAttempt: 2 }).withFallbacks([other]);
  try {
    return String((await insisting.invoke('', config)).content);
  } catch {
    return 'caught';
  }
}

const inner = new StateGraph(State)
  .addNode('first', (_state: State, config: Config) => {
    note('first', threadOf(config));
    return { answers: ['first'] };
  })
  .addNode('ask', answering)
  .addEdge(START, 'first')
  .addEdge('first', 'ask')
  .addEdge('ask', END)
  .compile();

const goOn = ({ done, calls, kind }: State): string =>
  done < calls ? (kind === 'send' || kind === 'beside' ? 'plain' : kind) : END;

/** Asks by the way that its input names, after an effect that must happen once. */
export const graph = new StateGraph(State)
  .addNode('effect', (_state: State, config: Config) => {
    note('effect', threadOf(config));
    return {};
  })
  .addNode('plain', answering)
  .addNode('sync', answering)
  .addNode('branch', answering)
  .addNode('slow', async (_state: State, config: Config) => {
    await wait(300);
    note('slow', threadOf(config));
    return { answers: ['slow'] };
  })
  .addNode('tool', async (state: State, config: Config) => ({
    answers: [String(await callTool(asking, state, config))],
    done: 1,
  }))
  .addNode('insist', async (state: State, config: Config) => ({
    answers: [await insist(state, config)],
    done: 1,
  }))
  .addNode('subgraph', async (state: State, config: Config) => {
    const { answers } = await inner.invoke({ ...state, answers: [], done: 0 }, config);
    return { answers, done: 1 };
  })
  .addNode('question', async (state: State, config: Config) => {
    const answer = await ask(state, config);
    const word = interrupt({ question: 'Which word?' }) as string;
    return { answers: [answer, word], done: 1 };
  })
  .addEdge(START, 'effect')
  .addConditionalEdges('effect', (state: State) => {
    if (state.kind === 'send')
      return Array.from({ length: state.calls }, () => new Send('branch', state));
    if (state.kind === 'beside') return ['plain', 'slow'];
    return goOn(state);
  })
  .addConditionalEdges('plain', goOn)
  .addConditionalEdges('sync', goOn)
  .addConditionalEdges('tool', goOn)
  .addConditionalEdges('insist', goOn)
  .addConditionalEdges('subgraph', goOn)
  .addConditionalEdges('question', goOn)
  .addEdge('branch', END)
  .addEdge('slow', END)
  .compile();

/** The graph within another one, as a node of it. */
export const own = new StateGraph(State)
  .addNode('within', inner)
  .addEdge(START, 'within')
  .addEdge('within', END)
  .compile();
