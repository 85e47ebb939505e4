import type { AgentProcess } from '../../kit/agent-server.ts';

/* Requests with a key, as any client sends them. */

export type Json = Record<string, unknown>;
export type Answer = { status: number; headers: Headers; body: Json };

/** Sends a request, and reads its answer to the end. What is no JSON stands under `text`. */
export async function post(
  agent: Pick<AgentProcess, 'url'>,
  path: string,
  body: unknown,
  more: Record<string, string> = {},
): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...more };
  const answer = await fetch(agent.url + path, {
    method: 'POST',
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get('content-type')?.includes('json') === true;
  return {
    status: answer.status,
    headers: answer.headers,
    body: (isJson ? JSON.parse(text) : { text }) as Json,
  };
}

export const keyed = (
  agent: Pick<AgentProcess, 'url'>,
  path: string,
  body: unknown,
  key: string,
): Promise<Answer> => post(agent, path, body, { 'idempotency-key': key });

/** Returns the run that an answer is about. */
export const runIdOf = ({ headers }: Answer): string =>
  /runs\/([\w-]+)/.exec(headers.get('content-location')!)![1]!;
