import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';
import { until } from '../../kit/until.ts';
import { AGENT_CHAT_UI } from './pages/agent-chat-ui.ts';
import { DEEP_AGENTS_UI } from './pages/deep-agents-ui.ts';
import type { PageAnswer, PageCall } from './pages/page-call.ts';

/* Ready-made pages, by the calls that their browsers make: each with its preflight, headers and body. */

const ORIGIN = 'http://localhost:3000';
/** A browser sends these headers without a preflight. */
const SAFE = ['accept'];

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/matrix/clients/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

// Each page begins with an empty list.
afterEach(async () => {
  for (const { thread_id } of await agent.client.threads.search())
    await agent.client.threads.delete(thread_id);
});

/** Says whether a browser goes on to the call. It asks first whether method and headers are allowed. */
async function isPermitted({ method, headers }: PageCall, path: string): Promise<boolean> {
  const asked = Object.keys(headers).filter((name) => !SAFE.includes(name));
  const answer = await fetch(agent.url + path, {
    method: 'OPTIONS',
    headers: {
      origin: ORIGIN,
      'access-control-request-method': method,
      'access-control-request-headers': asked.toSorted().join(','),
    },
  });
  const allowed = (what: string): string[] =>
    answer.headers.get(`access-control-allow-${what}`)?.split(/, ?/) ?? [];
  return (
    answer.ok &&
    isShown(answer) &&
    allowed('methods').includes(method) &&
    asked.every((name) => allowed('headers').includes(name))
  );
}

/** Says whether the browser shows an answer to the page. */
const isShown = ({ headers }: Response): boolean =>
  [ORIGIN, '*'].includes(headers.get('access-control-allow-origin') ?? '');

/** Reads events until the stream ends, or until the page leaves. */
async function eventsOf(response: Response, leaves: boolean): Promise<PageAnswer['events']> {
  const events: PageAnswer['events'] = [];
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const messages = text.split('\r\n\r\n');
    text = messages.pop()!;
    for (const message of messages) {
      const fields = new Map(
        message.split('\r\n').map((line) => line.split(/: (.*)/s) as [string, string]),
      );
      if (fields.has('event'))
        events.push({ event: fields.get('event')!, data: JSON.parse(fields.get('data')!) });
    }
    if (leaves && events.some(({ event }) => event === 'messages')) break;
  }
  return events;
}

/** Makes the call from the page's origin. `run` is the run's address, which the page reads from a header if it may. */
async function make(
  call: PageCall,
  path: string,
  body: string | undefined,
): Promise<PageAnswer & { run: string | null; isSeen: boolean }> {
  const { method, headers } = call;
  const mayCall = await isPermitted(call, path);
  const response = await fetch(agent.url + path, {
    method,
    headers: { ...headers, origin: ORIGIN },
    ...(body !== undefined && { body }),
  });
  const run = response.headers.get('content-location');
  const mayRead =
    run === null ||
    response.headers.get('access-control-expose-headers')?.includes('content-location') === true;
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const events = isStream ? await eventsOf(response, call.leaves === true) : [];
  const text = isStream ? '' : await response.text();
  const isSeen = mayCall && mayRead && isShown(response);
  return {
    status: response.status,
    body: text === '' ? undefined : JSON.parse(text),
    events,
    run,
    isSeen,
  };
}

type Message = { content: string | { text: string }[] };
const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('');

/** The last values of a stream, or the newest state of a history. */
function stateOf({ body, events }: PageAnswer): { messages: Message[] } {
  if (events.length > 0)
    return events.findLast(({ event }) => event === 'values')!.data as { messages: Message[] };
  return (body as { values: { messages: Message[] } }[])[0]!.values;
}

/** The parts of an answer that the call names. A list may be longer than the expected beginning. */
function told({ events, says, holds }: PageCall, answer: PageAnswer & { isSeen: boolean }): object {
  const whole = answer.events.length > 0 ? stateOf(answer) : answer.body;
  return {
    status: answer.status,
    isSeen: answer.isSeen,
    ...(events !== undefined && {
      events: [...new Set(answer.events.map(({ event }) => event))].toSorted(),
    }),
    ...(says !== undefined && { says: stateOf(answer).messages.map(textOf) }),
    ...(holds !== undefined && {
      holds:
        Array.isArray(holds) && Array.isArray(whole) ? whole.slice(0, holds.length || 1) : whole,
    }),
  };
}

const expected = ({ status = 200, events, says, holds }: PageCall): object => ({
  status,
  isSeen: true,
  ...(events !== undefined && { events: events.toSorted() }),
  ...(says !== undefined && { says }),
  ...(holds !== undefined && { holds }),
});

describe('a page', () => {
  test.each([
    ['agent-chat-ui', AGENT_CHAT_UI],
    ['deep-agents-ui', DEEP_AGENTS_UI],
  ])('%s gets what it needs, call by call', async (_, calls) => {
    const kept = new Map<string, string>();
    const fill = (text: string): string =>
      text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => kept.get(name) ?? whole);
    const filled = (value: unknown): unknown => JSON.parse(fill(JSON.stringify(value)));
    for (const [number, call] of calls.entries()) {
      const path = fill(call.path);
      const body = call.body === undefined ? undefined : fill(JSON.stringify(call.body));
      const which = { call: number + 1, path, body };
      const wanted = { ...which, ...(filled(expected(call)) as object) };
      const answer = await until(
        `call ${number + 1}: ${call.method} ${path}`,
        async () => {
          const got = await make(call, path, body);
          expect({ ...which, ...told(call, got) }).toMatchObject(wanted);
          return got;
        },
        call.settles ? 20 : 0,
      );
      if (answer.run !== null) kept.set('run', answer.run);
      for (const [name, value] of Object.entries(call.keeps?.(answer) ?? {})) kept.set(name, value);
    }
  });

  test.each([
    ['a thread that is not there', 'GET', '/threads/00000000-0000-4000-8000-000000000000', 404],
    ['a route that is not there', 'GET', '/nowhere', 404],
    ['a body that is not valid', 'POST', '/threads', 422],
  ])('may read the refusal of %s', async (_, method, path, status) => {
    const init = method === 'POST' && { body: '{"metadata": 5}' };
    const response = await fetch(agent.url + path, {
      method,
      headers: { origin: ORIGIN, 'content-type': 'application/json' },
      ...init,
    });
    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.json()).toEqual({ detail: expect.any(String) as string });
  });
});
