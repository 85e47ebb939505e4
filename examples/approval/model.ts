import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { StandIn } from './stand-in.ts';

async function openai() {
  const { ChatOpenAI } = await import('@langchain/openai');
  return new ChatOpenAI({ model: process.env['OPENAI_MODEL'] ?? 'gpt-5-mini' });
}

const reply = (messages: BaseMessage[]): AIMessage =>
  new AIMessage(`Dear all, ${messages.at(-1)?.text}. Kind regards`);

export const model = process.env['OPENAI_API_KEY'] ? await openai() : new StandIn(reply);
