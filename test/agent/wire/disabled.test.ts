import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { GxJson } from '../../../src/schema/agent/gx-json.ts';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* What each `http.disable_*` of gx.json takes away: these routes and no others. */

type Operation = { method: string; path: string };

const RUNS =
  /^\/(runs(?!\/crons)|threads\/\{thread_id\}\/(runs(?!\/crons)|usage)|feedback|usage|budgets)/;
const CRONS = /\/runs\/crons/;
const EVENT_STREAMING = /^\/threads\/\{thread_id\}\/(commands|stream\/events)$/;
const AG_UI = /^\/(ag-ui|copilotkit)/;
const belongsTo = (patterns: RegExp[], path: string): boolean =>
  patterns.some((pattern) => pattern.test(path));

/** Switch -> whether a path goes with it. */
const GONE: Record<string, (path: string) => boolean> = {
  disable_assistants: (path) => path.startsWith('/assistants'),
  // Event streaming, and AG-UI with it, is about threads and starts runs, so it goes with either of them.
  disable_threads: (path) =>
    (path.startsWith('/threads') && !belongsTo([RUNS, CRONS], path)) || AG_UI.test(path),
  disable_runs: (path) => belongsTo([RUNS, CRONS, EVENT_STREAMING, AG_UI], path),
  disable_event_streaming: (path) => belongsTo([EVENT_STREAMING, AG_UI], path),
  disable_store: (path) => path.startsWith('/store'),
  disable_ui: (path) => path.startsWith('/ui'),
  disable_meta: (path) => ['/', '/info', '/metrics', '/openapi.json', '/docs'].includes(path),
  disable_mcp: (path) => path.startsWith('/mcp'),
  disable_a2a: (path) => path.startsWith('/a2a') || path.startsWith('/.well-known/agent'),
  disable_ag_ui: (path) => AG_UI.test(path),
  // Its routes stay; ends of runs are told nobody.
  disable_webhooks: () => false,
};

let database: Awaited<ReturnType<typeof freshDatabase>>;
let all: Operation[];
let agent: AgentProcess | undefined;

const stop = async (): Promise<void> => {
  await agent?.kill();
  agent = undefined;
};

const start = (http: object, more: Record<string, string> = {}): Promise<AgentProcess> => {
  const env = {
    ...more,
    LANGSERVE_GRAPHS: JSON.stringify({ steps: './test/agent/wire/graphs/steps.js:graph' }),
    LANGGRAPH_HTTP: JSON.stringify(http),
  };
  return startAgent({ database: database.uri, config: resolve('none/gx.json'), env });
};

beforeAll(async () => {
  database = await freshDatabase();
  agent = await start({});
  const { paths } = (await (await fetch(`${agent.url}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  );
  await stop();
});

// Also after a test that has failed.
afterEach(() => stop());
afterAll(() => database.drop());

/** Returns whether the server has the route: whatever else is wrong with the request, it says that in other words. */
async function isServed(server: AgentProcess, { method, path }: Operation): Promise<boolean> {
  const answer = await fetch(server.url + path.replaceAll(/\{\w+\}/g, () => randomUUID()), {
    method,
  });
  if (answer.status !== 404) {
    await answer.body?.cancel();
    return true;
  }
  return !/"detail":"Not Found"/.test(await answer.text());
}

test('every switch of the file is in this table', () => {
  const http = GxJson.properties.http as unknown as { properties: object };
  expect(Object.keys(http.properties).filter((key) => key.startsWith('disable_'))).toEqual(
    expect.arrayContaining(Object.keys(GONE)) as string[],
  );
  expect(Object.keys(GONE)).toHaveLength(
    Object.keys(http.properties).filter((key) => key.startsWith('disable_')).length,
  );
});

test.each(Object.entries(GONE))('%s takes away its own routes and no others', async (key, goes) => {
  agent = await start({ [key]: true });
  const server = agent;
  const served = await Promise.all(
    all.map(async (operation) => ({ ...operation, served: await isServed(server, operation) })),
  );
  expect(served).toEqual(all.map((operation) => ({ ...operation, served: !goes(operation.path) })));
  expect((await fetch(`${server.url}/ok`)).status).toBe(200);
});

test('a variable turns event streaming off, too', async () => {
  agent = await start({}, { FF_V2_EVENT_STREAMING: 'false' });
  const server = agent;
  const switched = all.filter(({ path }) => EVENT_STREAMING.test(path));
  expect(await Promise.all(switched.map((operation) => isServed(server, operation)))).toEqual(
    switched.map(() => false),
  );
});
