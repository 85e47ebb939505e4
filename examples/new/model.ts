import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { StandIn } from './stand-in.ts';

/** OpenAI's model where its key is set. Another maker's is as short: @langchain/anthropic, @langchain/ollama and others. */
async function openai() {
  const { ChatOpenAI } = await import('@langchain/openai');
  return new ChatOpenAI({ model: process.env['OPENAI_MODEL'] ?? 'gpt-5-mini' });
}

function reply(messages: BaseMessage[]): AIMessage {
  const said = messages.findLast((message) => message.type === 'human')?.text ?? '';
  return new AIMessage(
    `You said "${said}". I am a stand-in: put OPENAI_API_KEY into .env, and a model answers.`,
  );
}

export const model = process.env['OPENAI_API_KEY'] ? await openai() : new StandIn(reply);
