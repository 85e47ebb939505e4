import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/errors.ts';
import { failedStart, freePort, startAgent, type AgentProcess } from '../../kit/agent-server.ts';
import { freshDatabase } from '../../kit/postgres.ts';

let agent: AgentProcess;
let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gx-bad-'));
  database = await freshDatabase();
  agent = await startAgent({ database: database.uri });
});

afterAll(async () => {
  await agent.kill();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const ZERO = '00000000-0000-0000-0000-000000000000';
const send = async (
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: unknown }> => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${agent.url}${path}`, {
    method,
    ...(body !== undefined && { body: text, headers: { 'content-type': 'application/json' } }),
  });
  return { status: response.status, body: await response.json() };
};

describe('a request', () => {
  test.each([
    ['an unknown route', 'GET', '/nothing-here', undefined, 404],
    ['a thread id that is no uuid', 'GET', '/threads/abc', undefined, 422],
    ['a thread that is not there', 'GET', `/threads/${ZERO}`, undefined, 404],
    ['a run that is not there', 'GET', `/threads/${ZERO}/runs/${ZERO}`, undefined, 404],
    ['a body that is no JSON', 'POST', '/threads', '{', 422],
    ['a body of the wrong type', 'POST', '/threads', [], 422],
    ['metadata of the wrong type', 'POST', '/threads', { metadata: 'x' }, 422],
    ['a run without an assistant', 'POST', '/runs/wait', { input: {} }, 422],
    [
      'a run on a thread that is not there',
      'POST',
      `/threads/${ZERO}/runs`,
      { assistant_id: 'chat', input: {} },
      404,
    ],
    [
      'an unknown strategy',
      'POST',
      `/threads/${ZERO}/runs`,
      { assistant_id: 'chat', multitask_strategy: 'maybe' },
      422,
    ],
    [
      'an unknown stream mode',
      'POST',
      '/runs/stream',
      { assistant_id: 'chat', stream_mode: 'everything' },
      422,
    ],
    ['a limit beyond its bound', 'POST', '/threads/search', { limit: 100_000 }, 422],
    ['a sort key that does not exist', 'POST', '/threads/search', { sort_by: 'color' }, 422],
  ])('%s is answered with a sentence', async (...[, method, path, body, status]) => {
    const answer = await send(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ detail: expect.stringMatching(/\S/) });
  });

  test('a refused one stores nothing', async () => {
    const before = await agent.client.threads.search({ limit: 100 });
    await send('POST', '/threads', { metadata: 'x' });
    await send('POST', '/runs/wait', { input: {} });
    expect(await agent.client.threads.search({ limit: 100 })).toHaveLength(before.length);
  });
});

test("a key that no index can hold is the caller's fault", async () => {
  // Text that compresses well would fit.
  const key = Array.from({ length: 2000 }, (_, index) =>
    ((index * 7919) % 104_729).toString(36),
  ).join('-');
  const answer = await send('PUT', '/store/items', { namespace: ['a'], key, value: {} });
  expect(answer).toEqual({
    status: 400,
    body: { detail: expect.stringContaining('longer than the database can index') as string },
  });
});

describe('a start', () => {
  const config = (content: string): string => {
    const file = join(mkdtempSync(join(folder, 'config-')), 'gx.json');
    writeFileSync(file, content);
    return file;
  };
  const graphs = (path: string): string => config(JSON.stringify({ graphs: { a: path } }));

  test.each([
    ['a gx.json that is no JSON', () => ({ config: config('{') }), /gx\.json/],
    [
      'a gx.json with an unknown key',
      () => ({ config: config('{"graphs": {"a": "./a.ts:graph"}, "colour": 1}') }),
      /colour/,
    ],
    ['a gx.json without graphs', () => ({ config: config('{}') }), /graphs/],
    ['a gx.json that is not there', () => ({ config: join(folder, 'none.json') }), /none\.json/],
    [
      'a graph file that is not there',
      () => ({ config: graphs('./nowhere.ts:graph') }),
      /nowhere\.ts/,
    ],
    ['a number that is none', () => ({ env: { N_JOBS_PER_WORKER: 'many' } }), /N_JOBS_PER_WORKER/],
  ])('with %s ends with one sentence', async (_what, options, sentence) => {
    const { code, output } = await failedStart({ database: database.uri, ...options() });
    expect(code).toBe(1);
    expect(output.trim().split('\n').at(-1)).toMatch(sentence);
    expect(output).not.toMatch(/^\s+at /m);
  });

  test('without a database that answers ends with a code of its own', async () => {
    const { code, output } = await failedStart({ database: 'postgresql://gx:gx@127.0.0.1:1/gx' });
    expect(code).toBe(EXIT.database);
    expect(output.trim().split('\n').at(-1)).toMatch(/database/i);
  });

  test('on a port in use names the port', async () => {
    const port = await freePort();
    const taken = createServer().listen(port, '127.0.0.1');
    await once(taken, 'listening');
    const { code, output } = await failedStart({ database: database.uri, port });
    taken.close();
    expect(code).toBe(1);
    expect(output).toContain(String(port));
  });
});
