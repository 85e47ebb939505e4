import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ensureTools } from '../../../dev/cluster/parts.ts';
import { connect } from '../../../src/kube/client.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { startApiServer, type ApiServer } from '../../kit/api-server.ts';
import { kubectlFor, type Kubectl } from '../../kit/kubectl.ts';

const CHART = 'charts/gx-platform';
const SYSTEM = 'gx-system';
const AGENTS = 'gx-agents';

const run = promisify(execFile);
let home: string;
let server: ApiServer;
let kube: Kube;
let kubectl: Kubectl;
let helm: (...args: string[]) => Promise<string>;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'gx-helm-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));

beforeEach(async () => {
  const tools = await ensureTools(['helm', 'kubectl']);
  server = await startApiServer({ controllers: false, definitions: false });
  kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/upgrade',
    kubeconfig: server.kubeconfig,
  });
  kubectl = kubectlFor({ kubectl: tools.kubectl, kubeconfig: server.kubeconfig });
  const env = {
    ...process.env,
    KUBECONFIG: server.kubeconfig,
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_DATA_HOME: home,
  };
  helm = async (...args) =>
    (await run(tools.helm, [...args, '--namespace', SYSTEM], { env, maxBuffer: 64 * 1024 * 1024 }))
      .stdout;
}, 1_200_000);
afterEach(async () => {
  await kube.close();
  await server.stop();
});

const REGISTRY = ['--set', 'images.registry=registry.example.com/me'];
const install = (...values: string[]) =>
  helm('install', 'gx', CHART, '--create-namespace', ...REGISTRY, ...values);
const upgrade = (...values: string[]) =>
  helm('upgrade', 'gx', CHART, '--reset-then-reuse-values', ...values);

type Item = {
  kind: string;
  metadata: { namespace?: string; name: string; uid: string; generation?: number };
};

/** Returns every object of the platform with its uid, and with its generation, which says whether it was changed. */
async function objects(): Promise<Map<string, { uid: string; generation: number | undefined }>> {
  const kindsOfChart =
    'ns,deploy,svc,sa,role,rolebinding,clusterrole,clusterrolebinding,crd,gxl,gxd,validatingadmissionpolicy';
  const { items } = await kubectl.json<{ items: Item[] }>(
    'get',
    kindsOfChart,
    '--all-namespaces',
    '--selector=app.kubernetes.io/part-of=gx-platform',
  );
  return new Map(
    items.map(({ kind, metadata: { namespace, name, uid, generation } }) => [
      `${kind}/${namespace}/${name}`,
      { uid, generation },
    ]),
  );
}

test('a second upgrade to the same chart changes nothing', async () => {
  await install();
  // The first one takes over the default Listener.
  await upgrade();
  const before = await objects();
  await upgrade();
  expect(await objects()).toEqual(before);
});

test('the first installation into a cluster makes the default Listener, and upgrades take it over as it is', async () => {
  await install();
  const found = async () => {
    const { metadata, spec } = await kube.get(kinds.listener, {
      namespace: SYSTEM,
      name: 'default',
    });
    return {
      uid: metadata.uid,
      namespaces: spec.namespaces,
      hook: metadata.annotations?.['helm.sh/hook'],
    };
  };
  const first = await found();
  expect(first).toMatchObject({ namespaces: [AGENTS], hook: 'post-install' });
  await upgrade();
  expect(await found()).toEqual({ ...first, hook: undefined });
  await upgrade('--set', `agents.namespaces={${AGENTS},more-agents}`);
  expect(await found()).toEqual({
    uid: first.uid,
    namespaces: [AGENTS, 'more-agents'],
    hook: undefined,
  });
  expect(await helm('get', 'manifest', 'gx')).toMatch(/kind: Listener/);
  await helm('uninstall', 'gx');
  expect((await found()).uid).toBe(first.uid);
});
