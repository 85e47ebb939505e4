import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { StandIn } from './stand-in.ts';

async function openai() {
  const { ChatOpenAI } = await import('@langchain/openai');
  return new ChatOpenAI({ model: process.env['OPENAI_MODEL'] ?? 'gpt-5-mini' });
}

/** Asks a tool first, and then says what it answered. */
function reply(messages: BaseMessage[]): AIMessage {
  const last = messages.at(-1);
  if (last?.type === 'tool') return new AIMessage(`The tool says: ${last.text}`);
  const said = last?.text ?? '';
  const city = /weather in (\p{L}+)/iu.exec(said)?.[1];
  if (city !== undefined)
    return new AIMessage({
      content: '',
      tool_calls: [{ id: 'weather', name: 'weather', args: { city } }],
    });
  if (/dice|roll/i.test(said))
    return new AIMessage({
      content: '',
      tool_calls: [{ id: 'dice', name: 'roll_dice', args: { sides: 6 } }],
    });
  return new AIMessage('Ask me for the weather in a city, or to roll dice.');
}

export const model = process.env['OPENAI_API_KEY'] ? await openai() : new StandIn(reply);
