import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { Authenticator } from '../../src/control-plane/auth/authenticate.ts';
import { keyHash, keyId } from '../../src/control-plane/auth/key-form.ts';
import { keyObjectName } from '../../src/control-plane/auth/keys.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds, type Kube } from '../../src/kube/kube.ts';
import { API_KEY } from '../../src/schema/labels.ts';
import { kubeconfigOf, may, untilMay } from '../kit/account.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { silentLog } from '../kit/log.ts';
import { newDeployment } from '../kit/objects.ts';

/** The chart before keys had a MAC and accounts had policies. */
const EARLIER = 'test/charts/earlier/gx-platform-71ce2be.tgz';
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
  kube = await connect({ fieldManager: 'test', userAgent: 'test/upgrade', kubeconfig: server.kubeconfig });
  kubectl = kubectlFor({ kubectl: tools.kubectl, kubeconfig: server.kubeconfig });
  const env = { ...process.env, KUBECONFIG: server.kubeconfig, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  helm = async (...args) => (await run(tools.helm, [...args, '--namespace', SYSTEM], { env, maxBuffer: 64 * 1024 * 1024 })).stdout;
}, 1_200_000);
afterEach(async () => {
  await kube.close();
  await server.stop();
});

const install = (...values: string[]) => helm('install', 'gx', EARLIER, '--create-namespace', ...values);
const upgrade = (...values: string[]) => helm('upgrade', 'gx', CHART, '--reset-then-reuse-values', ...values);

type Item = { kind: string; metadata: { namespace?: string; name: string; uid: string; generation?: number } };

/** Returns every object of the platform with its uid, and with its generation, which says whether it was changed. */
async function objects(): Promise<Map<string, { uid: string; generation: number | undefined }>> {
  const kindsOfChart = 'ns,deploy,svc,sa,role,rolebinding,clusterrole,clusterrolebinding,crd,gxl,gxd,validatingadmissionpolicy';
  const { items } = await kubectl.json<{ items: Item[] }>(
    'get',
    kindsOfChart,
    '--all-namespaces',
    '--selector=app.kubernetes.io/part-of=gx-platform',
  );
  return new Map(
    items.map(({ kind, metadata: { namespace, name, uid, generation } }) => [`${kind}/${namespace}/${name}`, { uid, generation }]),
  );
}

/** Stores a key as the command of the earlier version did. */
async function earlierKey(): Promise<string> {
  const key = `gx_${'earlier-key'.padEnd(43, '0')}`;
  const hash = keyHash(key);
  const id = keyId(hash);
  const metadata = { name: keyObjectName(id), namespace: SYSTEM, labels: { [API_KEY]: id, 'app.kubernetes.io/part-of': 'gx-platform' } };
  const stringData = { hash, name: 'earlier', tenantId: '00000000-0000-4000-8000-000000000000', role: 'write' };
  await kube.create(kinds.secret, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', immutable: true, stringData });
  return key;
}

test('an installation of the earlier chart is upgraded in place: no object is made anew, deployments, listeners and keys stay', async () => {
  await install();
  const key = await earlierKey();
  const labels = { 'app.kubernetes.io/part-of': 'gx-platform' };
  await kube.create(kinds.deployment, newDeployment(AGENTS, { metadata: { name: 'kept', labels } }));
  const before = await objects();
  const listener = await kube.get(kinds.listener, { namespace: SYSTEM, name: 'default' });
  await upgrade();
  const after = await objects();
  expect([...before.keys()].filter((id) => after.get(id)?.uid !== before.get(id)?.uid)).toEqual([]);
  expect(before.get(`Deployment/${AGENTS}/kept`)).toEqual(after.get(`Deployment/${AGENTS}/kept`));
  const { spec, metadata } = await kube.get(kinds.listener, { namespace: SYSTEM, name: 'default' });
  expect([spec, metadata.uid]).toEqual([listener.spec, listener.metadata.uid]);
  const account = { namespace: SYSTEM, kubeconfig: server.kubeconfig, name: 'gx-control-plane' };
  await untilMay(kube, `${SYSTEM}:gx-control-plane`, 'get secrets', SYSTEM);
  const own = await connect({ fieldManager: 'x', userAgent: 'test/upgraded', kubeconfig: await kubeconfigOf(kube, account) });
  const gate = new Authenticator({ kube: own, namespace: SYSTEM, log: silentLog() });
  expect(await gate.authenticate({ 'x-api-key': key }, 'write')).toMatchObject({ keyName: 'earlier', role: 'write' });
  await own.close();
});

test('a second upgrade to the same chart changes nothing', async () => {
  await install();
  await upgrade();
  const before = await objects();
  await upgrade();
  expect(await objects()).toEqual(before);
});

test('where all namespaces are watched, an owner who agreed before need not do so again', async () => {
  await install('--set', 'watchAllNamespaces=true');
  await kubectl('create', 'namespace', 'theirs');
  const role = 'gx-operator-secrets';
  await kubectl('--namespace=theirs', 'create', 'rolebinding', role, `--clusterrole=${role}`, `--serviceaccount=${SYSTEM}:gx-operator`);
  await untilMay(kube, `${SYSTEM}:gx-operator`, 'create deployments.apps', 'default');
  await upgrade();
  await untilMay(kube, `${SYSTEM}:gx-operator`, 'create deployments.apps', 'theirs');
  await untilMay(kube, `${SYSTEM}:gx-operator`, 'create secrets', 'theirs');
  await expect.poll(() => may(kube, `${SYSTEM}:gx-operator`, 'create deployments.apps', 'default')).toBe(false);
});

test('the first installation into a cluster makes the default Listener, and upgrades take it over as it is', async () => {
  await helm('install', 'gx', CHART, '--create-namespace');
  const found = async () => {
    const { metadata, spec } = await kube.get(kinds.listener, { namespace: SYSTEM, name: 'default' });
    return { uid: metadata.uid, namespaces: spec.namespaces, hook: metadata.annotations?.['helm.sh/hook'] };
  };
  const first = await found();
  expect(first).toMatchObject({ namespaces: [AGENTS], hook: 'post-install' });
  await upgrade();
  expect(await found()).toEqual({ ...first, hook: undefined });
  await upgrade('--set', `agents.namespaces={${AGENTS},more-agents}`);
  expect(await found()).toEqual({ uid: first.uid, namespaces: [AGENTS, 'more-agents'], hook: undefined });
  expect(await helm('get', 'manifest', 'gx')).toMatch(/kind: Listener/);
  await helm('uninstall', 'gx');
  expect((await found()).uid).toBe(first.uid);
});
