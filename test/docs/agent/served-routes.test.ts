import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

/* Compares the table of routes with those that a server has. */

const SOME_ID = '00000000-0000-4000-8000-000000000000';

type Row = { routes: string[]; here: string };

/** Returns the rows of the table of routes, each with its routes as `METHOD /path`. */
const rows: Row[] = readFileSync('docs/reference/agent-server/langgraph-server.md', 'utf8')
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter(([, paths = '', methods = '']) => paths.startsWith('`/') && /^[A-Z, ]+$/.test(methods))
  .map(([, paths = '', methods = '', here = '']) => ({
    routes: [...paths.matchAll(/`([^`]+)`/g)].flatMap(([, path]) =>
      methods.split(', ').map((method) => `${method} ${path}`),
    ),
    here,
  }));

const routesThatAre = (...words: string[]): string[] =>
  rows.filter(({ here }) => words.includes(here)).flatMap(({ routes }) => routes);

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;

beforeAll(async () => {
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
});

test('every row says served, differs, own or absent, and no route stands there twice', () => {
  const all = rows.flatMap(({ routes }) => routes);
  expect(all.length).toBeGreaterThan(70);
  expect(new Set(rows.map(({ here }) => here))).toEqual(
    new Set(['served', 'differs', 'own', 'absent']),
  );
  expect(all.filter((route, index) => all.indexOf(route) !== index)).toEqual([]);
});

test('the routes of the server are those that the table has, and no others', async () => {
  const { paths } = (await (await fetch(`${agent.url}/openapi.json`)).json()) as {
    paths: Record<string, object>;
  };
  const real = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const told = routesThatAre('served', 'differs', 'own').filter(
    (route) => !route.startsWith('WS '),
  );
  expect(real.toSorted()).toEqual(told.toSorted());
});

test.each(routesThatAre('served', 'differs', 'own').filter((route) => route.startsWith('WS ')))(
  '%s opens',
  async (route) => {
    const path = route.slice('WS '.length).replaceAll(/\{\w+\}/g, SOME_ID);
    const socket = new WebSocket(agent.url.replace('http', 'ws') + path);
    await once(socket, 'open');
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.close();
    await once(socket, 'close');
  },
);

test.each(routesThatAre('absent'))('%s is really absent', async (route) => {
  const [method, path = ''] = route.split(' ');
  const response = await fetch(agent.url + path.replaceAll(/\{\w+\}/g, SOME_ID), {
    method: method!,
  });
  expect([404, 405]).toContain(response.status);
  expect(['Not Found', 'Method Not Allowed']).toContain(
    ((await response.json()) as { detail: string }).detail,
  );
});
