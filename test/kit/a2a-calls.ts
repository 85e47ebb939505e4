import { randomUUID } from 'node:crypto';

/* Requests of A2A as they go over the wire, so that a test sees what a client would read away. */

export type A2aPart = {
  text?: string;
  data?: unknown;
  raw?: string;
  url?: string;
  mediaType?: string;
  filename?: string;
  metadata?: { interrupt_id: string };
};
export type A2aTask = {
  id: string;
  contextId: string;
  status: { state: string; timestamp: string; message?: { parts: A2aPart[] } };
  artifacts?: { artifactId: string; name: string; parts: A2aPart[] }[];
};
export type A2aError = { code: number; message: string; data?: unknown };

/** Who asks: by which key or token, in which version (none asks for the older one). */
type A2aCaller = { url: string; headers?: Record<string, string>; version?: '1.0' | undefined };

export type A2aCalls = {
  post(assistant: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Returns the result, or the error. */
  call<T = A2aError>(assistant: string, method: string, params?: unknown): Promise<T>;
  send(assistant: string, params: object): Promise<A2aTask>;
  get(assistant: string, id: string): Promise<A2aTask>;
  /** Returns what a stream brings, until it ends. */
  stream(assistant: string, method: string, params: unknown): Promise<Record<string, unknown>[]>;
};

export const rpc = (method: string, params?: unknown): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  ...(params !== undefined && { params }),
});

const messageOf = (part: object, more: object): object => ({
  message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [part], ...more },
});

/** Returns the params of a message in version 1.0. */
export const textMessage = (text: string, more: object = {}): object => messageOf({ text }, more);
export const dataMessage = (data: unknown, more: object = {}): object => messageOf({ data }, more);

/** Returns the message of a stream's event without its envelope. */
const resultIn = (line: string): Record<string, unknown> => {
  const { result, error } = JSON.parse(line.slice(5)) as {
    result?: Record<string, unknown>;
    error?: Record<string, unknown>;
  };
  return result ?? { error };
};

/** Returns the results in the text of an event stream. */
export const resultsIn = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map(resultIn);

export function a2aCalls({ url, headers = {}, version = '1.0' }: A2aCaller): A2aCalls {
  const post: A2aCalls['post'] = (assistant, body, more = {}) =>
    fetch(`${url}/a2a/${assistant}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': version, ...headers, ...more },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const call: A2aCalls['call'] = async <T>(assistant: string, method: string, params?: unknown) => {
    const { result, error } = (await (await post(assistant, rpc(method, params))).json()) as Record<
      string,
      unknown
    >;
    return (error ?? result) as T;
  };
  return {
    post,
    call,
    send: async (assistant, params) =>
      (await call<{ task: A2aTask }>(assistant, 'SendMessage', params)).task,
    get: (assistant, id) => call<A2aTask>(assistant, 'GetTask', { id }),
    stream: async (assistant, method, params) =>
      resultsIn(await (await post(assistant, rpc(method, params))).text()),
  };
}
