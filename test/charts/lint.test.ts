import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { renderer, type Renderer } from './render.ts';

const run = promisify(execFile);

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, 1_200_000);

test.each([
  ['default values', {}],
  [
    'builds and all namespaces',
    {
      watchAllNamespaces: true,
      builds: { registry: 'registry.example.com', buildkit: { enabled: true } },
    },
  ],
  [
    'TLS, policies and several pods',
    {
      networkPolicy: { enabled: true },
      operator: { replicas: 2 },
      controlPlane: { tls: { secretName: 'tls' } },
    },
  ],
])('helm lint has nothing to warn of with %s', async (_name, values) => {
  expect(await render.lint(values)).toContain('0 chart(s) failed');
});

describe('helm test', () => {
  type TestPod = {
    securityContext: object;
    containers: { command: string[]; args: string[]; env?: object[]; securityContext: object }[];
  };
  const podWith = async (values: object = {}): Promise<TestPod> => {
    const [pod] = await render.tests(values);
    expect(pod?.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'test' });
    return pod?.spec as unknown as TestPod;
  };
  const asked = ({ containers }: TestPod): string[] => containers[0]!.args.slice(1);

  test('asks each process of the platform whether it is ready', async () => {
    const places = [
      'control-plane.gx-system.svc.cluster.local:80',
      'operator.gx-system.svc.cluster.local:8081',
      'gateway.gx-system.svc.cluster.local:8081',
      'console.gx-system.svc.cluster.local:8081',
    ];
    expect(asked(await podWith())).toEqual(places.map((place) => `http://gx-${place}/readyz`));
    expect(
      asked(await podWith({ gateway: { enabled: false }, console: { enabled: false } })),
    ).toHaveLength(2);
    const tls = await podWith({ controlPlane: { tls: { secretName: 'tls' } } });
    expect(asked(tls)[0]).toBe('https://gx-control-plane.gx-system.svc.cluster.local:443/readyz');
    expect(tls.containers[0]?.env).toEqual([{ name: 'NODE_TLS_REJECT_UNAUTHORIZED', value: '0' }]);
  });

  test('its pod passes the restricted pod security standard', async () => {
    const { securityContext, containers } = await podWith();
    expect(securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(containers[0]?.securityContext).toMatchObject({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
    });
  });

  test('succeeds where all are ready, and fails where one is not', async () => {
    const script = (await podWith()).containers[0]!.args[0]!;
    const server = createServer((request, response) =>
      response.writeHead(request.url === '/ready' ? 200 : 503).end(),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const ask = (...urls: string[]) => run(process.execPath, ['-e', script, ...urls]);
    expect((await ask(`${url}/ready`, `${url}/ready`)).stdout).toContain('200');
    await expect(ask(`${url}/ready`, `${url}/not`)).rejects.toMatchObject({ code: 1 });
    await expect(ask('http://127.0.0.1:1/')).rejects.toMatchObject({ code: 1 });
    server.close();
  });
});
