import type { GraphSource } from '../../schema/wire/wall/graph-start.ts';
import type { GraphFault } from '../graphs/graph-faults.ts';
import { USUAL_PORT } from './front-door.ts';

type Welcome = {
  url: string;
  /** The key that callers from other machines send. */
  key: string | undefined;
  graphs: GraphSource[];
  faults: GraphFault[];
  /** Which interpreter runs graphs in Python, and why. */
  python: string | undefined;
  input: object;
  seconds: number;
  data: string;
  reload: boolean;
  isElsewhere: boolean;
};

/**
 * Returns the link to LangGraph Studio, a hosted page. The browser itself calls this server, so a local address will
 * do.
 */
const buildStudioLink = (url: string): string =>
  `https://smith.langchain.com/studio/?baseUrl=${url}`;

const formatJavascriptClient = (
  url: string,
  key: string | undefined,
): string => `  import { Client } from '@langchain/langgraph-sdk';
  const client = new Client({ apiUrl: '${url}'${key === undefined ? '' : `, apiKey: '${key}'`} });`;

const formatPythonClient = (
  url: string,
  key: string | undefined,
): string => `  from langgraph_sdk import get_client
  client = get_client(url="${url}"${key === undefined ? '' : `, api_key="${key}"`})`;

const formatKey = (key: string | undefined): Record<'sentence' | 'header' | 'hash', string> =>
  key === undefined
    ? { sentence: '', header: '', hash: '' }
    : {
        sentence: `Other machines may reach it, so it asks for a key: ${key}\n`,
        header: ` -H 'x-api-key: ${key}'`,
        hash: `#key=${key}`,
      };

/** Returns the id of the graph that the text shows how to ask. */
export const findServedGraph = (graphs: GraphSource[], faults: GraphFault[]): string | undefined =>
  graphs.find(({ graphId }) => !faults.some(({ graph_id }) => graph_id === graphId))?.graphId;

/** Returns the text that is printed once the server answers. */
export function formatWelcome({
  url,
  key,
  graphs,
  faults,
  input,
  python,
  seconds,
  data,
  reload,
  isElsewhere,
}: Welcome): string {
  const width = Math.max(...graphs.map(({ graphId }) => graphId.length));
  const errors = new Map(
    faults.map(({ graph_id, error }) => [graph_id, `NOT SERVED until its file is fixed: ${error}`]),
  );
  const lines = graphs.map(({ graphId, description }) =>
    `  ${graphId.padEnd(width)}  ${errors.get(graphId) ?? description ?? ''}`.trimEnd(),
  );
  const first = findServedGraph(graphs, faults) ?? 'agent';
  const shown = formatKey(key);
  return `
Ready after ${seconds.toFixed(1)} s: ${url}
${isElsewhere ? `Port ${USUAL_PORT} is taken, so this is another one. --port chooses.\n` : ''}${shown.sentence}
Assistants
${lines.join('\n')}

Try
  curl -sN ${url}/runs/stream -H 'content-type: application/json'${shown.header} \\
    -d '{"assistant_id": "${first}", "input": ${JSON.stringify(input).replaceAll("'", String.raw`'\''`)}, "stream_mode": ["updates", "custom"]}'

${python === undefined ? formatJavascriptClient(url, key) : formatPythonClient(url, key)}

Studio  ${url}/studio${shown.hash}
Docs    ${url}/docs
Vendor  ${buildStudioLink(url)} (LangGraph Studio, needs a login)
Data    ${data}
${python === undefined ? '' : `Python  ${python}\n`}${reload ? 'A changed file reloads the graphs. ' : ''}Ctrl-C stops everything.

`;
}
