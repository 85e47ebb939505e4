import { afterAll, beforeAll, expect, test } from 'vitest';
import { readOperatorConfig } from '../../../src/config/platform/operator.ts';
import type { Listener } from '../../../src/control-plane/listeners/resource.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import {
  creation,
  makeNamespace,
  startPlane,
  TENANT_A,
  TENANT_B,
  type Plane,
} from '../kit/api-server-plane.ts';

/* Hosts that an admin grants over REST to the routes of a listener's deployments. */

const GX_ROUTE = JSON.stringify({
  kind: 'HTTPRoute',
  parentRefs: [{ name: 'public', namespace: 'gateways' }],
  host: '{name}.{namespace}.agents.example.com',
  reservedHosts: ['console.example.com', 'registry.gx.example.com'],
});

let plane: Plane;
let ours: string;
let theirs: string;
beforeAll(async () => {
  plane = await startPlane('hosts', {
    namespaces: [],
    route: readOperatorConfig({ GX_ROUTE }).settings.route,
  });
  [ours, theirs] = [await makeNamespace(plane, TENANT_A), await makeNamespace(plane, TENANT_B)];
});
afterAll(() => plane.stop());

type Answer = Listener & { detail: string };
const create = (compute_id: string, namespace: string, hosts: unknown, key = plane.keys.admin) =>
  plane.call<Answer>('POST', '/v2/listeners', {
    key,
    body: {
      compute_type: 'k8s',
      compute_id,
      compute_config: { k8s_namespaces: [namespace] },
      hosts,
    },
  });
const patch = (id: string, hosts: unknown, key = plane.keys.admin) =>
  plane.call<Answer>('PATCH', `/v2/listeners/${id}`, { key, body: { hosts } });

test('hosts are granted, shown, changed and taken back by an admin, and custom URLs follow', async () => {
  const made = await create('one', ours, ['help.example.com']);
  expect([made.status, made.body.hosts]).toEqual([201, ['help.example.com']]);
  const { id } = made.body;
  const named = (name: string, host: string) =>
    plane.call<Deployment & { detail: string }>('POST', '/v2/deployments', {
      key: plane.keys.write,
      body: creation(name, {
        source_config: { resource_spec: {}, custom_url: `https://${host}`, listener_id: id },
      }),
    });
  expect((await named('first', 'help.example.com')).status).toBe(201);
  expect(await named('second', 'a.shop.example.com')).toMatchObject({
    status: 400,
    body: {
      detail: expect.stringMatching(
        /^source_config.custom_url: a.shop.example.com is not among the hosts of listener /,
      ),
    },
  });
  expect((await patch(id, ['*.shop.example.com', 'help.example.com'])).body.hosts).toEqual([
    '*.shop.example.com',
    'help.example.com',
  ]);
  expect((await plane.call<Answer>('GET', `/v2/listeners/${id}`)).body.hosts).toEqual([
    '*.shop.example.com',
    'help.example.com',
  ]);
  expect((await named('second', 'a.shop.example.com')).status).toBe(201);
  // What was not asked for stays.
  const namespaces = await plane.call<Answer>('PATCH', `/v2/listeners/${id}`, {
    key: plane.keys.admin,
    body: { compute_config: { k8s_namespaces: [ours] } },
  });
  expect(namespaces.body.hosts).toHaveLength(2);
  expect((await patch(id, null)).body).toMatchObject({
    hosts: [],
    compute_config: { k8s_namespaces: [ours] },
  });
  expect((await named('third', 'b.shop.example.com')).status).toBe(400);
  expect((await patch(id, ['help.example.com'], plane.keys.write)).status).toBe(403);
});

test.each([
  ['no host', ['a_b']],
  ['a host with a port', ['help.example.com:8443']],
  ['an asterisk in its middle', ['help.*.example.com']],
  ['the same host twice', ['help.example.com', 'help.example.com']],
  ['a host longer than 253 characters', [`${'a.'.repeat(130)}example.com`]],
  ['no list', 'help.example.com'],
])('%s is refused, and nothing is made', async (_, hosts) => {
  expect([400, 422]).toContain(
    (await create('wrong', await makeNamespace(plane, TENANT_A), hosts)).status,
  );
  const { body } = await plane.call<{ resources: Listener[] }>('GET', '/v2/listeners');
  expect(body.resources.map(({ compute_id }) => compute_id)).not.toContain('wrong');
});

test.each(['chat.team.agents.example.com', '*.team.agents.example.com'])(
  '%s is refused: the pattern of the installation may give it to a deployment',
  async (host) => {
    expect(await create('squatter', await makeNamespace(plane, TENANT_A), [host])).toMatchObject({
      status: 400,
      body: {
        detail: `hosts: ${host} may be the host of a deployment by the pattern {name}.{namespace}.agents.example.com`,
      },
    });
  },
);

test.each(['console.example.com', '*.example.com', '*.gx.example.com'])(
  "%s is refused: it is a host of the platform's own, or covers one",
  async (host) => {
    expect(
      await create('squatter', await makeNamespace(plane, TENANT_A), ['fine.example.org', host]),
    ).toMatchObject({
      status: 400,
      body: { detail: `hosts: ${host} is, or covers, a host that is reserved by the installation` },
    });
  },
);

test('a host of a listener of another tenant is refused, and what a listener has is sent back without a change', async () => {
  const their = await create(
    'theirs',
    theirs,
    ['*.store.example', 'one.example'],
    plane.keys.otherAdmin,
  );
  expect(their.status).toBe(201);
  const { body: own } = await create('another', await makeNamespace(plane, TENANT_A), [
    'own.example',
  ]);
  for (const host of ['one.example', 'a.store.example', '*.store.example', '*.example'])
    expect(await patch(own.id, ['own.example', host])).toMatchObject({
      status: 409,
      body: { detail: `hosts: ${host} belongs to a listener of another tenant` },
    });
  expect((await plane.call<Answer>('GET', `/v2/listeners/${own.id}`)).body.hosts).toEqual([
    'own.example',
  ]);
  expect((await patch(their.body.id, their.body.hosts, plane.keys.otherAdmin)).body.hosts).toEqual(
    their.body.hosts,
  );
});
