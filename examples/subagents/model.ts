import { AIMessage, type BaseMessage } from '@langchain/core/messages';
import { StandIn } from './stand-in.ts';

async function openai() {
  const { ChatOpenAI } = await import('@langchain/openai');
  return new ChatOpenAI({ model: process.env['OPENAI_MODEL'] ?? 'gpt-5-mini' });
}

const said = (messages: BaseMessage[], type: string): string =>
  messages.findLast((message) => message.type === type)?.text ?? '';

/** Plays all three: the instructions, which come first, say who is asked. */
function reply(messages: BaseMessage[]): AIMessage {
  const role = messages[0]?.text ?? '';
  const topic = said(messages, 'human');
  if (role.startsWith('You are a researcher')) return new AIMessage(`Three facts about ${topic}.`);
  if (role.startsWith('You are a critic')) return new AIMessage(`One doubt about ${topic}`);
  const calls = ['researcher', 'critic'].map((name) => ({
    id: name,
    name,
    args: { question: topic },
  }));
  const answers = messages.filter(({ type }) => type === 'tool').map(({ text }) => text);
  return answers.length > 0
    ? new AIMessage(answers.join(' '))
    : new AIMessage({ content: '', tool_calls: calls });
}

export const model = process.env['OPENAI_API_KEY'] ? await openai() : new StandIn(reply);
