import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../../../src/config/platform/operator.ts';
import type { DeploymentSpec } from '../../../../src/schema/platform/resources/custom-resources.ts';
import {
  buildOutsideAddress,
  planRoute,
  type RouteWorld,
} from '../../../../src/operator/deployment/route/plan.ts';
import { deployment } from '../../../kit/objects.ts';

/* Whether a deployment has a route, at which hosts and below which path. */

const HTTP = {
  kind: 'HTTPRoute',
  parentRefs: [{ name: 'public' }],
  host: '{name}.{namespace}.agents.example.com',
};
const SHARED = { ...HTTP, host: 'agents.example.com', path: '/{namespace}/{name}' };
const INGRESS = { kind: 'Ingress', host: HTTP.host };
const settingsOf = (route: object) =>
  readOperatorConfig({ GX_ROUTE: JSON.stringify(route) }).settings;

const world = (route: object, given: Partial<RouteWorld> = {}): RouteWorld => ({
  settings: settingsOf(route),
  listener: undefined,
  holderOf: () => undefined,
  isKindMissing: false,
  parentFeatures: undefined,
  ...given,
});
const plan = (route: DeploymentSpec['route'], given: RouteWorld) =>
  planRoute(deployment({ spec: route ? { route } : {} }), given);
const listener = { name: 'default', hosts: ['*.shop.example', 'help.example'] };

test.each([
  ['the installation has no routes', undefined, world({ kind: 'None' })],
  ['its spec asks for none', { enabled: false }, world(HTTP)],
])('it has none if %s', (_, route, given) => {
  expect(plan(route, given)).toBeUndefined();
});

const OWN = 'chat.team.agents.example.com';

test.each([
  ['the host by the pattern', undefined, world(HTTP), { hosts: [OWN], path: '/' }],
  [
    'the host of all, below a path of its own',
    undefined,
    world(SHARED),
    { hosts: ['agents.example.com'], path: '/team/chat' },
  ],
  ['a path of its own', { path: '/v1' }, world(HTTP), { hosts: [OWN], path: '/v1' }],
  [
    'granted hosts',
    { hosts: ['a.shop.example', 'help.example'] },
    world(HTTP, { listener }),
    { hosts: ['a.shop.example', 'help.example'] },
  ],
  ['its usual host by its name', { hosts: [OWN] }, world(HTTP), { hosts: [OWN], path: '/' }],
  [
    'a path below its own',
    { path: '/team/chat/v2' },
    world(SHARED),
    { hosts: ['agents.example.com'], path: '/team/chat/v2' },
  ],
])('it has %s', (_, route, given, place) => {
  expect(plan(route, given)).toMatchObject({ ...place, fault: undefined });
});

const TAKEN: Partial<RouteWorld> = {
  holderOf: (host) => (host === 'help.example' ? 'team/old' : undefined),
};

test.each([
  [
    'a host that no Listener grants',
    { hosts: ['bank.example'] },
    world(HTTP),
    /HostNotAllowed: .*No Listener has the namespace/,
  ],
  [
    'another host than those granted',
    { hosts: ['bank.example'] },
    world(HTTP, { listener }),
    /HostNotAllowed: .*bank.example is not among .* listener default/,
  ],
  [
    'a host that another has',
    { hosts: ['help.example'] },
    world(HTTP, { listener, ...TAKEN }),
    /HostTaken: .*team\/old has the host help.example with the path \//,
  ],
  [
    "the platform's own host by a grant that covers it",
    { hosts: ['console.shop.example'] },
    world({ ...HTTP, reservedHosts: ['console.shop.example'] }, { listener }),
    /HostNotAllowed: .*console.shop.example is not allowed. It is the platform's own/,
  ],
  [
    "the platform's own host by its name",
    undefined,
    world({ ...HTTP, reservedHosts: [OWN] }),
    /HostNotAllowed: .*the platform's own/,
  ],
  [
    'a host that is reserved by its domain',
    undefined,
    world({ ...HTTP, reservedHosts: ['*.team.agents.example.com'] }),
    /HostNotAllowed/,
  ],
  [
    'the path of another',
    { path: '/team/mail' },
    world(SHARED),
    /PathNotAllowed: .*must be \/team\/chat or below it/,
  ],
  [
    'a path that only begins as its own',
    { path: '/team/chatter' },
    world(SHARED),
    /PathNotAllowed: .*must be/,
  ],
  ['all paths of the host of all', { path: '/' }, world(SHARED), /PathNotAllowed: .*must be/],
])('it does not get %s', (_, route, given, fault) => {
  const found = plan(route, given);
  expect(found?.hosts).toEqual([]);
  expect(`${found?.fault?.reason}: ${found?.fault?.message}`).toMatch(fault);
});

