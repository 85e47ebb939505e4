import { Client } from '@langchain/langgraph-sdk';
import { buildSystemAssistantId } from '../../src/agent/kernel/ids.ts';
import { valueOf } from './model-stand-in.ts';

/* What a newcomer asks a server: which graphs there are, what they take, how they look, and what they answer. */

export type GraphLook = {
  graph: string;
  /** Why there are no schemas, or no drawing. */
  faults: { schemas?: string; drawing?: string };
  input: Record<string, unknown> | undefined;
};

export type Run = { values: unknown } | { fault: string };

type Asked = { status: number; body: unknown };

async function ask(url: string, headers: Record<string, string>, body?: object): Promise<Asked> {
  const how =
    body === undefined
      ? { headers }
      : {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        };
  const answer = await fetch(url, { ...how, signal: AbortSignal.timeout(120_000) });
  const text = await answer.text();
  try {
    return { status: answer.status, body: JSON.parse(text) };
  } catch {
    return { status: answer.status, body: text };
  }
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || Object.keys(value).length === 0;

/** Returns the graphs that a search for assistants shows. */
export async function searchGraphs(
  url: string,
  headers: Record<string, string> = {},
): Promise<string[]> {
  const { status, body } = await ask(`${url}/assistants/search`, headers, { limit: 1000 });
  if (status !== 200) throw new Error(`/assistants/search answers ${status}: ${shorten(body)}`);
  return [
    ...new Set((body as { graph_id: string }[]).map(({ graph_id: graph }) => graph)),
  ].toSorted();
}

/** Returns the schemas and the drawing of a graph, by the name that langgraph.json gives it. */
export async function lookAtGraph(
  url: string,
  graph: string,
  headers: Record<string, string> = {},
): Promise<GraphLook> {
  const assistant = `${url}/assistants/${buildSystemAssistantId(graph)}`;
  const schemas = await ask(`${assistant}/schemas`, headers);
  const drawing = await ask(`${assistant}/graph?xray=true`, headers);
  const { input_schema: input } = schemas.body as { input_schema?: Record<string, unknown> | null };
  const nodes = (drawing.body as { nodes?: unknown[] }).nodes ?? [];
  return {
    graph,
    faults: {
      ...((schemas.status !== 200 || isEmpty(input)) && {
        schemas: `${schemas.status} ${shorten(schemas.body)}`,
      }),
      ...((drawing.status !== 200 || nodes.length === 0) && {
        drawing: `${drawing.status} ${shorten(drawing.body)}`,
      }),
    },
    input: input ?? undefined,
  };
}

const shorten = (value: unknown): string => JSON.stringify(value).slice(0, 200);

/** Returns an input that a graph's schema accepts. */
export function inputFor(schema: Record<string, unknown> | undefined): unknown {
  const properties = (schema?.['properties'] ?? {}) as Record<string, unknown>;
  const messages = [{ role: 'human', content: 'Tell me about the sea' }];
  if (schema === undefined || 'messages' in properties) return { messages };
  return valueOf(schema, 'the sea');
}

export type RunWish = {
  graph: string;
  input: unknown;
  context?: object;
  config?: object;
  headers?: Record<string, string>;
};

/** Runs a graph on a thread to its end. */
export async function runGraph(
  url: string,
  thread: string,
  { graph, input, context, config, headers = {} }: RunWish,
): Promise<Run> {
  const body = {
    assistant_id: graph,
    input,
    ...(context && { context }),
    ...(config && { config }),
  };
  const { status, body: values } = await ask(`${url}/threads/${thread}/runs/wait`, headers, body);
  const error = (values as { __error__?: { error: string; message: string } } | null)?.__error__;
  if (status !== 200) return { fault: `${status} ${shorten(values)}` };
  return error === undefined ? { values } : { fault: `${error.error}: ${error.message}` };
}

export async function createThread(
  url: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const client = new Client({
    apiUrl: url,
    apiKey: null,
    defaultHeaders: headers,
    callerOptions: { maxRetries: 0 },
  });
  return (await client.threads.create()).thread_id;
}
