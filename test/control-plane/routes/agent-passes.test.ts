import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { hashAgentKey } from '../../../src/schema/wire/agent-key.ts';
import type { AgentPass } from '../../../src/schema/wire/agent-pass.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { passKeyOf, verifySignedPass } from '../../../src/tokens/agent-pass.ts';
import { until } from '../../kit/until.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

/* A pass for a deployment's agents, over REST. */

type Key = { api_key: string; previous_api_key: string | null };

let plane: Plane;
let deployment: Deployment;
const at = (path: string): string => `/v2/deployments/${deployment.id}/${path}`;

beforeAll(async () => {
  plane = await startPlane('agent-passes');
  deployment = (
    await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('passed') })
  ).body;
});
afterAll(() => plane.stop());

const passFor = (key: string) => plane.call<AgentPass>('POST', at('agent-pass'), { key });
const signedBy = ({ pass }: AgentPass, key: string) =>
  verifySignedPass(pass, [passKeyOf(hashAgentKey(key))]);

test('before the operator has made the key, there is no pass', async () => {
  expect((await plane.call('POST', at('agent-pass'))).status).toBe(404);
});

test('everybody of the tenant gets one with the own role, for five minutes, that no cache keeps', async () => {
  plane.startKubelet();
  await plane.startOperator();
  await until('there is a key', async () => (await plane.call('GET', at('key'))).status === 200);
  const { body: key } = await plane.call<Key>('GET', at('key'));
  for (const role of ['read', 'write', 'admin'] as const) {
    const { status, headers, body } = await passFor(plane.keys[role]);
    expect([status, headers.get('cache-control'), body.role]).toEqual([200, 'no-store', role]);
    const words = signedBy(body, key.api_key);
    expect(words).toMatchObject({
      deployment: deployment.id,
      subject: expect.stringMatching(/^[0-9a-f]{16}$/),
      role,
    });
    expect(new Date(words!.exp * 1000).toISOString()).toBe(body.expires_at);
    const left = Date.parse(body.expires_at) - Date.now();
    expect(left).toBeGreaterThan(270_000);
    expect(left).toBeLessThanOrEqual(300_000);
  }
});

test('another tenant, and a stranger, get none', async () => {
  expect((await passFor(plane.keys.other)).status).toBe(404);
  expect((await plane.call('POST', at('agent-pass'), { key: null })).status).toBe(401);
});

test('the way to the agents is made of names, whatever address the deployment shows', async () => {
  const { body } = await passFor(plane.keys.read);
  expect(body).toMatchObject({
    service: 'passed-agent',
    namespace: plane.namespace,
    mount_prefix: '',
    asleep_since: null,
  });
});

test('while a key changes, both sign', async () => {
  const { body: key } = await plane.call<Key>('POST', at('key/rotate'));
  const { body } = await passFor(plane.keys.read);
  for (const one of [key.api_key, key.previous_api_key ?? ''])
    expect(signedBy(body, one)).toMatchObject({ role: 'read' });
  expect(signedBy(body, 'gxa_another')).toBeUndefined();
});

test('a Secret of the key’s name that is not the deployment’s own signs nothing', async () => {
  const { kube, namespace } = plane;
  const metadata = { name: 'planted-key', namespace };
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    stringData: { 'api-key': 'mine' },
  });
  const made = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('planted'),
  });
  expect((await plane.call('POST', `/v2/deployments/${made.body.id}/agent-pass`)).status).toBe(404);
});

test('each pass leaves a line of who got it, and stands in no log itself', async () => {
  const { body } = await passFor(plane.keys.read);
  const lines = plane.logged().split('\n');
  const last = lines.findLast((line) => line.includes('"makeAgentPass"'));
  expect(JSON.parse(last!)).toMatchObject({
    audit: true,
    key_name: 'reader',
    role: 'read',
    id: deployment.id,
    outcome: 'done',
  });
  expect(plane.logged()).not.toContain(body.pass);
});
