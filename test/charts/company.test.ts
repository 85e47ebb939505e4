import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { idOf, renderer, type KubeYaml } from './render.ts';

/* The proxies and the authority of a company's network, as each process gets them. */

test('proxies and an authority reach every process that asks somebody outside, and builds', async () => {
  const render = await renderer();
  const settings = {
    proxy: { https: 'http://proxy.example.com:3128', noProxy: ['.corp.example.com', '10.0.0.0/8'] },
    caConfigMap: 'company-ca',
  };
  const objects = await render.chart({
    settings,
    builds: { registry: 'registry.example.com/agents' },
  });
  const podOf = (component: string) => {
    const found = objects.find(
      (object: KubeYaml) => idOf(object) === `Deployment/gx-system/gx-${component}`,
    );
    const pod = found?.spec?.template?.spec;
    const env = pod?.containers[0]?.env ?? [];
    return {
      pod,
      env: Object.fromEntries(
        env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
      ),
    };
  };
  const direct = [
    'localhost',
    '127.0.0.1',
    '::1',
    '.svc',
    '.cluster.local',
    '.corp.example.com',
    '10.0.0.0/8',
  ];
  for (const component of ['operator', 'control-plane', 'gateway'])
    expect(podOf(component).env).toMatchObject({
      HTTPS_PROXY: settings.proxy.https,
      NO_PROXY: direct.join(','),
    });
  for (const component of ['operator', 'control-plane', 'gateway', 'console']) {
    expect(podOf(component).env).toMatchObject({
      NODE_EXTRA_CA_CERTS: '/etc/gx/authorities/ca.crt',
    });
    expect(podOf(component).pod?.volumes).toContainEqual({
      name: 'authorities',
      configMap: { name: 'company-ca' },
    });
  }
  const { proxies, builder } = readOperatorConfig(podOf('operator').env).settings;
  expect(proxies).toEqual({ https: settings.proxy.https, http: undefined, direct });
  expect(builder?.caConfigMapName).toBe('company-ca');
  const policy = objects.find(
    (object: KubeYaml) => idOf(object) === 'NetworkPolicy/gx-builds/gx-builds',
  );
  expect(JSON.stringify(policy)).toContain(
    '{"to":[{"namespaceSelector":{}}],"ports":[{"port":5353,"protocol":"UDP"},{"port":5353,"protocol":"TCP"}]}',
  );
  const own = await render.chart({
    settings,
    builds: { registry: 'registry.example.com/agents', caConfigMap: 'builds-ca' },
  });
  expect(JSON.stringify(own)).toContain('{"name":"GX_BUILD_CA_CONFIG_MAP","value":"builds-ca"}');
  await expect(render.chart({ settings: { proxy: { https: 'proxy:3128' } } })).rejects.toThrow(
    /settings\/proxy\/https/,
  );
}, 1_200_000);
