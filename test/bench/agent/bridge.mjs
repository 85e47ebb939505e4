import { randomUUID } from 'node:crypto';
import { LangGraphAgent } from '@ag-ui/langgraph';

/* A run by AG-UI's bridge. Prints what a page gets, in characters, and the requests before the first event. */

const [deploymentUrl, graphId, content] = process.argv.slice(2);
let requests = 0;
const send = globalThis.fetch;
globalThis.fetch = (...given) => {
  requests += 1;
  return send(...given);
};
const agent = new LangGraphAgent({ deploymentUrl, graphId, threadId: randomUUID() });
agent.addMessage({ id: randomUUID(), role: 'user', content });
let characters = 0;
let before;
await agent.runAgent(
  {},
  {
    onEvent: ({ event }) => {
      if (event.type !== 'RUN_STARTED') before ??= requests;
      characters += `data: ${JSON.stringify(event)}\n\n`.length;
    },
  },
);
process.stdout.write(JSON.stringify({ characters, requests: before }));
