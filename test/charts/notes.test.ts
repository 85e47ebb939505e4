import { beforeAll, expect, test } from 'vitest';
import { renderer, type Renderer } from './render.ts';

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, 1_200_000);

const route = { host: 'gx.example.com', parentRefs: [{ name: 'public' }] };
const builds = { registry: 'registry.example.com/agents', pushSecret: 'push', pullSecret: 'pull' };

test.each<[string, object, string[]]>([
  [
    'default values',
    {},
    [
      'port-forward svc/gx-control-plane 8080:80',
      '(http://localhost:8080)',
      'helm test gx --namespace gx-system',
    ],
  ],
  [
    'TLS',
    { controlPlane: { tls: { secretName: 'tls' } } },
    ['8080:443', '(https://localhost:8080)'],
  ],
  [
    'a node port',
    { controlPlane: { service: { type: 'NodePort' } } },
    ['at this port of each node (http)', 'get svc gx-control-plane'],
  ],
  [
    'a load balancer',
    { controlPlane: { service: { type: 'LoadBalancer', port: 8443 } } },
    ['port 8443 (http) of this address'],
  ],
  [
    'an HTTPRoute',
    { controlPlane: { route: { kind: 'HTTPRoute', ...route } } },
    ['https://gx.example.com'],
  ],
  [
    'an Ingress',
    { controlPlane: { route: { kind: 'Ingress', host: 'gx.example.com' } } },
    ['http://gx.example.com'],
  ],
  [
    'all namespaces',
    { watchAllNamespaces: true },
    ["need the permission of their namespace's owner"],
  ],
  [
    'builds',
    { builds },
    [
      'are built in gx-builds',
      'Make the Secret push there',
      'Make the Secret pull in each namespace of agents',
    ],
  ],
  ['a console', {}, ['port-forward svc/gx-console 8090:80', '(http://localhost:8090/console/)']],
  [
    'a route to the console',
    { console: { route: { kind: 'HTTPRoute', ...route } } },
    ['https://gx.example.com/console/'],
  ],
  [
    'a console without https',
    { console: { route: { kind: 'Ingress', host: 'gx.example.com' } } },
    ['it accepts no keys'],
  ],
  ['no gateway', { gateway: { enabled: false } }, ['no deployment sleeps']],
  ['keys by exec', { controlPlane: { apiKeysByExec: true } }, ['exec deploy/gx-control-plane']],
  [
    'another name',
    { fullnameOverride: 'ai' },
    ['svc/ai-control-plane', '"serviceAccountName":"ai-api-key"'],
  ],
])('an installation with %s says how to go on', async (_mode, values, sentences) => {
  const notes = await render.notes(values);
  for (const sentence of sentences) expect(notes).toContain(sentence);
});
