import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds, type Kind, type Kube, type KubeObject } from '../../src/kube/kube.ts';
import { kubeconfigOf } from '../kit/account.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { policies } from '../kit/policy.ts';
import { until } from '../kit/until.ts';

/* The page for owners of one namespace, typed, and two installations of one name, on an API server of their own. */
const root = join(import.meta.dirname, '..', '..');
const PAGE = readFileSync(join(root, 'docs/how-to/without-cluster-rights.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(([, text = '']) => text);
const run = promisify(execFile);
const ROLE_BINDING: Kind = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', plural: 'rolebindings', namespaced: true };

let server: ApiServer;
let kube: Kube;
let path: string;
beforeAll(async () => {
  server = await startApiServer({ definitions: false });
  kube = await connect({ fieldManager: 'test', userAgent: 'test/rights', kubeconfig: server.kubeconfig });
  const tools = await ensureTools(['helm', 'kubectl']);
  path = [...new Set([dirname(tools.helm), dirname(tools.kubectl)]), process.env.PATH].join(':');
}, 1_200_000);
afterAll(async () => {
  await kube.close();
  await server.stop();
});

const typed = (script: string, kubeconfig: string, cwd = root) =>
  run('bash', ['-euo', 'pipefail', '-c', script], { cwd, env: { ...process.env, PATH: path, KUBECONFIG: kubeconfig }, maxBuffer: 1 << 26 });

test('the owner of one namespace installs by the page, and nothing of the release lies outside', async () => {
  const [admin = '', owner = ''] = blocks('sh');
  const [rights = '', values = ''] = blocks('yaml');
  const folder = mkdtempSync(join(tmpdir(), 'gx-rights-'));
  writeFileSync(join(folder, 'namespace-admin.yaml'), rights);
  writeFileSync(join(folder, 'values.yaml'), values);
  await typed(admin.replace('-f crds', `-f ${join(root, 'crds')}`), server.kubeconfig, folder);
  const namespace = 'team-a';
  await kube.create(kinds.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const account: Kind = { apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts', namespaced: true };
  await kube.create(account, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'owner', namespace } });
  const kubeconfig = await kubeconfigOf(kube, { namespace, kubeconfig: server.kubeconfig, name: 'owner' });
  await kube.create(ROLE_BINDING, {
    apiVersion: ROLE_BINDING.apiVersion,
    kind: 'RoleBinding',
    metadata: { name: 'owner', namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'owner', namespace }],
  });
  const script = owner.replace('charts/gx-platform', join(root, 'charts/gx-platform'));
  await until('the rights are aggregated', async () => {
    const asked = await typed('kubectl auth can-i create listeners.gx.dev -n team-a', kubeconfig).catch(() => undefined);
    return asked?.stdout.startsWith('yes') === true;
  });
  const { stdout } = await typed(script, kubeconfig, folder);
  expect(stdout).toContain('deployment.apps/gx-operator serverside-applied');
  const deployments = await kube.all(kinds.workload, { namespace });
  expect(deployments.map(({ metadata }) => metadata.name).toSorted()).toEqual([
    'gx-console',
    'gx-control-plane',
    'gx-gateway',
    'gx-operator',
  ]);
  const rendered = await typed(script.replace(/ \| kubectl apply.*$/m, ''), kubeconfig, folder);
  const elsewhere = [...rendered.stdout.matchAll(/^ {2}namespace: (\S+)/gm)].map(([, name]) => name).filter((name) => name !== namespace);
  expect(elsewhere).toEqual([]);
  expect(rendered.stdout).not.toMatch(/^kind: (Cluster|Namespace|CustomResource|ValidatingAdmission)/m);
}, 300_000);

test('a second installation of the same name leaves the policies and the Role of the first as they are', async () => {
  const apply = async (namespace: string): Promise<string> => {
    await kube.create(kinds.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const script = `helm template gx charts/gx-platform --namespace ${namespace} --set crds.install=false --set 'agents.namespaces={${namespace}-agents}' |
      kubectl apply --server-side -f -`;
    return (await typed(script, server.kubeconfig)).stdout;
  };
  const guards = async (): Promise<KubeObject[]> => (await kube.all(policies)).filter(({ metadata }) => metadata.name.startsWith('gx-'));
  await apply('ops-one');
  const first = await guards();
  expect(first.map(({ metadata }) => metadata.name)).toEqual(['gx-children.ops-one', 'gx-resources.ops-one', 'gx-secrets.ops-one']);
  const said = await apply('ops-two');
  expect(said.split('\n').filter((line) => line !== '' && !line.includes('serverside-applied'))).toEqual([]);
  const both = await guards();
  expect(both).toHaveLength(6);
  for (const policy of first) {
    const now = both.find(({ metadata }) => metadata.name === policy.metadata.name);
    expect([now?.metadata.resourceVersion, now?.spec]).toEqual([policy.metadata.resourceVersion, policy.spec]);
    expect(JSON.stringify(now?.spec)).not.toContain('ops-two');
  }
  const roles: Kind = { ...ROLE_BINDING, kind: 'Role', plural: 'roles' };
  const ofApiServer = (await kube.all(roles, { namespace: 'default' })).map(({ metadata }) => metadata.name);
  expect(ofApiServer.toSorted()).toEqual(['gx-operator-api-server.ops-one', 'gx-operator-api-server.ops-two']);
}, 300_000);
