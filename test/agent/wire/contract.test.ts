import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { until } from '../../kit/until.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* The finer points of the interface, over the wire. */

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    config: 'test/agent/wire/contract/graphs/gx.json',
  });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

type Answer = { status: number; body: Record<string, unknown> };
const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
  const response = await fetch(`${agent.url}${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>,
  };
};

describe('what a run is called with', () => {
  test('context and configurable are one; assistant and request are merged in that order', async () => {
    const assistant = await agent.client.assistants.create({
      graphId: 'shows',
      config: { configurable: { model: 'small', tone: 'kind' } },
      metadata: { team: 'a' },
    });
    const thread = await agent.client.threads.create({ metadata: { ticket: 7 } });
    const { seen } = (await agent.client.runs.wait(thread.thread_id, assistant.assistant_id, {
      input: {},
      context: { model: 'large' },
      metadata: { team: 'b' },
    })) as { seen: Record<string, unknown> };
    const ids = {
      thread_id: thread.thread_id,
      graph_id: 'shows',
      assistant_id: assistant.assistant_id,
    };
    expect(seen).toMatchObject({
      configurable: {
        model: 'large',
        tone: 'kind',
        user_id: null,
        langgraph_auth_user: null,
        run_id: expect.any(String) as string,
        ...ids,
      },
      context: { model: 'large', tone: 'kind' },
      metadata: {
        team: 'b',
        ticket: 7,
        run_attempt: 1,
        langgraph_api_version: expect.any(String) as string,
        graph_id: 'shows',
      },
    });
  });

  test('settings in configurable reach the context', async () => {
    const body = { assistant_id: 'shows', input: {}, config: { configurable: { model: 'tiny' } } };
    const answer = await call('POST', '/runs/wait', body);
    expect(answer.body['seen']).toMatchObject({
      context: { model: 'tiny' },
      configurable: { model: 'tiny' },
    });
  });

  test('headers reach it as the configuration says, and the id of the request does', async () => {
    const headers = {
      'x-tenant': 'blue',
      'x-internal-hop': '3',
      'x-api-key': 'secret',
      'x-request-id': 'q-1',
    };
    const response = await fetch(`${agent.url}/runs/wait`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ assistant_id: 'shows', input: {} }),
    });
    const { seen } = (await response.json()) as { seen: { configurable: Record<string, unknown> } };
    expect(seen.configurable).toMatchObject({
      'x-tenant': 'blue',
      langgraph_request_id: response.headers.get('x-request-id'),
    });
    expect(Object.keys(seen.configurable).filter((name) => name.startsWith('x-'))).toEqual([
      'x-tenant',
      'x-request-id',
    ]);
  });

  test('context together with configurable is refused', async () => {
    const body = {
      assistant_id: 'shows',
      input: {},
      context: { model: 'a' },
      config: { configurable: { model: 'b' } },
    };
    expect(await call('POST', '/runs/wait', body)).toEqual({
      status: 400,
      body: { detail: expect.stringMatching(/context/) as string },
    });
  });

  test('a tracer is passed over', async () => {
    const body = { assistant_id: 'shows', input: {}, langsmith_tracer: { project_name: 'x' } };
    expect((await call('POST', '/runs/wait', body)).status).toBe(200);
  });
});

describe('feedback', () => {
  const asking = { assistant_id: 'steps', input: { left: 1 }, feedback_keys: ['score', 'tone'] };
  type Links = Record<string, string>;

  test('is asked for at the end of a stream, given at the address told there, and found with the run', async () => {
    const { thread_id } = await agent.client.threads.create();
    const { feedback_keys: feedbackKeys, input } = asking;
    const events = await Array.fromAsync(
      agent.client.runs.stream(thread_id, 'steps', { input, feedbackKeys, streamMode: 'updates' }),
    );
    const last = events.at(-1) as unknown as { event: string; data: Links };
    const data = { score: expect.any(String) as string, tone: expect.any(String) as string };
    expect(last).toEqual({
      id: expect.stringMatching(/^\d+-\d+$/) as string,
      event: 'feedback',
      data,
    });
    expect((await fetch(`${last.data['score']}?score=0.5&comment=fair`)).status).toBe(204);
    expect(
      (
        await fetch(last.data['tone']!, {
          method: 'POST',
          body: '{"value": "curt", "score": true}',
        })
      ).status,
    ).toBe(204);
    expect(
      (await fetch(last.data['score']!, { method: 'POST', body: '{"score": 1}' })).status,
    ).toBe(204);
    const [run] = await agent.client.runs.list(thread_id);
    const path = `/threads/${thread_id}/runs/${run!.run_id}/feedback`;
    const given = (await call('GET', path)).body as unknown as object[];
    expect(given).toMatchObject([
      { key: 'score', score: 1, comment: null },
      { key: 'tone', score: 1, value: 'curt' },
    ]);
    await agent.client.threads.delete(thread_id);
    expect(
      (await fetch(last.data['score']!, { method: 'POST', body: '{"score": 1}' })).status,
    ).toBe(404);
  });

  test('is asked for with the result of a run, also later, on a host that no header chooses', async () => {
    const { thread_id } = await agent.client.threads.create();
    const response = await fetch(`${agent.url}/threads/${thread_id}/runs/wait`, {
      method: 'POST',
      headers: { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agents.example.com' },
      body: JSON.stringify(asking),
    });
    const { __feedback__ } = (await response.json()) as { __feedback__: Links };
    expect(__feedback__['score']).toMatch(
      /^http:\/\/127\.0\.0\.1:\d+\/feedback\/tokens\/[0-9a-f-]{36}$/,
    );
    const joined = await call('GET', response.headers.get('location')!);
    expect(joined.body).toMatchObject({ left: 0, __feedback__ });
  });

  test('on a link that nobody handed out, or of the wrong form, is refused', async () => {
    const path = '/feedback/tokens/00000000-0000-4000-8000-000000000000';
    expect((await call('POST', path, { score: 1 })).status).toBe(404);
    expect((await call('POST', path, { score: 'high' })).status).toBe(422);
    expect((await call('POST', '/runs/wait', { ...asking, feedback_keys: [''] })).status).toBe(422);
  });
});

describe('a history written by hand', () => {
  test('takes values and commands as nodes would return them', async () => {
    const supersteps = [
      { updates: [{ values: { left: 5 }, as_node: '__input__' }] },
      { updates: [{ command: { update: { left: 1, done: 4 } }, as_node: 'step' }] },
    ];
    const made = await call('POST', '/threads', { metadata: { graph_id: 'steps' }, supersteps });
    expect(made).toMatchObject({
      status: 200,
      body: { status: 'interrupted', values: { left: 1, done: 4 } },
    });
    const state = await agent.client.runs.wait(made.body['thread_id'] as string, 'steps', {
      input: null,
    });
    expect(state).toMatchObject({ left: 0, done: 5 });
  });
});

test('runs of a thread are listed by the fields that are asked for, and no others', async () => {
  const { thread_id } = await agent.client.threads.create();
  await agent.client.runs.wait(thread_id, 'steps', { input: { left: 1 } });
  const path = `/threads/${thread_id}/runs`;
  expect((await call('GET', `${path}?select=status&select=thread_id`)).body).toEqual([
    { status: 'success', thread_id },
  ]);
  expect((await call('GET', `${path}?select=colour`)).status).toBe(422);
});

describe('a thread', () => {
  test('shows only the selected fields of its states, and what they take up', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'steps', { input: { left: 2 } });
    const state = await call('GET', `/threads/${thread_id}/state?select=values&select=next`);
    expect(state.body).toEqual({
      values: expect.objectContaining({ done: 2 }) as object,
      next: [],
    });
    const history = await call('POST', `/threads/${thread_id}/history`, {
      limit: 3,
      select: ['next'],
    });
    expect(history.body).toEqual([{ next: [] }, { next: ['step'] }, { next: ['step'] }]);
    expect((await call('GET', `/threads/${thread_id}/state?select=colour`)).status).toBe(422);
    const storage = await call('GET', `/threads/${thread_id}/storage`);
    expect(storage.body).toMatchObject({
      thread_id,
      checkpoints: { count: 4 },
      channel_values: { by_channel: { done: {} } },
    });
    expect(storage.body['total_bytes']).toBeGreaterThan(0);
  });

  test('is found by its state and its ids', async () => {
    const { thread_id } = await agent.client.threads.create();
    const other = await agent.client.threads.create();
    await agent.client.runs.wait(thread_id, 'steps', {
      input: { left: 1, journal: '' },
      metadata: {},
    });
    const search = {
      ids: [thread_id, other.thread_id],
      values: { done: 1 },
      sort_by: 'thread_id',
      sort_order: 'asc',
    };
    expect((await call('POST', '/threads/search', search)).body).toMatchObject([{ thread_id }]);
    expect(
      (await call('POST', '/threads/count', { values: { done: 1 }, status: 'idle' })).body,
    ).toBeGreaterThanOrEqual(1);
    expect((await call('POST', '/threads/search', { select: ['colour'] })).status).toBe(422);
  });

  test('is pruned with the run it is busy with', async () => {
    const { thread_id } = await agent.client.threads.create();
    await agent.client.runs.create(thread_id, 'steps', { input: { left: 100, pause: 50 } });
    const unknown = crypto.randomUUID();
    expect(
      (await call('POST', '/threads/prune', { thread_ids: [thread_id, unknown] })).body,
    ).toEqual({ pruned_count: 1 });
    expect((await call('GET', `/threads/${thread_id}`)).status).toBe(404);
  });

  test('of which only the writes are stored reads as its runs left it, copied or not: what a step wrote keeps its order', async () => {
    const { thread_id } = await agent.client.threads.create();
    const once = ['alto', 'bass', 'countertenor', 'soprano', 'tenor', 'treble'];
    for (let times = 1; times <= 4; times += 1) {
      const sung = Array.from({ length: times }, () => once).flat();
      const end = await agent.client.runs.wait(thread_id, 'choir', { input: { sung: [] } });
      expect(end).toEqual({ sung });
      expect((await agent.client.threads.getState(thread_id)).values).toEqual({ sung });
    }
    const copy = (await agent.client.threads.copy(thread_id)) as unknown as { thread_id: string };
    expect(
      (await agent.client.threads.getState<{ sung: string[] }>(copy.thread_id)).values.sung,
    ).toHaveLength(24);
  });
});

test('a run that resumed and was rolled back leaves the question as it was', async () => {
  const { thread_id } = await agent.client.threads.create();
  await agent.client.runs.wait(thread_id, 'slow', { input: { request: 'go' } });
  const asked = await agent.client.threads.getState(thread_id);
  const run = await agent.client.runs.create(thread_id, 'slow', { command: { resume: 'yes' } });
  await until('the answer is taken', async () =>
    (await agent.client.threads.getState(thread_id)).next.includes('work'),
  );
  await call('POST', `/threads/${thread_id}/runs/${run.run_id}/cancel?wait=1&action=rollback`);
  expect(await agent.client.threads.getState(thread_id)).toEqual(asked);
  const state = await agent.client.runs.wait(thread_id, 'slow', { command: { resume: 'no' } });
  expect(state).toMatchObject({ answer: 'no' });
});

test('runs that answered one question after the other in the same step are taken back one by one', async () => {
  const { thread_id } = await agent.client.threads.create();
  const states: unknown[] = [];
  const runs: string[] = [];
  const step = async (body: object): Promise<void> => {
    const { run_id } = await agent.client.runs.create(thread_id, 'questions', body);
    await agent.client.runs.join(thread_id, run_id);
    runs.push(run_id);
    states.push(await agent.client.threads.getState(thread_id));
  };
  await step({ input: {} });
  await step({ command: { resume: 'one' } });
  await step({ command: { resume: 'a wrong two' } });
  const questions = (states as { interrupts: { value: string }[] }[]).map(({ interrupts }) =>
    interrupts.map(({ value }) => value),
  );
  expect(questions).toEqual([['first'], ['second'], ['third']]);
  await agent.client.runs.delete(thread_id, runs[2]!);
  expect(await agent.client.threads.getState(thread_id)).toEqual(states[1]);
  await agent.client.runs.delete(thread_id, runs[1]!);
  expect(await agent.client.threads.getState(thread_id)).toEqual(states[0]);
  for (const resume of ['one', 'two'])
    await agent.client.runs.wait(thread_id, 'questions', { command: { resume } });
  expect(
    await agent.client.runs.wait(thread_id, 'questions', { command: { resume: 'three' } }),
  ).toMatchObject({
    answers: ['one', 'two', 'three'],
  });
});

describe('a stream', () => {
  type Event = { event: string; data: Record<string, unknown> };
  const stream = async (
    graph: string,
    input: Record<string, unknown>,
    streamMode: string[],
    streamSubgraphs = false,
  ): Promise<Event[]> => {
    const { thread_id } = await agent.client.threads.create();
    return (await Array.fromAsync(
      agent.client.runs.stream(thread_id, graph, {
        input,
        streamMode: streamMode as never,
        streamSubgraphs,
      }),
    )) as never;
  };
  const of = (events: Event[], name: string): Event['data'][] =>
    events.filter(({ event }) => event === name).map(({ data }) => data);

  test('names the subgraph an event comes from', async () => {
    const events = await stream(
      'nested',
      {},
      ['values', 'updates', 'custom', 'tasks', 'checkpoints'],
      true,
    );
    const names = new Set(
      events.map(({ event }) => event.replace(/\|sub:[0-9a-f-]{36}$/, '|sub:id')),
    );
    const both = (name: string): string[] => [name, `${name}|sub:id`];
    expect(names).toEqual(
      new Set([
        'metadata',
        ...['values', 'updates', 'tasks', 'checkpoints'].flatMap(both),
        'custom|sub:id',
      ]),
    );
    const plain = await stream('nested', {}, ['values', 'updates']);
    expect(plain.every(({ event }) => !event.includes('|'))).toBe(true);
  });

  test('carries each mode in its form', async () => {
    const events = await stream('chat', { messages: [{ role: 'human', content: 'hi' }] }, [
      'updates',
      'tasks',
      'checkpoints',
      'debug',
      'messages-tuple',
    ]);
    expect(of(events, 'metadata')).toEqual([{ run_id: expect.any(String) as string, attempt: 1 }]);
    expect(of(events, 'updates')).toEqual([
      { answer: { messages: [expect.objectContaining({ type: 'ai' })] as unknown[] } },
    ]);
    const [started, finished] = of(events, 'tasks');
    expect(started).toMatchObject({
      id: expect.any(String) as string,
      name: 'answer',
      triggers: expect.any(Array) as unknown[],
    });
    expect(finished).toMatchObject({ id: started?.['id'], name: 'answer', interrupts: [] });
    for (const checkpoint of of(events, 'checkpoints'))
      expect(Object.keys(checkpoint)).toEqual(
        expect.arrayContaining(['config', 'metadata', 'values', 'next', 'parent_config', 'tasks']),
      );
    for (const told of of(events, 'debug'))
      expect(told).toMatchObject({
        step: expect.any(Number) as number,
        timestamp: expect.any(String) as string,
        type: expect.stringMatching(/^(checkpoint|task|task_result)$/) as string,
        payload: {},
      });
    const [message] = of(events, 'messages') as unknown as [object, object][];
    expect(message).toMatchObject([
      { type: 'AIMessageChunk' },
      { langgraph_node: 'answer', graph_id: 'chat' },
    ]);
  });

  test('is narrowed to the graphs that are asked for, when it starts and when it is joined', async () => {
    const { thread_id } = await agent.client.threads.create();
    const body = {
      assistant_id: 'nested',
      input: {},
      stream_mode: ['updates', 'custom'],
      stream_subgraphs: true,
      stream_resumable: true,
    };
    const response = await fetch(`${agent.url}/threads/${thread_id}/runs/stream?namespace=`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    const names = (text: string): string[] =>
      text.match(/^event: \S+/gm)?.map((line) => line.slice(7)) ?? [];
    expect(new Set(names(await response.text()))).toEqual(new Set(['metadata', 'updates']));
    const from = `${agent.url}${response.headers.get('location')}`;
    const joined = async (query: string): Promise<string[]> =>
      names(await (await fetch(`${from}${query}`, { headers: { 'last-event-id': '-1' } })).text());
    const inner =
      (await joined('')).find((name) => name.startsWith('custom|'))?.slice('custom|'.length) ?? '';
    expect(await joined(`?namespace=${encodeURIComponent(inner)}`)).toEqual([
      'metadata',
      `custom|${inner}`,
      `updates|${inner}`,
    ]);
  });

  test('carries the raw events of a graph next to other modes', async () => {
    const events = await stream('chat', { messages: [{ role: 'human', content: 'hi' }] }, [
      'events',
      'updates',
    ]);
    const [raw] = of(events, 'events');
    expect(raw).toMatchObject({
      event: 'on_chain_start',
      run_id: expect.any(String) as string,
      metadata: {},
      data: {},
    });
    expect(of(events, 'updates')).toHaveLength(1);
  });

  test('is taken up behind the event that the client saw last, or from the start by each of its names', async () => {
    const { thread_id } = await agent.client.threads.create();
    const body = {
      assistant_id: 'steps',
      input: { left: 3 },
      stream_mode: ['custom'],
      stream_resumable: true,
    };
    const { run_id } = (await call('POST', `/threads/${thread_id}/runs`, body)).body as {
      run_id: string;
    };
    await agent.client.runs.join(thread_id, run_id);
    const ids = async (cursor: string): Promise<string[]> => {
      const headers = { 'last-event-id': cursor };
      const response = await fetch(`${agent.url}/threads/${thread_id}/runs/${run_id}/stream`, {
        headers,
      });
      return (await response.text()).match(/^id: \S+/gm)?.map((line) => line.slice(4)) ?? [];
    };
    const all = await ids('-');
    expect(all).toHaveLength(4);
    const [first = ''] = all;
    for (const start of [
      '-1',
      '0',
      '7',
      '1-1',
      String(Number(first.split('-')[0]) - 1),
      `${Number(first.split('-')[0]) - 1}-*`,
    ])
      expect(await ids(start)).toEqual(all);
    expect(await ids(first)).toEqual(all.slice(1));
    expect(await ids(all[3] ?? '')).toEqual([]);
  });

  test('is joined with a list of modes in either spelling', async () => {
    const { thread_id } = await agent.client.threads.create();
    const body = {
      assistant_id: 'steps',
      input: { left: 1 },
      stream_mode: ['values', 'updates', 'custom'],
      stream_resumable: true,
    };
    const { run_id } = (await call('POST', `/threads/${thread_id}/runs`, body)).body as {
      run_id: string;
    };
    const path = `/threads/${thread_id}/runs/${run_id}/stream`;
    const names = async (query: string): Promise<Set<string>> => {
      const response = await fetch(`${agent.url}${path}?${query}`, {
        headers: { 'last-event-id': '-1' },
      });
      return new Set((await response.text()).match(/^event: \S+/gm)?.map((line) => line.slice(7)));
    };
    const wanted = new Set(['metadata', 'updates', 'custom']);
    expect(await names('stream_mode=updates&stream_mode=custom')).toEqual(wanted);
    expect(await names(`stream_mode=${encodeURIComponent('["updates","custom"]')}`)).toEqual(
      wanted,
    );
  });
});

test('a graph of annotations on a server without TypeScript is described by its fields and the zod schema of its context', async () => {
  const [own] = await agent.client.assistants.search({ graphId: 'shows' });
  const schemas = await agent.client.assistants.getSchemas(own?.assistant_id ?? '');
  expect(schemas).toMatchObject({
    state_schema: { type: 'object', properties: { seen: {} } },
    input_schema: { type: 'object', properties: { seen: {} } },
    context_schema: { type: 'object', properties: { model: { type: 'string' } } },
  });
});

test('items of the store are found by meaning, unless they were kept out', async () => {
  const put = (key: string, text: string, index?: unknown): Promise<Answer> =>
    call('PUT', '/store/items', {
      namespace: ['paint'],
      key,
      value: { text, note: 'green green' },
      ...(index !== undefined && { index }),
    });
  await put('a', 'red');
  await put('b', 'red blue');
  await put('c', 'blue');
  await put('hidden', 'red', false);
  await put('noted', 'red', ['note']);
  const search = async (query: string): Promise<unknown[]> => {
    const { items } = (
      await call('POST', '/store/items/search', { namespace_prefix: ['paint'], query, limit: 3 })
    ).body as {
      items: { key: string; score: number }[];
    };
    return items.map(({ key, score }) => [key, Math.round(score * 100) / 100]);
  };
  expect((await search('red')).slice(0, 2)).toEqual([
    ['a', 1],
    ['b', 0.71],
  ]);
  expect((await search('green'))[0]).toEqual(['noted', 1]);
  const all = (await call('POST', '/store/items/search', { namespace_prefix: ['paint'] })).body as {
    items: { score: unknown }[];
  };
  expect(all.items.map(({ score }) => score)).toEqual([null, null, null, null, null]);
});

test('figures carry the names that existing dashboards ask for', async () => {
  const text = await until('the queue is counted', async () => {
    const found = await fetch(`${agent.url}/metrics`).then((answer) => answer.text());
    return /num_pending_runs\{.*\} \d/.test(found) && found;
  });
  for (const name of [
    'num_pending_runs',
    'num_running_runs',
    'workers_max',
    'workers_active',
    'workers_available',
  ])
    expect(text).toMatch(
      new RegExp(
        `^lg_api_${name}\\{project_id="",revision_id="",deployment="",revision=""\\} \\d+$`,
        'm',
      ),
    );
});
