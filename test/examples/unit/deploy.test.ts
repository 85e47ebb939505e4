import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';

/*
 * examples/deploy.sh runs against a double of the REST API, which answers as the test says. Other tests prove the API
 * itself.
 */

type Call = { line: string; key: string | undefined; body: Record<string, unknown> | undefined };
type Result = { code: number; stdout: string; stderr: string };

describe('deploy.sh', () => {
  let server: Server | undefined;
  afterEach(() => server?.close().closeAllConnections());

  /** Answers revisions with these words, one for each poll. */
  async function api(statuses: string[]): Promise<{ url: string; calls: Call[] }> {
    const calls: Call[] = [];
    let made = 0;
    server = createServer(async (request, response) => {
      const sent = await text(request);
      const line = `${request.method} ${request.url}`;
      calls.push({
        line,
        key: request.headers['x-api-key'] as string | undefined,
        body: sent === '' ? undefined : JSON.parse(sent),
      });
      if (request.method !== 'GET') made += 1;
      const deployment = {
        id: 'd',
        latest_revision_id: `r${made}`,
        source_config: { custom_url: 'http://agent' },
      };
      const answer = line.includes('/revisions/')
        ? { status: statuses.shift() ?? 'DEPLOYED' }
        : deployment;
      response
        .writeHead(request.headers['x-api-key'] === 'key' ? 200 : 401)
        .end(JSON.stringify(answer));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}`, calls };
  }

  const deploy = async (args: string[], env: Record<string, string> = {}): Promise<Result> => {
    const all = { PATH: process.env.PATH ?? '', ...env };
    const failed = (error: unknown): Result => error as Result;
    const done = promisify(execFile)('sh', ['examples/deploy.sh', ...args], { env: all });
    return done.then((output) => Object.assign(output, { code: 0 })).catch(failed);
  };

  test('creates, polls until it serves, changes, polls the new revision', async () => {
    const { url, calls } = await api(['CREATING', 'DEPLOYED', 'DEPLOYED']);
    const { code, stdout } = await deploy(['hello', 'image:1', 'image:2'], {
      CONTROL_PLANE_URL: url,
      API_KEY: 'key',
    });
    expect({ code, said: stdout.includes('URL: http://agent') }).toEqual({ code: 0, said: true });
    expect(calls.map(({ line }) => line)).toEqual([
      'POST /v2/deployments',
      'GET /v2/deployments/d/revisions/r1',
      'GET /v2/deployments/d/revisions/r1',
      'PATCH /v2/deployments/d',
      'GET /v2/deployments/d/revisions/r2',
      'GET /v2/deployments/d',
    ]);
    expect(calls[0]?.body).toMatchObject({
      name: 'hello',
      source: 'external_container',
      source_revision_config: { image_uri: 'image:1' },
    });
    expect(calls[3]?.body).toMatchObject({ source_revision_config: { image_uri: 'image:2' } });
  });

  test('ends with the revision when it failed', async () => {
    const { url, calls } = await api(['DEPLOY_FAILED']);
    const { code, stdout } = await deploy(['hello', 'image:1'], {
      CONTROL_PLANE_URL: url,
      API_KEY: 'key',
    });
    expect({
      code,
      told: stdout.includes('{"status":"DEPLOY_FAILED"}'),
      calls: calls.length,
    }).toEqual({ code: 1, told: true, calls: 2 });
  });

  test('tells what was answered when the key is wrong', async () => {
    const { url, calls } = await api([]);
    const { code, stderr } = await deploy(['hello', 'image:1'], {
      CONTROL_PLANE_URL: url,
      API_KEY: 'other',
    });
    expect({ code, told: stderr.includes('answered 401'), calls: calls.length }).toEqual({
      code: 1,
      told: true,
      calls: 1,
    });
  });

  test('explains itself when not told what to deploy', async () => {
    const { code, stdout } = await deploy([]);
    expect({ code, told: stdout.includes('sh examples/deploy.sh <name> <image>') }).toEqual({
      code: 1,
      told: true,
    });
  });
});
