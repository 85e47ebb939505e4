import { Client } from '@langchain/langgraph-sdk';
import { Unhealthy } from '../errors.ts';
import type { Report } from '../steps.ts';

const MAX_LINE = 200;

type Agent = { url: string; key: string };

/** Creates a thread, and streams one run on it to the terminal with the official SDK client. */
export async function streamOneRun(agent: Agent, question: string, report: Report): Promise<void> {
  const client = new Client({ apiUrl: agent.url, apiKey: agent.key });
  const [assistant] = await client.assistants.search({ limit: 1 });
  if (assistant === undefined)
    throw new Unhealthy(`The agent at ${agent.url} serves no assistant.`);
  const thread = await client.threads.create();
  report(`thread ${thread.thread_id}, assistant ${assistant.name}`);
  report(`human: ${question}`);
  const events = client.runs.stream(thread.thread_id, assistant.assistant_id, {
    input: { messages: [{ role: 'human', content: question }] },
    streamMode: ['values', 'custom'],
  });
  let answered = false;
  for await (const { event, data } of events) {
    const line = `${event}: ${JSON.stringify(data)}`;
    report(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}...` : line);
    if (event === 'error') throw new Unhealthy(`The run failed: ${JSON.stringify(data)}`);
    answered ||= event === 'values';
  }
  if (!answered) throw new Unhealthy('The run ended without a state.');
}
