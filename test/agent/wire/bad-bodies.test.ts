import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase, type TestDatabase } from '../../kit/postgres.ts';
import { faultsOfFields, faultsOfTheWhole, type Fault, type Schema } from './bad-bodies/faults.ts';

/*
 * Every route that takes a body gets each fault that a body can have. It must answer with a sentence and store nothing.
 */

/** The limit in bytes. It is more than ten thousand keys take. */
const LIMIT = 400_000;

let database: TestDatabase;
let agent: AgentProcess;
let known: Record<string, string>;

type Operation = {
  operationId: string;
  requestBody?: { content: { 'application/json': { schema: Schema } } };
};
type Document = { paths: Record<string, Record<string, Operation>> };
type Route = { id: string; method: string; path: string; schema: Schema };

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({
    database: database.uri,
    env: {
      GX_HTTP_MAX_REQUEST_BODY_BYTES: String(LIMIT),
      GX_RESUMABLE_STREAM_TTL_SECONDS: '3600',
      GX_LOG_LEVEL: 'error',
    },
  });
  const { thread_id } = await agent.client.threads.create();
  const { run_id } = await agent.client.runs.create(thread_id, 'steps', {
    input: { left: 1 },
    feedbackKeys: ['liked'],
    streamResumable: true,
  });
  await agent.client.runs.join(thread_id, run_id);
  const { assistant_id } = await agent.client.assistants.create({ graphId: 'steps' });
  const [row] = await database.sql<{ token: string }>('select token from gx.feedback');
  const { cron_id } = await agent.client.crons.create(assistant_id, { schedule: '0 0 1 1 *' });
  known = { thread_id, run_id, assistant_id, cron_id, token: row!.token };
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

/** A value for each field that a body must have. */
const NEEDED: Record<string, () => unknown> = {
  assistant_id: () => 'steps',
  graph_id: () => 'steps',
  thread_ids: () => ['00000000-0000-0000-0000-000000000000'],
  checkpoint: () => ({}),
  version: () => 1,
  namespace: () => ['a'],
  key: () => 'k',
  value: () => ({}),
  channels: () => ['values'],
  id: () => 1,
  method: () => 'agent.getTree',
  name: () => 'weather',
  to: () => 1,
  schedule: () => '0 0 1 1 *',
  threadId: () => known['thread_id'],
  runId: () => 'a-run',
  messages: () => [],
  user_id: () => 'nobody',
};

/** Routes of protocols that refuse in a form of their own, each with a message that it takes. */
const OF_PROTOCOLS: Record<string, unknown> = {
  mcp: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  a2a: { jsonrpc: '2.0', id: 1, method: 'tasks/list', params: {} },
};

/** A body that the route takes, and that has an effect. */
function valid({ id, schema }: Pick<Route, 'id' | 'schema'>): unknown {
  return OF_PROTOCOLS[id] ?? validFor(schema);
}

function validFor(schema: Schema): unknown {
  if (schema.items !== undefined) return [validFor(schema.items)];
  const body = Object.fromEntries((schema.required ?? []).map((name) => [name, NEEDED[name]!()]));
  return schema.properties?.['stream_mode'] === undefined ? body : { ...body, input: { left: 1 } };
}

async function routes(): Promise<Route[]> {
  const document = (await (await fetch(`${agent.url}/openapi.json`)).json()) as Document;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId: id, requestBody }]) =>
      requestBody === undefined
        ? []
        : [
            {
              id,
              method: method.toUpperCase(),
              path,
              schema: requestBody.content['application/json'].schema,
            },
          ],
    ),
  );
}

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

const address = (path: string): string =>
  `${agent.url}${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => known[name] ?? name)}`;

/**
 * Returns what is wrong with the answer to a bad request, or undefined if nothing is. JSON-RPC says 400 where other
 * routes say 422.
 */
async function complaint(
  response: Response,
  status: number,
  isRpc = false,
): Promise<string | undefined> {
  const text = await response.text();
  const found = `answered with ${response.status} ${text.slice(0, 200)}`;
  if (
    response.status !== (isRpc && status === 422 ? 400 : status) ||
    response.headers.get('content-type') !== 'application/json; charset=utf-8'
  )
    return found;
  const body = JSON.parse(text) as { detail: unknown; error: { code: number; message: string } };
  if (isRpc) return /\S/.test(body.error.message) && body.error.code < -31_999 ? undefined : found;
  const isSentence =
    typeof body.detail === 'string' && /\S/.test(body.detail) && Object.keys(body).length === 1;
  return isSentence ? undefined : found;
}

/** Returns the number and the content of the rows of every table. */
async function contents(): Promise<Record<string, string>> {
  const tables = await database.sql<{ name: string }>(
    `select format('%I.%I', table_schema, table_name) as name from information_schema.tables where table_schema = 'gx' and table_type = 'BASE TABLE'`,
  );
  const names = [...tables.map(({ name }) => name), 'pgboss.job'];
  const sums = names.map(
    (name) =>
      `select '${name}' as name, count(*) || ' ' || coalesce(sum(hashtext(t::text)), 0) as sum from ${name} t`,
  );
  const rows = await database.sql<{ name: string; sum: string }>(sums.join(' union all '));
  return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]));
}

