import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startPostgres } from '../../src/agent/dev/embedded-postgres/start.ts';
import type { Gateway } from '../../src/gateway/start.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import {
  buildWorkPath,
  type ServerFacts,
  type WorkReport,
} from '../../src/schema/wire/work-report.ts';
import { startAgent } from '../kit/agent-server.ts';
import { withLog } from '../kit/given-log.ts';
import { newDeployment } from '../kit/objects.ts';
import { gatewayOf } from '../kit/gateway-of-stage.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/*
 * Version, guard and mount prefix of a server come with its reports. The log of every pod has a line here that says
 * otherwise.
 */

const LIE =
  '{"server_version":"v9.9.9","guard":"open","mount_prefix":"/elsewhere","msg":"agent server ready"}';
const GATEWAY_ADDRESS = '10.9.0.2';

let stage: Stage;
let gateway: Gateway;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gx-reported-'));
  stage = await openStage('reported-server');
  const { kube, namespace } = stage;
  stage.startKubelet();
  gateway = await gatewayOf(stage);
  await kube.create(kinds.endpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'gateway-1', namespace, labels: { 'kubernetes.io/service-name': 'gateway' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [GATEWAY_ADDRESS], conditions: { ready: true } }],
    ports: [{ name: 'reports', port: 8082, protocol: 'TCP' }],
  });
  await stage.startOperator({
    gateways: () => [`http://127.0.0.1:${gateway.reportsPort}`],
    settings: { gateway: { service: 'gateway', namespace } },
    through: (door) => withLog(door, LIE),
  });
});
afterAll(async () => {
  await stage.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Creates a deployment that may sleep, and returns its key once there is one. */
async function create(name: string, secretName?: string): Promise<string> {
  const { kube, namespace, see } = stage;
  const template = {
    sourceRevisionConfig: { imageUri: 'agent:1' },
    resourceSpec: { minScale: 0 },
    ...(secretName !== undefined && { secretName }),
  };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, {
      metadata: { name },
      template,
      spec: { sleep: { afterSeconds: 30 } },
    }),
  );
  const data = await until(
    'there is a key',
    async () => (await see.secret(`${name}-key`).catch(() => undefined))?.data,
  );
  return Buffer.from(data['api-key'] ?? '', 'base64').toString('utf8');
}

const urlOf = (name: string): string =>
  `http://127.0.0.1:${gateway.port}${buildWorkPath(stage.namespace, name)}`;

const IDLE = {
  slots: 0,
  idle_seconds: 100,
  queue: { due: 0, running: 0, webhooks: 0, next_due: null },
};

/** Reports as a process of the deployment until the gateway takes it. */
const report = (
  name: string,
  key: string,
  from: string,
  server: Partial<ServerFacts>,
): Promise<true> =>
  until('the report is taken', async () => {
    const body: WorkReport = {
      ...IDLE,
      from,
      server: { revision: `${name}-00001`, version: 'v1.2.3', guard: 'key', ...server },
    };
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    return (
      (await fetch(urlOf(name), { method: 'POST', headers, body: JSON.stringify(body) })).status ===
      200
    );
  });

const condition = ({ status }: DeploymentResource, type: string): string | undefined => {
  const found = status?.conditions?.find((one) => one.type === type);
  return found && `${found.status} ${found.reason}`;
};
const guardOf = async (name: string) => (await stage.see.revision(`${name}-00001`)).status?.guard;

describe('a server that logs warnings alone, as its secret asks, and whose graph prints a line like that of a server', () => {
  test('is known by its version, its prefix and its guard', async () => {
    const { kube, namespace, see } = stage;
    const LOG_LEVEL = Buffer.from('WARNING').toString('base64');
    await kube.create(kinds.secret, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'quiet-env', namespace },
      data: { LOG_LEVEL },
    });
    const key = await create('quiet', 'quiet-env');
    await writeFile(path.join(folder, 'api-key'), key);
    const postgres = await startPostgres({
      folder: path.join(folder, 'postgres'),
      owner: 'a test',
      durable: false,
    });
    stage.endWith(postgres);
    const agent = await startAgent({
      database: postgres.uri,
      config: 'test/operator/talkative/gx.json',
      env: {
        LOG_LEVEL: 'WARNING',
        GX_REPORT_URL: urlOf('quiet'),
        GX_AGENT_KEY_FOLDER: folder,
        GX_REVISION: 'quiet-00001',
        GX_MOUNT_PREFIX: '/agents',
        N_JOBS_PER_WORKER: '0',
      },
    });
    stage.endWith({ stop: () => agent.kill() });
    await see.untilReady('quiet');
    const found = await until('it is known', async () => {
      const read = await see.deployment('quiet');
      return read.status?.serverVersion !== undefined && read;
    });
    await expect.poll(() => agent.output()).toContain('v9.9.9');
    expect(agent.output().replaceAll(LIE, '')).not.toContain('agent server ready');
    expect(found.status?.serverVersion).toMatch(/^v(?!9\.9\.9)\d/);
    expect(found.status?.url).toMatch(/\/agents$/);
    expect(await guardOf('quiet')).toBe('key');
    await until(
      'nothing is open',
      async () => condition(await see.deployment('quiet'), 'Unauthenticated') === undefined,
    );
  });
});

