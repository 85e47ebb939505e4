import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOperatorConfig } from '../../../src/config/platform/operator.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { until } from '../../kit/until.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

/* Custom URLs where the installation makes routes: REST takes those that a deployment may have. */

const GX_ROUTE = JSON.stringify({ kind: 'Ingress', host: '{name}.{namespace}.agents.example' });

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('urls', { route: readOperatorConfig({ GX_ROUTE }).settings.route });
  const { kube, namespace } = plane;
  const hosts = [{ op: 'add' as const, path: '/spec/hosts', value: ['*.shop.example'] }];
  await kube.patchJson(kinds.listener, { namespace, name: 'default' }, hosts);
  await until(
    'the control plane knows the hosts',
    async () => (await make('probe', 'https://probe.shop.example', true)).status === 201,
  );
});
afterAll(() => plane.stop());

type Answer = { status: number; body: Deployment & { detail: string } };
const make = (name: string, url: string, isDry = false): Promise<Answer> =>
  plane.call<Answer['body']>('POST', `/v2/deployments${isDry ? '?dry_run=true' : ''}`, {
    body: creation(name, { source_config: { custom_url: url } }),
  });
const change = (id: string, body: object): Promise<Answer> =>
  plane.call<Answer['body']>('PATCH', `/v2/deployments/${id}`, { body });

test('a host that no listener grants is refused, at the creation and later', async () => {
  const refused = await make('bank', 'https://bank.example');
  const detail =
    'source_config.custom_url: bank.example is not among the hosts of listener default';
  expect([refused.status, refused.body.detail]).toEqual([400, detail]);
  const made = await make('a', 'https://a.shop.example');
  expect([made.status, made.body.source_config.custom_url]).toEqual([
    201,
    'https://a.shop.example',
  ]);
  const changed = await change(made.body.id, {
    source_config: { custom_url: 'https://bank.example' },
  });
  expect([changed.status, changed.body.detail]).toEqual([400, detail]);
});

test('what GET showed may be sent back, granted or not', async () => {
  const made = await make('b', 'https://b.shop.example');
  const { kube, namespace } = plane;
  const elsewhere = [
    {
      op: 'replace' as const,
      path: '/spec/sourceConfig/customUrl',
      value: 'https://bank.example:1/?a',
    },
  ];
  await kube.patchJson(kinds.deployment, { namespace, name: 'b' }, elsewhere);
  const shown = await until('REST shows it', async () => {
    const { body } = await plane.call<Deployment>('GET', `/v2/deployments/${made.body.id}`);
    return body.source_config.custom_url === 'https://bank.example:1/?a' ? body : undefined;
  });
  expect(
    (await change(made.body.id, { source_config: { custom_url: shown.source_config.custom_url } }))
      .status,
  ).toBe(200);
});

test('a host and path that another deployment has is a conflict', async () => {
  const { kube, namespace } = plane;
  await make('c', 'https://c.shop.example');
  await kube.patchStatus(
    kinds.deployment,
    { namespace, name: 'c' },
    { route: { hosts: ['c.shop.example'], path: '/' } },
  );
  const taken = await until('it is known', async () => {
    const answer = await make('d', 'https://c.shop.example', true);
    return answer.status === 409 ? answer : undefined;
  });
  expect(taken.body.detail).toBe(
    'source_config.custom_url: another deployment has the host c.shop.example with the path /',
  );
  expect((await make('d', 'https://c.shop.example/v1')).status).toBe(201);
});