/** Bytes that a body of a route may have where it is less than elsewhere: strangers with a token may send feedback. */
const LESS: Readonly<Record<string, number>> = { give_feedback: 64 * 1024 };

test('a bad body is refused with one sentence by every route, and leaves no trace in any table', async () => {
  const before = await contents();
  const complaints: string[] = [];
  let sent = 0;
  const refuse = async ({ id, method, path }: Route, faults: Fault[]): Promise<void> => {
    for (const { what, text, status } of faults) {
      const response = await fetch(address(path), {
        method,
        body: text,
        headers: { 'content-type': 'application/json' },
      });
      const isTooLong = Buffer.byteLength(text) > (LESS[id] ?? Number.POSITIVE_INFINITY);
      const found = await complaint(response, isTooLong ? 413 : status, id in OF_PROTOCOLS);
      if (found !== undefined) complaints.push(`${id}: ${what}: ${found}`);
      sent += 1;
    }
  };
  const all = await routes();
  await Promise.all(
    all.map((route) =>
      refuse(route, faultsOfTheWhole(route.schema, valid(route), { limit: LIMIT })),
    ),
  );
  // One validator serves all routes with the same fields.
  const distinct = [...new Map(all.map((route) => [JSON.stringify(route.schema), route])).values()];
  await Promise.all(
    distinct.map((route) => refuse(route, faultsOfFields(route.schema, valid(route)))),
  );
  expect(complaints).toEqual([]);
  expect(all.length).toBeGreaterThan(25);
  expect(sent).toBeGreaterThan(1000);
  expect(await contents()).toEqual(before);
});

test('a batch of runs of which one can not be made makes none', async () => {
  const good = { assistant_id: 'steps', input: { left: 1 } };
  const bad = [
    { assistant_id: 'no-such-graph' },
    { assistant_id: known['thread_id'] },
    { ...good, webhook: 'http://127.0.0.1/' },
    { ...good, command: { resume: 1 } },
    { ...good, context: { a: 1 }, config: { configurable: { b: 1 } } },
  ];
  const before = await contents();
  for (const one of bad) {
    const response = await fetch(`${agent.url}/runs/batch`, {
      method: 'POST',
      body: JSON.stringify([good, good, one]),
    });
    expect(await complaint(response, response.status)).toBeUndefined();
    expect([400, 404, 422]).toContain(response.status);
  }
  expect(await contents()).toEqual(before);
});

describe('an address', () => {
  const ID = '00000000-0000-0000-0000-000000000000';
  const cursors = ['abc', '1-', '-5', '1-2-3', '1.5', `${'9'.repeat(40)}-1`, '1-*-1', '1 or 1=1'];
  const streams = [
    `/threads/{thread_id}/runs/{run_id}/stream`,
    '/runs/{run_id}/stream',
    '/threads/{thread_id}/stream',
  ];
  const bad: [path: string, headers?: Record<string, string>][] = [
    ...streams.flatMap((path) =>
      cursors.map((cursor): [string, Record<string, string>] => [
        path,
        { 'last-event-id': cursor },
      ]),
    ),
    ...streams.flatMap((path) =>
      ['[', '[1', '["values"', 'colours', '["colours"]'].map((mode): [string] => [
        `${path}?stream_mode=${encodeURIComponent(mode)}`,
      ]),
    ),
    ...[
      'limit=0',
      'limit=-1',
      'limit=1001',
      'limit=1.5',
      'limit=many',
      'before=%00',
      'select=colour',
    ].flatMap((query): [string][] => [[`/threads/{thread_id}/history?${query}`]]),
    ...['offset=-1', 'offset=1.5', 'offset=1e30', 'limit=0', 'status=lost', 'select=colour'].map(
      (query): [string] => [`/threads/{thread_id}/runs?${query}`],
    ),
    [`/threads/${ID.slice(1)}`],
    ['/threads/%00'],
    ['/assistants/%ed%a0%80'],
    [`/threads/${ID}/state/%00`],
    ['/store/items?key=%00'],
  ];

  test.each(bad)('%s %o is refused with one sentence', async (path, headers = {}) => {
    const response = await fetch(address(path), { headers });
    expect(await complaint(response, response.status === 400 ? 400 : 422)).toBeUndefined();
  });
});

test('what was refused was refused for its fault: without it every route accepts the same body', async () => {
  const complaints: string[] = [];
  for (const { id, method, path, schema } of await routes()) {
    // Without a field the body asks for nothing.
    const body = id === 'cancel_runs' ? { status: 'all' } : valid({ id, schema });
    const response = await fetch(address(path), {
      method,
      headers: HEADERS,
      body: JSON.stringify(body),
    });
    if (id === 'stream_thread_events' && response.ok) {
      await response.body!.cancel();
      continue;
    }
    const text = await response.text();
    // There is no run to cancel and no budget to raise, and these graphs have no components.
    const nothing =
      ['cancel_runs', 'get_ui_component', 'raise_budget'].includes(id) && response.status === 404;
    if (!response.ok && !nothing) complaints.push(`${id}: ${response.status} ${text}`);
  }
  expect(complaints).toEqual([]);
});
