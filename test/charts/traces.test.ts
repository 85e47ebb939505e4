import { beforeAll, expect, test } from 'vitest';
import { readControlPlaneConfig } from '../../src/config/platform/control-plane.ts';
import { readGatewayConfig } from '../../src/config/platform/gateway.ts';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { idOf, renderer, type KubeYaml, type Renderer } from './render.ts';

const BUILD = 1_200_000;

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, BUILD);

const envOf = (objects: KubeYaml[], name: string) =>
  objects.find((object) => idOf(object) === `Deployment/gx-system/gx-${name}`)?.spec?.template?.spec
    .containers[0]?.env ?? [];
const valuesOf = (objects: KubeYaml[], name: string): Record<string, string> =>
  Object.fromEntries(
    envOf(objects, name).flatMap(({ name: key, value }) =>
      value === undefined ? [] : [[key, value]],
    ),
  );

test('the collector gets the traces of agents and of the platform, with the credentials of a Secret', async () => {
  const objects = await render.chart({
    settings: { otlp: { endpoint: 'http://collector:4318', headersSecret: 'otlp' } },
  });
  const url = 'http://collector:4318/v1/traces';
  expect(readOperatorConfig(valuesOf(objects, 'operator'))).toMatchObject({
    tracing: { url },
    settings: { otlp: { endpoint: 'http://collector:4318', headersSecret: 'otlp' } },
  });
  expect(readControlPlaneConfig(valuesOf(objects, 'control-plane')).tracing).toMatchObject({ url });
  expect(readGatewayConfig(valuesOf(objects, 'gateway')).tracing).toMatchObject({ url });
  const secretKeyRef = { name: 'otlp', key: 'headers', optional: true };
  for (const name of ['operator', 'control-plane', 'gateway'])
    expect(envOf(objects, name)).toContainEqual({
      name: 'OTEL_EXPORTER_OTLP_HEADERS',
      valueFrom: { secretKeyRef },
    });
});

test('nothing is traced without a collector', async () => {
  const objects = await render.chart({ settings: { otlp: { headersSecret: 'otlp' } } });
  for (const name of ['operator', 'control-plane', 'gateway'])
    expect(envOf(objects, name).filter(({ name: key }) => key.startsWith('OTEL_'))).toEqual([]);
});

test.each(['grpc://collector:4317', 'collector:4318', 'http:///v1'])(
  'an address of a collector that is %s is refused, and named',
  async (endpoint) => {
    await expect(render.chart({ settings: { otlp: { endpoint } } })).rejects.toThrow(endpoint);
  },
);
