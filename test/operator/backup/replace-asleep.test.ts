import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { buildWorkPath, type WorkReport } from '../../../src/schema/wire/work-report.ts';
import type { Gateway } from '../../../src/gateway/start.ts';
import { gatewayOf } from '../../kit/gateway-of-stage.ts';
import { newDeployment } from '../../kit/objects.ts';
import { openStage, type Stage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';
import { BACKUPS, endJob, FOUND, SAVED, SOURCE } from './ended-job.ts';

/* A restore into a deployment that sleeps, with its database. */

const NAME = 'sleeper';

let stage: Stage;
let kube: Kube;
let namespace: string;
let gateway: Gateway;
beforeAll(async () => {
  stage = await openStage('replaced-asleep');
  ({ kube, namespace } = stage);
  stage.startKubelet();
  gateway = await gatewayOf(stage);
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'gateway-1', namespace, labels: { 'kubernetes.io/service-name': 'gateway' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.9.0.1'], conditions: { ready: true } }],
    ports: [{ name: 'reports', port: 8082, protocol: 'TCP' }],
  };
  await kube.create(kinds.endpointSlice, slice);
  await stage.startOperator({
    gateways: () => [`http://127.0.0.1:${gateway.reportsPort}`],
    settings: { gateway: { service: 'gateway', namespace }, backups: BACKUPS },
  });
  await deployAsleep();
});
afterAll(() => stage.stop());

const status = async () => (await stage.see.deployment(NAME)).status ?? {};
const reasonOf = async (condition: string) =>
  (await status()).conditions?.find(({ type }) => type === condition)?.reason;
const podsOf = async (component: string): Promise<number> =>
  (
    await kube.listAll(kinds.pod, {
      namespace,
      labelSelector: `gx.dev/deployment=${NAME},gx.dev/component in (${component})`,
    })
  ).length;
const report = (key: string, body: WorkReport): Promise<Response> =>
  fetch(`http://127.0.0.1:${gateway.port}${buildWorkPath(namespace, NAME)}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Deploys one whose pods report that nobody needs it, until it sleeps. */
async function deployAsleep(): Promise<void> {
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' }, resourceSpec: { minScale: 0 } };
  const spec = {
    sleep: { afterSeconds: 30, database: true },
    database: { backup: { target: 'main' } },
  };
  await kube.create(
    kinds.deployment,
    newDeployment(namespace, { metadata: { name: NAME }, template, spec }),
  );
  const { data } = await until('there is a key', () =>
    stage.see.secret(`${NAME}-key`).catch(() => undefined),
  );
  const key = Buffer.from(data?.['api-key'] ?? '', 'base64').toString('utf8');
  const server: WorkReport['server'] = {
    revision: `${NAME}-00001`,
    version: 'v1.2.3',
    guard: 'key',
  };
  await until(
    'the gateway takes a report',
    async () => (await report(key, { from: 'worker', slots: 10, idle_seconds: 0, server })).ok,
  );
  await stage.see.untilReady(NAME);
  const queue = { due: 0, running: 0, webhooks: 0, next_due: null };
  await until('it sleeps', async () => {
    await report(key, { from: 'api', slots: 0, idle_seconds: 100, queue });
    return (await status()).asleepSince !== undefined && (await podsOf('api,queue,database')) === 0;
  });
}

test('a request that is refused wakes nobody', async () => {
  const value = {
    replaceRequestedAt: new Date(Date.now() + 2000).toISOString(),
    volume: 'data-of-nobody',
  };
  await kube.patchJson(kinds.deployment, { namespace, name: NAME }, [
    { op: 'add', path: '/spec/database/restore', value },
  ]);
  await until('it is refused', async () => (await reasonOf('Restored')) === 'VolumeMissing', 40);
  expect([(await status()).asleepSince === undefined, await podsOf('api,queue,database')]).toEqual([
    false,
    0,
  ]);
});

test('the database is woken for the backup and the restore, and the agents for the work in the other data', async () => {
  const former = (await status()).databaseVolume;
  const value = {
    replaceRequestedAt: new Date(Date.now() + 2000).toISOString(),
    deployment: SOURCE,
    target: 'main',
  };
  await kube.patchJson(kinds.deployment, { namespace, name: NAME }, [
    { op: 'add', path: '/spec/database/restore', value },
  ]);
  await endJob(stage, NAME, { step: 'check', message: FOUND });
  await until('its database runs', async () => (await podsOf('database')) === 1);
  expect(await podsOf('api,queue')).toBe(0);
  await endJob(stage, NAME, { step: 'backup', message: SAVED });
  await endJob(stage, NAME, { step: 'restore', message: FOUND });
  await until('it is restored', async () => (await reasonOf('Restored')) === 'Restored', 40);
  await until('its agents run', async () => (await podsOf('api,queue')) > 0, 40);
  await stage.see.untilReady(NAME, 40);
  expect(await reasonOf('Asleep')).toBe('DataReplaced');
  const { asleepSince, formerVolumes, databaseVolume } = await status();
  expect([asleepSince, formerVolumes?.length, databaseVolume === former]).toEqual([
    undefined,
    1,
    false,
  ]);
});
