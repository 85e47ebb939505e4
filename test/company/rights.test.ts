import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { kubeconfigOf } from '../kit/account.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { policies } from '../kit/policy.ts';
import { until } from '../kit/until.ts';

/* The page for owners of one namespace, typed, and two installations of one name, on an API server of their own. */
const root = join(import.meta.dirname, '..', '..');
const PAGE = readFileSync(join(root, 'docs/how-to/without-cluster-rights.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'gms'))].map(
    ([, text = '']) => text,
  );
const run = promisify(execFile);
const ROLE_BINDING: Kind = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};

let server: ApiServer;
let kube: Kube;
let path: string;
beforeAll(async () => {
  server = await startApiServer({ definitions: false });
  kube = await connect({
    fieldManager: 'test',
    userAgent: 'test/rights',
    kubeconfig: server.kubeconfig,
  });
  const tools = await ensureTools(['helm', 'kubectl']);
  path = [...new Set([dirname(tools.helm), dirname(tools.kubectl)]), process.env.PATH].join(':');
}, 1_200_000);
afterAll(async () => {
  await kube.close();
  await server.stop();
});

const typed = (script: string, kubeconfig: string, cwd = root) =>
  run('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: { ...process.env, PATH: path, KUBECONFIG: kubeconfig },
    maxBuffer: 1 << 26,
  });

test('the owner of one namespace installs by the page, and nothing of the release lies outside', async () => {
  const [admin = '', owner = ''] = blocks('sh');
  const [rights = '', values = ''] = blocks('yaml');
  const folder = mkdtempSync(join(tmpdir(), 'gx-rights-'));
  writeFileSync(join(folder, 'namespace-admin.yaml'), rights);
  writeFileSync(join(folder, 'values.yaml'), values);
  await typed(admin.replace('-f crds', `-f ${join(root, 'crds')}`), server.kubeconfig, folder);
  const namespace = 'team-a';
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  const account: Kind = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    namespaced: true,
  };
  await kube.create(account, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'owner', namespace },
  });
  const kubeconfig = await kubeconfigOf(kube, {
    namespace,
    kubeconfig: server.kubeconfig,
    name: 'owner',
  });
  await kube.create(ROLE_BINDING, {
    apiVersion: ROLE_BINDING.apiVersion,
    kind: 'RoleBinding',
    metadata: { name: 'owner', namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'owner', namespace }],
  });
  const script = owner.replace('charts/gx-platform', join(root, 'charts/gx-platform'));
  await until('the rights are aggregated', async () => {
    const asked = await typed(
      'kubectl auth can-i create listeners.gx.dev -n team-a',
      kubeconfig,
    ).catch(() => undefined);
    return asked?.stdout.startsWith('yes') === true;
  });
  const { stdout } = await typed(script, kubeconfig, folder);
  expect(stdout).toContain('deployment.apps/gx-operator serverside-applied');
  const deployments = await kube.listAll(kinds.workload, { namespace });
  expect(deployments.map(({ metadata }) => metadata.name).toSorted()).toEqual([
    'gx-console',
    'gx-control-plane',
    'gx-gateway',
    'gx-operator',
  ]);
  const rendered = await typed(script.replace(/ \| kubectl apply.*$/m, ''), kubeconfig, folder);
  const elsewhere = [...rendered.stdout.matchAll(/^ {2}namespace: (\S+)/gm)]
    .map(([, name]) => name)
    .filter((name) => name !== namespace);
  expect(elsewhere).toEqual([]);
  expect(rendered.stdout).not.toMatch(
    /^kind: (Cluster|Namespace|CustomResource|ValidatingAdmission)/m,
  );
}, 300_000);

/** Who applies objects, and how. Argo CD marks its objects, and wins conflicts of field managers. */
const APPLIERS: [string, string][] = [
  ['kubectl apply', 'kubectl apply'],
  ['kubectl apply --server-side', 'kubectl apply --server-side'],
  ['Argo CD', 'kubectl apply --server-side --force-conflicts --field-manager argocd-controller'],
];
const MARK = 'argocd.argoproj.io/tracking-id';

