import type { GraphSource } from '../gx-json/read.ts';
import { USUAL_PORT } from './front-door.ts';

type Facts = { url: string; graphs: GraphSource[]; seconds: number; data: string; reload: boolean; isElsewhere: boolean };

/**
 * Returns the link to LangGraph Studio, a hosted page. The browser itself calls this server, so a local address will
 * do.
 */
const studioLink = (url: string): string => `https://smith.langchain.com/studio/?baseUrl=${url}`;

/** Returns what to know and what to try once the server answers. */
export function welcome({ url, graphs, seconds, data, reload, isElsewhere }: Facts): string {
  const width = Math.max(...graphs.map(({ graphId }) => graphId.length));
  const lines = graphs.map(({ graphId, description }) => `  ${graphId.padEnd(width)}  ${description ?? ''}`.trimEnd());
  const first = graphs[0]?.graphId ?? 'agent';
  return `
Ready after ${seconds.toFixed(1)} s: ${url}
${isElsewhere ? `Port ${USUAL_PORT} is taken, so this is another one. --port chooses.\n` : ''}
Assistants
${lines.join('\n')}

Try
  curl -sN ${url}/runs/stream -H 'content-type: application/json' \\
    -d '{"assistant_id": "${first}", "input": {"messages": [{"role": "human", "content": "hello"}]}, "stream_mode": ["updates", "custom"]}'

  import { Client } from '@langchain/langgraph-sdk';
  const client = new Client({ apiUrl: '${url}' });

Chat    ${url}/chat
Docs    ${url}/docs
Studio  ${studioLink(url)}
Data    ${data}
${reload ? 'A changed file reloads the graphs. ' : ''}Ctrl-C stops everything.

`;
}
