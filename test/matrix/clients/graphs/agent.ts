import { setTimeout as wait } from 'node:timers/promises';
import type { CallbackManagerForLLMRun } from '@langchain/core/callbacks/manager';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessageChunk, type AIMessage, type BaseMessage } from '@langchain/core/messages';
import { ChatGenerationChunk, type ChatResult } from '@langchain/core/outputs';
import { tool } from '@langchain/core/tools';
import { END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { z } from 'zod';

/** The pause in milliseconds lets a page draw each piece. */
const PAUSE = 40;

/** Returns what the model says to the last message: words, or a tool call. */
function answerTo(messages: BaseMessage[]): string[] | { name: string; args: string[] } {
  const last = messages.at(-1)!;
  if (last.type === 'tool') return ['The tool', ' said: ', last.text];
  if (last.text.includes('weather')) return { name: 'weather', args: ['{"city":', '"Rome"}'] };
  if (last.text.includes('delete')) return { name: 'delete_file', args: ['{"path":', '"a.txt"}'] };
  // The text is long enough to be stopped in the middle.
  if (last.text.includes('story')) return Array.from({ length: 60 }, () => 'And then ... ');
  return ['Hello', ' from', ' the', ' agent.'];
}

/** A model that streams text and tool calls in pieces, as those of providers do. */
class PiecewiseModel extends BaseChatModel {
  _llmType(): string {
    return 'piecewise';
  }

  // This is for callers that do not stream.
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = piecesOf(messages).reduce((whole, piece) => whole.concat(piece));
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of piecesOf(messages)) {
      await wait(PAUSE);
      const chunk = new ChatGenerationChunk({ text: message.text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, {
        chunk,
      });
    }
  }
}

function piecesOf(messages: BaseMessage[]): AIMessageChunk[] {
  const id = `ai-${messages.length}`;
  const answer = answerTo(messages);
  if (Array.isArray(answer)) return answer.map((content) => new AIMessageChunk({ id, content }));
  const call = { name: answer.name, id: `call-${messages.length}` };
  return ['', ...answer.args].map((args, piece) => {
    const chunk = { ...(piece === 0 && call), args, index: 0, type: 'tool_call_chunk' as const };
    return new AIMessageChunk({ id, content: '', tool_call_chunks: [chunk] });
  });
}

const tools = [
  tool(({ city }) => `Sunny in ${city}.`, {
    name: 'weather',
    schema: z.object({ city: z.string() }),
  }),
  tool(
    ({ path }) =>
      interrupt({ question: `Delete ${path}?` }) === 'yes'
        ? `${path} is deleted.`
        : `${path} stays.`,
    {
      name: 'delete_file',
      schema: z.object({ path: z.string() }),
    },
  ),
];

const model = new PiecewiseModel({});

/** An agent that answers with text, calls a tool, or asks before it does. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode('tools', new ToolNode(tools))
  .addEdge(START, 'model')
  .addConditionalEdges('model', ({ messages }) =>
    (messages.at(-1) as AIMessage).tool_calls?.length ? 'tools' : END,
  )
  .addEdge('tools', 'model')
  .compile();