test('a host that the pattern makes too long is none, and is named', () => {
  const long = deployment({ metadata: { name: 'a'.repeat(61), namespace: 'b' } });
  const found = planRoute(long, world({ ...HTTP, host: '{name}-of.{namespace}.example.com' }));
  expect(found).toMatchObject({ hosts: [], fault: { reason: 'HostInvalid' } });
  expect(found?.fault?.message).toMatch(/a{61}-of of .* is longer than 63 characters/);
});

test('of several hosts it gets those that it may have, and the first refusal is told', () => {
  const found = plan(
    { hosts: ['a.shop.example', 'bank.example', 'help.example'] },
    world(HTTP, { listener, ...TAKEN }),
  );
  expect(found).toMatchObject({ hosts: ['a.shop.example'], fault: { reason: 'HostNotAllowed' } });
});

test.each([
  ['HTTPRoute', HTTP, { mountPrefix: '' }, `https://${OWN}`],
  [
    'HTTPRoute without TLS',
    { ...HTTP, scheme: 'http' },
    { mountPrefix: '/api' },
    `http://${OWN}/api`,
  ],
  [
    'HTTPRoute whose path is stripped',
    SHARED,
    { mountPrefix: '/api' },
    'https://agents.example.com/team/chat/api',
  ],
  [
    'HTTPRoute whose path the server knows',
    HTTP,
    { path: '/api', mountPrefix: '/api' },
    `https://${OWN}/api`,
  ],
  ['Ingress', INGRESS, { mountPrefix: '/api' }, `http://${OWN}/api`],
  [
    'Ingress with TLS',
    { ...INGRESS, tls: { enabled: true, secretName: 'a' } },
    { path: '/api', mountPrefix: '/api' },
    `https://${OWN}/api`,
  ],
])('the address of an %s', (_, installed, { mountPrefix, ...route }, address) => {
  const found = plan(route, world(installed));
  expect(found && buildOutsideAddress(found, mountPrefix)).toBe(address);
});

const byUrl = (customUrl: string, route: DeploymentSpec['route'], given: RouteWorld) =>
  planRoute(deployment({ spec: { sourceConfig: { customUrl }, ...(route && { route }) } }), given);

test('a custom URL asks for its host and path, unless the route names others', () => {
  const granting = world(HTTP, { listener });
  expect(byUrl('https://help.example/v1', undefined, granting)).toMatchObject({
    hosts: ['help.example'],
    path: '/v1',
    fault: undefined,
  });
  expect(byUrl('https://help.example/v1', { path: '/v2' }, granting)).toMatchObject({
    hosts: ['help.example'],
    path: '/v2',
  });
  expect(byUrl('https://bank.example', { hosts: ['help.example'] }, granting)).toMatchObject({
    hosts: ['help.example'],
    path: '/',
  });
  expect(byUrl('https://bank.example', undefined, granting)).toMatchObject({
    hosts: [],
    fault: { reason: 'HostNotAllowed' },
  });
  expect(byUrl('https://help.example:8443', undefined, granting)).toMatchObject({
    hosts: [],
    fault: { reason: 'HostInvalid' },
  });
});
