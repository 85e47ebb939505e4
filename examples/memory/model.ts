import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { StandIn } from './stand-in.ts';

async function openai() {
  const { ChatOpenAI } = await import('@langchain/openai');
  return new ChatOpenAI({ model: process.env['OPENAI_MODEL'] ?? 'gpt-5-mini' });
}

/** Keeps what comes after "remember", and otherwise says what the instructions tell of the user. */
function reply(messages: BaseMessage[]): AIMessage {
  const last = messages.at(-1);
  if (last?.type === 'tool') return new AIMessage('I will remember that.');
  const fact = /^remember(?: that)? (.+)$/i.exec(last?.text ?? '')?.[1];
  if (fact !== undefined)
    return new AIMessage({
      content: '',
      tool_calls: [{ id: 'remember', name: 'remember', args: { fact } }],
    });
  const known = messages[0]?.text.match(/^- .+$/gm) ?? [];
  return new AIMessage(
    known.length === 0
      ? 'I know nothing about you yet.'
      : `I know this about you:\n${known.join('\n')}`,
  );
}

export const model = process.env['OPENAI_API_KEY'] ? await openai() : new StandIn(reply);
