import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { startApiServer, type ApiServer } from '../../kit/api-server.ts';
import { until } from '../../kit/until.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

describe('a control plane', () => {
  let plane: Plane;
  beforeAll(async () => {
    plane = await startPlane('system');
  });
  afterAll(() => plane.stop());

  test.each([
    ['/healthz', 'application/json'],
    ['/readyz', 'application/json'],
    ['/openapi.json', 'application/json'],
    ['/docs', 'text/html'],
  ])('answers %s to anybody', async (path, type) => {
    const response = await fetch(`${plane.url}${path}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining(type),
    ]);
  });

  test('counts its requests by route', async () => {
    await plane.call('GET', '/v2/deployments');
    expect(await (await fetch(plane.metricsUrl)).text()).toMatch(
      /gx_http_request_duration_seconds_count\{method="GET",route="\/v2\/deployments",status="200"\} \d/,
    );
  });

  test('describes every operation once, with what guards it', async () => {
    const document = (await (await fetch(`${plane.url}/openapi.json`)).json()) as {
      openapi: string;
      info: { version: string };
      paths: Record<string, Record<string, { operationId: string; security: object[] }>>;
    };
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    expect(
      operations
        .filter(({ security }) => security.length === 0)
        .map(({ operationId }) => operationId)
        .toSorted(),
    ).toEqual(['docs', 'healthz', 'openapi', 'pushGitEvent', 'readyz', 'root']);
    expect([document.openapi, document.info.version]).toEqual(['3.0.3', '0.1.0']);
    expect(document.paths['/v2/deployments']?.post?.security).toEqual([
      { ApiKey: [] },
      { TenantId: [] },
      { Bearer: [] },
    ]);
    const versioned = Object.entries(document.paths).filter(([, methods]) =>
      Object.values(methods).some(({ security }) => security.length > 0),
    );
    expect(versioned.filter(([path]) => !/^\/v[12]\//.test(path))).toEqual([]);
  });

  test('keeps values of secrets in the Secret alone', async () => {
    const canary = (what: string): { name: string; value: string }[] => [
      { name: 'TOKEN', value: `canary-${what}-91f3` },
    ];
    const { body } = await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation('canary', { secrets: canary('made') }),
    });
    await plane.call('PATCH', `/v2/deployments/${body.id}`, {
      body: { secrets: canary('patched') },
    });
    await plane.call('POST', '/v2/deployments', {
      body: creation('canary', { secrets: canary('taken') }),
    });
    await plane.call('POST', '/v2/deployments', {
      body: creation('x', {
        secrets: canary('rule'),
        source_config: { repo_url: 'https://git.example/a' },
      }),
    });
    const shape = await plane.call('POST', '/v2/deployments', {
      body: creation('x', { secrets: canary('shape'), extra: 1 }),
    });
    expect(shape.status).toBe(422);
    const scope = { namespace: plane.namespace };
    const resources = await Promise.all([
      plane.kube.listAll(kinds.deployment, scope),
      plane.kube.listAll(kinds.revision, scope),
    ]);
    const everything = JSON.stringify(resources) + plane.logged() + JSON.stringify(shape.body);
    expect(everything.length).toBeGreaterThan(1000);
    expect(everything).not.toContain('91f3');
    expect(everything).not.toContain(Buffer.from('canary').toString('base64').slice(0, 6));
    expect(
      (await plane.kube.listAll(kinds.secret, { ...scope, labelSelector: 'gx.dev/secrets-of' }))
        .length,
    ).toBe(2);
    expect(plane.logged()).not.toContain(plane.keys.write);
  });
});

describe('stopping', () => {
  test('is told by readiness, ends streams, and lets requests finish', async () => {
    const plane = await startPlane('stopping', { graceSeconds: 30 });
    const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation('a'),
    });
    const headers = { 'x-api-key': plane.keys.read };
    const path = `${plane.url}/v2/deployments/${made.id}`;
    const stream = await fetch(`${path}/events`, { headers });
    const waiting = fetch(`${path}/revisions/${made.latest_revision_id}?wait=50`, { headers });
    await wait(200);
    const started = performance.now();
    const stopped = plane.stop();
    expect(await stream.text()).toContain('event: deployment');
    expect((await waiting).status).toBe(200);
    await stopped;
    expect(performance.now() - started).toBeLessThan(20_000);
    await expect(fetch(`${plane.url}/readyz`)).rejects.toThrow();
  });
});

describe('while the API server is away', () => {
  let server: ApiServer;
  let plane: Plane;
  beforeAll(async () => {
    server = await startApiServer({ controllers: false });
    plane = await startPlane('outage', {}, { kubeconfig: server.kubeconfig });
  });
  afterAll(async () => {
    await plane.stop();
    await server.stop();
  });

  test('reads go on, writes are answered with 503, and all is well afterwards', async () => {
    const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
      body: creation('before', { secrets: [{ name: 'A', value: 'kept' }] }),
    });
    const { call } = plane;
    await call('GET', '/v2/deployments', { key: plane.keys.read });
    await server.kill();
    expect((await call<Deployment>('GET', `/v2/deployments/${made.id}`)).body).toEqual(made);
    const refused = await call<{ detail: string }>('POST', '/v2/deployments', {
      body: creation('during'),
    });
    expect([refused.status, typeof refused.body.detail]).toEqual([503, 'string']);
    expect(
      (await call('PATCH', `/v2/deployments/${made.id}`, { body: { secrets: [] } })).status,
    ).toBe(503);
    expect((await call('DELETE', `/v2/deployments/${made.id}`)).status).toBe(503);
    await server.restart();
    await until(
      'writes work again',
      async () =>
        (await call('POST', '/v2/deployments', { body: creation('after') })).status === 201,
    );
    await plane.kube.patchStatus(
      kinds.deployment,
      { namespace: plane.namespace, name: 'before' },
      { phase: 'READY' },
    );
    await until(
      'the watch is back',
      async () =>
        (await call<Deployment>('GET', `/v2/deployments/${made.id}`)).body.status === 'READY',
    );
  });
});
