import { beforeAll, expect, test } from 'vitest';
import { readConsoleConfig } from '../../src/config/platform/console.ts';
import { readControlPlaneConfig } from '../../src/config/platform/control-plane.ts';
import { readGatewayConfig } from '../../src/config/platform/gateway.ts';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { idOf, renderer, type KubeYaml, type Renderer } from './render.ts';

const BUILD = 1_200_000;

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, BUILD);

const envOf = (objects: KubeYaml[], name: string): Record<string, string> => {
  const process = objects.find((object) => idOf(object) === `Deployment/gx-system/gx-${name}`);
  const env = process?.spec?.template?.spec.containers[0]?.env ?? [];
  return Object.fromEntries(
    env.flatMap(({ name: key, value }) => (value === undefined ? [] : [[key, value]])),
  );
};

test('those of agents reach the operator and the gateway, those of the control plane and of the console these alone', async () => {
  const blocks = ['10.244.0.0/16', '192.0.2.7', 'fd00:10::/56'];
  const own = ['::ffff:10.0.0.0/104'];
  const objects = await render.chart({
    settings: { trustedProxies: blocks },
    controlPlane: { trustedProxies: own },
    console: { trustedProxies: ['192.0.2.9'] },
  });
  expect(readOperatorConfig(envOf(objects, 'operator')).settings.trustedProxies).toEqual(blocks);
  expect(readGatewayConfig(envOf(objects, 'gateway')).trustedProxies).toEqual(blocks);
  expect(readConsoleConfig(envOf(objects, 'console')).trustedProxies).toEqual(['192.0.2.9']);
  expect(readControlPlaneConfig(envOf(objects, 'control-plane')).trustedProxies).toEqual(own);
});

test.each([
  ['a name', { settings: { trustedProxies: ['proxy.example'] } }],
  ['all addresses', { settings: { trustedProxies: ['0.0.0.0/0'] } }],
  [
    'a block of the control plane that is none',
    { controlPlane: { trustedProxies: ['10.0.0.0/33'] } },
  ],
])('%s is refused', async (_, values) => {
  await expect(render.chart(values)).rejects.toThrow(/trustedProxies/);
});
