import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ensureTools } from '../../../dev/cluster/parts.ts';
import { kubectlFor } from '../../kit/kubectl.ts';
import { until } from '../../kit/until.ts';
import { LOCATION, writeSchemas, type Published } from '../published-schemas.ts';
import { renderer, type KubeYaml, type Renderer } from '../render.ts';

/* Each object of the chart, held by kubeconform against the schemas that a real API server publishes. */

type Judged = { resources: { kind: string; name: string; status: string; msg: string }[] };

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'gx-schemas-'));
let render: Renderer;
let judge: (objects: KubeYaml[]) => Promise<Judged['resources']>;

beforeAll(async () => {
  const { kubeconform, kubectl } = await ensureTools(['kubeconform', 'kubectl']);
  render = await renderer();
  const api = kubectlFor({ kubectl, kubeconfig: inject('kubeconfig') });
  await until('the schemas of our kinds are published', async () => {
    const published = JSON.parse(await api('get', '--raw', '/openapi/v2')) as Published;
    return writeSchemas(published, folder).includes('listener_gx.dev_v1alpha1.json');
  });
  const args = [
    '-strict',
    '-output',
    'json',
    '-verbose',
    '-schema-location',
    join(folder, LOCATION),
    '-',
  ];
  judge = async (objects) => {
    const running = run(kubeconform, args, { maxBuffer: 64 * 1024 * 1024 });
    running.child.stdin?.end(objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    const { stdout } = await running.catch((error: { stdout: string }) => error);
    return (JSON.parse(stdout) as Judged).resources;
  };
}, 1_200_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const refused = (judged: Judged['resources']): Judged['resources'] =>
  judged.filter(({ status }) => status !== 'statusValid');

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
    'a mirror, TLS, policies and several pods',
    {
      global: { imageRegistry: 'registry.example.com/mirror', imagePullSecrets: ['mirror'] },
      networkPolicy: { enabled: true },
      operator: { replicas: 2, tolerations: [{ key: 'platform', operator: 'Exists' }] },
      controlPlane: { replicas: 2, tls: { secretName: 'tls' } },
      agents: { quota: { 'count/deployments.gx.dev': 10 } },
    },
  ],
])('every object conforms with %s', async (_name, values) => {
  const judged = await judge(await render.chart(values));
  expect(judged.length).toBeGreaterThan(30);
  expect(refused(judged)).toEqual([]);
});

test('a field that Kubernetes does not know, and a value of another type, are refused', async () => {
  const objects = await render.chart();
  const service = objects.find(({ kind }) => kind === 'Service')!;
  const misspelt = { ...service, spec: { ...service.spec, selektor: {} } };
  const listener = objects.find(({ kind }) => kind === 'Listener')!;
  const wrong = { ...listener, spec: { ...listener.spec, namespaces: 'gx-agents' } };
  const reasons = Object.fromEntries(
    refused(await judge([misspelt, wrong])).map(({ kind, msg }) => [kind, msg]),
  );
  expect(reasons).toEqual({
    Service: expect.stringContaining("additional properties 'selektor' not allowed"),
    Listener: expect.stringContaining("at '/spec/namespaces': got string, want array"),
  });
});
