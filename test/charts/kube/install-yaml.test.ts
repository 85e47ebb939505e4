import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureTools } from '../../../dev/cluster/parts.ts';
import { CHART, installYaml } from '../../../dev/release/chart.ts';
import { startApiServer, type ApiServer } from '../../kit/api-server.ts';
import { kubectlFor, type Kubectl } from '../../kit/kubectl.ts';

/* The commands of docs/how-to/install.md, on an API server that has never seen the platform. */

const folder = mkdtempSync(join(tmpdir(), 'gx-install-yaml-'));
const file = join(folder, 'install.yaml');
let server: ApiServer;
let kubectl: Kubectl;

beforeAll(async () => {
  const tools = await ensureTools(['kubectl']);
  writeFileSync(file, await installYaml(CHART));
  server = await startApiServer({ controllers: false, definitions: false });
  kubectl = kubectlFor({ kubectl: tools.kubectl, kubeconfig: server.kubeconfig });
}, 1_200_000);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

type Found = { kind: string; metadata: { name: string; resourceVersion?: string } };

/** Returns the objects of the platform's kinds, without the version that the API server counts. */
async function objects(): Promise<Found[]> {
  const { items } = await kubectl.json<{ items: Found[] }>(
    'get',
    'ns,crd,deploy,svc,sa,role,gxl',
    '--all-namespaces',
  );
  for (const { metadata } of items) delete metadata.resourceVersion;
  return items;
}

test('install.yaml installs everything at its second application, and a third one changes nothing', async () => {
  const apply = () => kubectl('apply', '--server-side', '-f', file);
  await expect(apply()).rejects.toThrow('no matches for kind "Listener"');
  await kubectl('wait', '--for=condition=Established', 'crd/listeners.gx.dev');
  await apply();
  const made = await objects();
  const names = made.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  expect(names).toEqual(
    expect.arrayContaining([
      'Namespace/gx-system',
      'Listener/default',
      'Deployment/gx-operator',
      'Deployment/gx-control-plane',
    ]),
  );
  await apply();
  expect(await objects()).toEqual(made);
});
