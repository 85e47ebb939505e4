import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { StandIn } from './stand-in.ts';

async function openai() {
  const { ChatOpenAI } = await import('@langchain/openai');
  return new ChatOpenAI({ model: process.env['OPENAI_MODEL'] ?? 'gpt-5-mini' });
}

/** Asks a tool first, and then says what it answered. */
function reply(messages: BaseMessage[]): AIMessage {
  const last = messages.at(-1);
  if (last?.type === 'tool') return new AIMessage(`Done: ${last.text}`);
  const call = (name: string, args: object): AIMessage =>
    new AIMessage({
      content: '',
      tool_calls: [{ id: `${name}-${messages.length}`, name, args: { ...args } }],
    });
  const said = last?.text ?? '';
  const [, item] = /\badd (.+)/iu.exec(said) ?? [];
  if (item !== undefined) return call('add_item', { item });
  const [, colour] = /\bpaint it (\p{L}+)/iu.exec(said) ?? [];
  if (colour !== undefined) return call('paint', { colour });
  if (/\border\b/i.test(said)) return call('order', {});
  return new AIMessage('Say "add milk", "order", or "paint it yellow".');
}

export const model = process.env['OPENAI_API_KEY'] ? await openai() : new StandIn(reply);
