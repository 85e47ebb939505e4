import { StreamChannel } from '@langchain/langgraph';
import { createDeepAgent } from 'deepagents';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { ScriptedModel } from './scripted-model.js';

/* Agents as their makers' packages build them, with a subagent each. */

const FOUND = 'Tea grows in Asia.';

const weather = tool(({ city }) => `It rains in ${city}.`, {
  name: 'weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
});

/** An agent that a tool of another agent runs. */
const forecaster = createAgent({
  name: 'forecaster',
  model: new ScriptedModel({
    call: { name: 'weather', args: { city: 'Kyoto' } },
    text: 'Take an umbrella.',
  }),
  tools: [weather],
});

const forecast = tool(
  async ({ city }) => {
    const { messages } = await forecaster.invoke({
      messages: [{ role: 'user', content: `How is it in ${city}?` }],
    });
    return messages.at(-1).text;
  },
  { name: 'forecast', description: 'Asks the forecaster.', schema: z.object({ city: z.string() }) },
);

/** Reports to clients which tools were called, on a channel of its own. */
function calls() {
  const channel = StreamChannel.remote('calls');
  return {
    init: () => ({ calls: channel }),
    process: ({ method, params }) => {
      if (method === 'tools' && params.data.event === 'tool-started')
        channel.push(params.data.tool_name);
      return true;
    },
  };
}

export const agent = createAgent({
  name: 'planner',
  streamTransformers: [calls],
  model: new ScriptedModel({
    call: { name: 'forecast', args: { city: 'Kyoto' } },
    text: 'Bring an umbrella to Kyoto.',
  }),
  tools: [forecast],
});

export const deep = createDeepAgent({
  name: 'chief',
  model: new ScriptedModel({
    call: {
      name: 'task',
      args: { description: 'Where does tea grow?', subagent_type: 'researcher' },
    },
    text: 'Tea comes from Asia.',
  }),
  subagents: [
    {
      name: 'researcher',
      description: 'Finds things out.',
      systemPrompt: 'You find things out.',
      model: new ScriptedModel({ text: FOUND }),
    },
  ],
});
