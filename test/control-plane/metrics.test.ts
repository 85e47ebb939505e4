import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey } from '../../src/control-plane/auth/keys.ts';
import { expectListedMetrics } from '../kit/metric-names.ts';
import { creation, startPlane, TENANT_A, type Plane } from './kit/api-server-plane.ts';

/* The metrics of a control plane tell why callers are refused, and how it hears of the cluster. */

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('metrics');
});
afterAll(() => plane.stop());

const lines = async (): Promise<string[]> =>
  (await (await fetch(plane.metricsUrl)).text()).split('\n');
const valueOf = async (start: string): Promise<number> =>
  Number(
    (await lines())
      .find((line) => line.startsWith(start))
      ?.split(' ')
      .at(-1) ?? 0,
  );

test('refusals are counted by reason, and log-ins that failed by theirs', async () => {
  expect(await valueOf('gx_control_plane_failed_logins_total{reason="ExpiredKey"}')).toBe(0);
  const forged = { key: `gx_${'a'.repeat(40)}` };
  expect((await plane.call('GET', '/v2/deployments', forged)).status).toBe(401);
  expect((await fetch(`${plane.url}/v2/deployments`)).status).toBe(401);
  expect(
    (
      await plane.call('POST', '/v2/deployments', {
        body: creation('refused'),
        key: plane.keys.read,
      })
    ).status,
  ).toBe(403);
  expect((await plane.call('POST', '/v2/deployments', { body: {} })).status).toBe(422);
  expect(await valueOf('gx_control_plane_failed_logins_total{reason="UnknownKey"}')).toBe(1);
  expect(await valueOf('gx_control_plane_failed_logins_total{reason="NoCredentials"}')).toBe(1);
  expect(await valueOf('gx_control_plane_refusals_total{reason="Unauthorized"}')).toBe(2);
  expect(await valueOf('gx_control_plane_refusals_total{reason="Forbidden"}')).toBe(1);
  expect(await valueOf('gx_control_plane_refusals_total{reason="UnprocessableEntity"}')).toBe(1);
});

test('each use of an expired key is counted, also while the key is remembered', async () => {
  const made = {
    name: 'over',
    tenantId: TENANT_A,
    role: 'read',
    expiresAt: '2020-01-01T00:00:00Z',
  } as const;
  const { key } = await createKey(plane.kube, plane.namespace, made);
  for (let at = 0; at < 5; at += 1)
    expect((await plane.call('GET', '/v2/deployments', { key })).status).toBe(401);
  expect(await valueOf('gx_control_plane_failed_logins_total{reason="ExpiredKey"}')).toBe(5);
});

test('open streams are counted until their client leaves', async () => {
  const leaving = new AbortController();
  const headers = { 'x-api-key': plane.keys.read, accept: 'text/event-stream' };
  const answer = await fetch(`${plane.url}/v2/events`, { headers, signal: leaving.signal });
  expect(answer.status).toBe(200);
  expect(await valueOf('gx_control_plane_open_streams')).toBe(1);
  leaving.abort();
  await expect.poll(() => valueOf('gx_control_plane_open_streams')).toBe(0);
});

test('requests to the API server and the ages of watches have the names that those of the operator have', async () => {
  await plane.call('POST', '/v2/deployments', { body: creation('made') });
  expect(await valueOf('rest_client_requests_total{code="201",method="POST"')).toBeGreaterThan(0);
  const ages = (await lines()).filter((line) => line.startsWith('watch_last_event_age_seconds{'));
  expect(new Set(ages.map((line) => /kind="(\w+)"/.exec(line)?.[1]))).toEqual(
    new Set([
      'Deployment',
      'Revision',
      'Listener',
      'TracingProject',
      'Namespace',
      'GitIntegration',
    ]),
  );
  // This one speaks plain HTTP.
  expectListedMetrics('control-plane', (await lines()).join('\n'), [
    'gx_control_plane_certificate_expiry_timestamp_seconds',
  ]);
  for (const line of ages) expect(Number(line.split(' ').at(-1))).toBeLessThan(30);
});

test('nobody who reaches the API reads them, whatever key they have', async () => {
  for (const key of [null, plane.keys.read, plane.keys.admin])
    expect((await plane.call('GET', '/metrics', { key })).status).toBe(404);
});
