import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  startPostgres,
  type EmbeddedPostgres,
} from '../../src/agent/dev/embedded-postgres/start.ts';
import { createKey } from '../../src/control-plane/auth/keys.ts';
import { kinds } from '../../src/kube/kinds.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { freePort, startAgent, type AgentProcess } from '../kit/agent-server.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { COMPILE_CACHE } from '../kit/compile-cache.ts';
import { until } from '../kit/until.ts';
import { TENANT_A, TENANT_B } from './kit/api-server-plane.ts';

/* An agent of the mode `tenant`, and the control plane that it asks about keys: two processes, as they are deployed. */

const AGENT_KEY = `gxa_${'k'.repeat(43)}`;
/** Seconds for which the agent believes an answer. */
const BELIEVED = 30;

let stage: Stage;
let postgres: EmbeddedPostgres;
let folder: string;
let port: number;
let healthPort: number;
let plane: ChildProcess;
let agent: AgentProcess;
let deploymentId: string;
let keys: Record<'admin' | 'write' | 'read' | 'unused' | 'other', string>;

async function startPlane(): Promise<void> {
  plane = spawn(process.execPath, ['src/main.ts', 'control-plane'], {
    stdio: 'ignore',
    env: {
      PATH: process.env.PATH,
      ...COMPILE_CACHE,
      KUBECONFIG: stage.kubeconfig,
      GX_NAMESPACE: stage.namespace,
      GX_WATCH_NAMESPACES: stage.namespace,
      GX_AGENT_NAMESPACES: stage.namespace,
      GX_SERVER_HOST: '127.0.0.1',
      GX_SERVER_PORT: String(port),
      GX_HEALTH_PORT: String(healthPort),
      GX_SHUTDOWN_DELAY_SECONDS: '0',
    },
  });
  await until(
    'the control plane is ready',
    async () => (await fetch(`${planeUrl()}/readyz`).catch(() => undefined))?.ok,
    60,
  );
}

const planeUrl = (): string => `http://127.0.0.1:${port}`;

async function makeKeys(): Promise<typeof keys> {
  const make = async (
    name: string,
    role: 'admin' | 'write' | 'read',
    tenantId = TENANT_A,
  ): Promise<string> =>
    (await createKey(stage.kube, stage.namespace, { name, tenantId, role })).key;
  return {
    admin: await make('boss', 'admin'),
    write: await make('writer', 'write'),
    read: await make('reader', 'read'),
    unused: await make('latecomer', 'write'),
    other: await make('stranger', 'write', TENANT_B),
  };
}

async function deploy(): Promise<string> {
  const body = {
    name: 'shared',
    source: 'external_container',
    source_config: { resource_spec: {} },
    source_revision_config: { image_uri: 'agent:1', auth: { mode: 'tenant' } },
    secrets: [],
  };
  const headers = { 'content-type': 'application/json', 'x-api-key': keys.write };
  const answer = await fetch(`${planeUrl()}/v2/deployments`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { id: string }).id;
}

beforeAll(async () => {
  stage = await openStage('tenant-agents');
  folder = mkdtempSync(join(tmpdir(), 'gx-tenant-agents-'));
  const listener = {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace: stage.namespace },
  };
  await stage.kube.create(kinds.listener, {
    ...listener,
    spec: { computeId: 'test', namespaces: [stage.namespace] },
  });
  [postgres, keys, port, healthPort] = await Promise.all([
    startPostgres({ folder, owner: 'a test', durable: false }),
    makeKeys(),
    freePort(),
    freePort(),
  ]);
  await startPlane();
  deploymentId = await deploy();
  agent = await startAgent({
    database: postgres.uri,
    config: 'test/agent/wire/keys/gx.json',
    env: { GX_AGENT_KEY: AGENT_KEY, GX_AUTH_CHECK_URL: planeUrl(), GX_DEPLOYMENT_ID: deploymentId },
  });
});

afterAll(async () => {
  await agent?.kill();
  plane?.kill('SIGKILL');
  await postgres?.stop();
  await stage?.stop();
  await rm(folder, { recursive: true, force: true });
});

const post = async (path: string, key: string, body: object = {}): Promise<number> => {
  const headers = { 'content-type': 'application/json', 'x-api-key': key };
  const answer = await fetch(agent.url + path, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  await answer.body?.cancel();
  return answer.status;
};
const reads = (key: string): Promise<number> => post('/threads/search', key);
const writes = (key: string): Promise<number> => post('/threads', key);

/** Returns how often the control plane was asked about a key. */
async function questions(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
  const counts = [
    ...text.matchAll(
      /^gx_http_request_duration_seconds_count\{.*route="\/v2\/auth\/check".*\} (\d+)$/gm,
    ),
  ];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

test('keys of the tenant open the agent by their roles, those of others do not', async () => {
  expect([await reads(keys.admin), await writes(keys.admin)]).toEqual([200, 200]);
  expect([await reads(keys.write), await writes(keys.write)]).toEqual([200, 200]);
  expect([await reads(keys.read), await writes(keys.read)]).toEqual([200, 403]);
  expect([await reads(keys.other), await writes(keys.other)]).toEqual([401, 401]);
  expect([
    await reads(`gx_${'x'.repeat(65)}`),
    await reads(AGENT_KEY),
    await writes(AGENT_KEY),
  ]).toEqual([401, 200, 200]);
});

test('the graph learns whose key it was', async () => {
  const client = new Client({ apiUrl: agent.url, apiKey: keys.write });
  const { user } = (await client.runs.wait(null, 'who', { input: { said: 'hi' } })) as {
    user?: unknown;
  };
  expect(user).toMatchObject({
    display_name: 'writer',
    permissions: ['write'],
    tenant_id: TENANT_A,
  });
});

test('the control plane itself hides the deployment from another tenant', async () => {
  const check = async (key: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-api-key': key };
    const body = JSON.stringify({ deployment_id: deploymentId });
    return (await fetch(`${planeUrl()}/v2/auth/check`, { method: 'POST', headers, body })).status;
  };
  expect([await check(keys.read), await check(keys.other), await check(AGENT_KEY)]).toEqual([
    200, 404, 401,
  ]);
});

test('an answer is remembered, so that many requests ask once', async () => {
  const [before, began] = [await questions(), performance.now()];
  for (let count = 0; count < 20; count += 1) expect(await reads(keys.write)).toBe(200);
  // However slow the machine is, an answer lasts for its time.
  const rounds = 1 + Math.ceil((performance.now() - began) / 1000 / BELIEVED);
  expect((await questions()) - before).toBeLessThanOrEqual(rounds);
});

test('while the control plane is away, reads go on and writes are told to come back; then all is as before', async () => {
  expect([await writes(keys.write), await reads(keys.read)]).toEqual([200, 200]);
  const gone = once(plane, 'close');
  plane.kill('SIGKILL');
  await gone;
  const areRefused = async (): Promise<boolean> =>
    (await writes(keys.write)) === 503 && (await writes(keys.read)) === 503;
  await until('its last answers are too old for a write', areRefused, 4 * BELIEVED);
  expect([await reads(keys.write), await reads(keys.read)]).toEqual([200, 200]);
  expect([await reads(keys.unused), await writes(AGENT_KEY)]).toEqual([503, 200]);
  await startPlane();
  await until('writes are taken again', async () => (await writes(keys.write)) === 200, 60);
  expect([await reads(keys.unused), await writes(keys.read)]).toEqual([200, 403]);
});
