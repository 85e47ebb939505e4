import 'dotenv/config';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { tools } from './tools.js';

export const graph = createAgent({
  model: new ChatOpenAI({ model: 'gpt-5-mini' }),
  tools,
  systemPrompt: 'You answer with the hour.',
});