/** Renders a release called gx, as the application of that installation if Argo CD applies it. */
async function applyRelease(
  namespace: string,
  [who, how]: [string, string],
  values: string,
): Promise<string> {
  const rendered = await typed(
    `helm template gx charts/gx-platform --namespace ${namespace} --set crds.install=false --set images.registry=registry.example.com/me ${values}`,
    server.kubeconfig,
  );
  const objects = parseAllDocuments(rendered.stdout).flatMap(
    (document) => (document.toJS() as KubeObject | null) ?? [],
  );
  for (const { kind, metadata } of who === 'Argo CD' ? objects : [])
    metadata.annotations = {
      ...metadata.annotations,
      [MARK]: `gx-${namespace}:/${kind}:${metadata.namespace ?? ''}/${metadata.name}`,
    };
  const folder = mkdtempSync(join(tmpdir(), 'gx-release-'));
  writeFileSync(
    join(folder, 'all.json'),
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }),
  );
  return (await typed(`${how} -f ${join(folder, 'all.json')}`, server.kubeconfig)).stdout;
}

const guards = async (): Promise<KubeObject[]> =>
  (await kube.listAll(policies)).filter(({ metadata }) => metadata.name.startsWith('gx-'));
const bindings = async (namespace: string): Promise<KubeObject[]> =>
  (await kube.listAll(ROLE_BINDING, { namespace })).toSorted((a, b) =>
    a.metadata.name < b.metadata.name ? -1 : 1,
  );
const GUARDS = [
  'gx-bindings',
  'gx-built-images',
  'gx-children',
  'gx-namespaces',
  'gx-resources',
  'gx-secrets',
];
const withBuilds = (namespace: string): string =>
  `--set 'agents.namespaces={${namespace}-agents}' --set builds.registry=registry.example/agents ` +
  `--set builds.namespace=${namespace}-builds --set builds.gitNamespace=${namespace}-git`;

test.each(APPLIERS)(
  'a second installation of the same name by %s leaves everything of the first as it is',
  async (...applier) => {
    const suffix = applier[0].replaceAll(/[^a-z]+/gi, '-').toLowerCase();
    const [one, two] = [`one-${suffix}`, `two-${suffix}`];
    for (const name of [one, two])
      await kube.create(kinds.namespace, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name },
      });
    await applyRelease(one, applier, withBuilds(one));
    const ofFirst = async (): Promise<KubeObject[]> =>
      (await guards()).filter(({ metadata }) => metadata.name.endsWith(`.${one}`));
    const first = await ofFirst();
    expect(first.map(({ metadata }) => metadata.name)).toEqual(
      GUARDS.map((name) => `${name}.${one}`),
    );
    const places = [`${one}-agents`, `${one}-builds`, `${one}-git`];
    const before = (await Promise.all(places.map(bindings))).flat();
    expect(before.length).toBeGreaterThan(6);

    await applyRelease(two, applier, withBuilds(two));
    expect(await ofFirst()).toEqual(first);
    expect((await Promise.all(places.map(bindings))).flat()).toEqual(before);
    expect(
      (await guards()).filter(({ metadata }) => metadata.name.endsWith(`.${two}`)),
    ).toHaveLength(GUARDS.length);
    const roles: Kind = { ...ROLE_BINDING, kind: 'Role', plural: 'roles' };
    const ofApiServer = (await kube.listAll(roles, { namespace: 'default' })).map(
      ({ metadata }) => metadata.name,
    );
    expect(ofApiServer).toEqual(
      expect.arrayContaining([one, two].map((name) => `gx-operator-api-server.${name}`)),
    );

    // One that forgets to name namespaces of its own is refused, in words that name the values.
    const third = `three-${suffix}`;
    await kube.create(kinds.namespace, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: third },
    });
    const refused = applyRelease(third, applier, withBuilds(one));
    await expect(refused).rejects.toThrow(
      `The namespace has agents or builds of the installation in ${one}. Name others in agents.namespaces`,
    );
    expect((await Promise.all(places.map(bindings))).flat()).toEqual(before);
  },
  300_000,
);