test('a server that reports nothing is rolled out after some seconds, stays awake, and its log decides nothing', async () => {
  const { see } = stage;
  await create('mute');
  await see.untilPhase('mute-00001', 'DEPLOYED', 20);
  const { startedAt = '', endedAt = '' } = (await see.revision('mute-00001')).status ?? {};
  expect(Date.parse(endedAt) - Date.parse(startedAt)).toBeLessThan(12_000);
  const found = await until('it says so', async () => {
    const read = await see.deployment('mute');
    return condition(read, 'Asleep') === 'False GuardUnknown' && read;
  });
  expect(condition(found, 'Unauthenticated')).toBe('Unknown GuardUnknown');
  expect([found.status?.serverVersion, await guardOf('mute')]).toEqual([undefined, undefined]);
  expect(found.status?.url).not.toContain('elsewhere');
});

test('of several reports the strictest counts, whichever comes first', async () => {
  const { see } = stage;
  const key = await create('forged');
  await report('forged', key, 'code', { guard: 'open' });
  await see.untilReady('forged');
  await until(
    'it is open',
    async () => condition(await see.deployment('forged'), 'Unauthenticated') === 'True NoKey',
  );
  await report('forged', key, 'server', { guard: 'key' });
  await until('it is not', async () => (await guardOf('forged')) === 'key');
  await report('forged', key, 'server', { guard: 'open' });
  await report('forged', key, 'code', { guard: 'open', revision: 'another-00001' });
  await until('a later report was read', async () => {
    await report('forged', key, 'code', { guard: 'handlers' });
    return (await guardOf('forged')) === 'handlers';
  });
  await expect
    .poll(async () => condition(await see.deployment('forged'), 'Asleep'))
    .toBe('False OwnHandlers');
});

test('a stranger does not wake a deployment whose pods report to be open, unless it asks to be open', async () => {
  const { see } = stage;
  const key = await create('feigned');
  await report('feigned', key, 'code', { guard: 'open' });
  const sleeping = await until('it sleeps', async () => {
    await report('feigned', key, 'code', { guard: 'open' });
    const found = await see.deployment('feigned');
    return (
      condition(found, 'Asleep') === 'True Idle' &&
      condition(found, 'Unauthenticated') === 'True NoKey' &&
      found
    );
  });
  const answer = await fetch(`http://127.0.0.1:${sleeping.status?.gatewayPort}/threads`, {
    method: 'POST',
    body: '{}',
  });
  expect(answer.status).toBe(401);
  expect(condition(await see.deployment('feigned'), 'Asleep')).toBe('True Idle');
});

test('facts that are not of their form are refused with the whole report', async () => {
  const key = await create('odd');
  await report('odd', key, 'server', {});
  const send = async (server: object): Promise<number> => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const body = JSON.stringify({ ...IDLE, from: 'server', server });
    return (await fetch(urlOf('odd'), { method: 'POST', headers, body })).status;
  };
  const facts = { revision: 'odd-00001', version: 'v1.2.3', guard: 'key' };
  expect(await send({ ...facts, guard: 'none' })).toBe(422);
  expect(await send({ ...facts, version: '<script>' })).toBe(422);
  expect(await send({ ...facts, mount_prefix: '/a?b=c' })).toBe(422);
  expect(await send({ ...facts, revision: 'x'.repeat(300) })).toBe(422);
  expect(await send({ ...facts, mount_prefix: '/team/agents', more: 1 })).toBe(200);
});
