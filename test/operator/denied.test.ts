import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { renderer } from '../charts/render.ts';
import { may as mayIn, untilMay } from '../kit/account.ts';
import { testNamespace } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';

/* The chart's own roles on a real API server. The test asks it what each of the two accounts may do. */
const SYSTEM = 'gx-system';
const RBAC = ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];
const PLURAL: Record<string, Kind> = Object.fromEntries(
  RBAC.map((kind) => [
    kind,
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind,
      plural: `${kind.toLowerCase()}s`,
      namespaced: !kind.startsWith('Cluster'),
    },
  ]),
);
let kube: Kube;
let agents: string;
let more: string;
let foreign: string;

beforeAll(async () => {
  const [watched, ...others] = [
    await testNamespace('denied'),
    await testNamespace('denied-more'),
    await testNamespace('foreign'),
  ];
  ({ kube, namespace: agents } = watched);
  [more = '', foreign = ''] = others.map(({ namespace }) => namespace);
  await Promise.all(others.map((other) => other.kube.close()));
  await kube.apply(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: SYSTEM },
  });
}, 1_200_000);
afterAll(async () => {
  await kube.delete(kinds.namespace, { name: SYSTEM });
  await kube.close();
});

/** Returns the roles and bindings of the chart with these values. */
async function install(values: object): Promise<KubeObject[]> {
  const { chart } = await renderer();
  const rules = (await chart(values)).filter(({ kind }) =>
    RBAC.includes(kind),
  ) as unknown as KubeObject[];
  for (const rule of rules) await kube.apply(PLURAL[rule.kind] as Kind, rule);
  return rules;
}

async function uninstall(rules: KubeObject[]): Promise<void> {
  for (const { kind, metadata } of rules) {
    await kube.delete(PLURAL[kind] as Kind, {
      name: metadata.name,
      ...(metadata.namespace && { namespace: metadata.namespace }),
    });
  }
}

const may = (account: string, right: string, namespace?: string): Promise<boolean> =>
  mayIn(kube, `${SYSTEM}:${account}`, right, namespace);

/** Permissions that would let an account out of its role, wherever they are requested. */
const NEVER = [
  'create pods',
  'create pods/exec',
  'get pods/exec',
  'create pods/attach',
  'create pods/portforward',
  'update pods/ephemeralcontainers',
  'create serviceaccounts',
  'create serviceaccounts/token',
  'impersonate users',
  'impersonate serviceaccounts',
  ...['roles', 'clusterroles'].flatMap((roles) =>
    ['escalate', 'bind', 'create', 'patch'].map(
      (verb) => `${verb} ${roles}.rbac.authorization.k8s.io`,
    ),
  ),
  'create rolebindings.rbac.authorization.k8s.io',
  'create clusterrolebindings.rbac.authorization.k8s.io',
  'get nodes',
  'list nodes',
  'get nodes/proxy',
  'list namespaces',
  'create namespaces',
  'create persistentvolumes',
  'watch secrets',
  'update secrets',
  'patch customresourcedefinitions.apiextensions.k8s.io',
  'create validatingwebhookconfigurations.admissionregistration.k8s.io',
  'approve certificatesigningrequests.certificates.k8s.io',
];

/** What the operator does in the namespaces that it works on, and nowhere else. */
const ELSEWHERE = [
  'get secrets',
  'list secrets',
  'create secrets',
  'delete secrets',
  'list pods',
  'delete pods',
  'get pods/log',
  'create deployments.apps',
  'patch deployments.apps',
  'delete deployments.gx.dev',
  'list deployments.gx.dev',
  'delete persistentvolumeclaims',
];

const allowed = async (
  account: string,
  rights: string[],
  namespace?: string,
): Promise<string[]> => {
  const answers = await Promise.all(rights.map((right) => may(account, right, namespace)));
  return rights.filter((_, index) => answers[index]);
};

const ACCOUNTS = ['gx-operator', 'gx-control-plane'];
const SECRETS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'].map(
  (verb) => `${verb} secrets`,
);

/** What would let an account make pods, and so read Secrets, or read what pods say. */
const MAKING = [
  'create deployments.apps',
  'patch deployments.apps',
  'create statefulsets.apps',
  'patch statefulsets.apps',
  'create jobs.batch',
  'create services',
  'patch networkpolicies.networking.k8s.io',
  'get pods/log',
];

/**
 * Each row has the mode, the chart's values, the namespaces whose Secrets may be reached, and what is denied elsewhere.
 */
describe.each<[string, () => object, () => string[], string[]]>([
  ['by default', () => ({ agents: { namespaces: [agents] } }), () => [agents], ELSEWHERE],
  [
    'working on a list of namespaces',
    () => ({ watchNamespaces: [agents, more], agents: { namespaces: [agents] } }),
    () => [agents, more],
    ELSEWHERE,
  ],
  [
    'working on all namespaces',
    () => ({ watchAllNamespaces: true, agents: { namespaces: [agents] } }),
    () => [agents],
    MAKING,
  ],
])('installed %s', (_, values, worked, elsewhere) => {
  let installed: KubeObject[];
  beforeAll(async () => {
    installed = await install(values());
    for (const account of ACCOUNTS) {
      for (const namespace of worked()) {
        for (const right of ['list revisions.gx.dev', 'get secrets'])
          await untilMay(kube, `${SYSTEM}:${account}`, right, namespace);
      }
    }
  }, 1_200_000);
  afterAll(async () => {
    await uninstall(installed);
    for (const account of ACCOUNTS) {
      await until(
        `${account} has no role`,
        async () => !(await may(account, 'list revisions.gx.dev', agents)),
      );
    }
  });

  test.each(ACCOUNTS)(
    '%s has no way out of its role: not where agents run, not in its own namespace, not in all',
    async (account) => {
      for (const namespace of [...worked(), SYSTEM, foreign, undefined])
        expect(await allowed(account, NEVER, namespace)).toEqual([]);
    },
  );

  test.each(ACCOUNTS)(
    '%s reaches nothing in a namespace without agents but what the mode says: never a Secret',
    async (account) => {
      for (const namespace of [foreign, 'kube-system', 'default', undefined]) {
        expect(await allowed(account, [...SECRETS, ...elsewhere], namespace)).toEqual([]);
      }
    },
  );

  test("the account of api-key makes and revokes keys in the platform's own namespace, and does nothing else anywhere", async () => {
    const rights = [
      ...SECRETS,
      ...MAKING,
      ...ELSEWHERE,
      'list leases.coordination.k8s.io',
      'create leases.coordination.k8s.io',
    ];
    const own = [
      'get secrets',
      'list secrets',
      'create secrets',
      'delete secrets',
      'list leases.coordination.k8s.io',
    ];
    expect([...new Set(await allowed('gx-api-key', rights, SYSTEM))]).toEqual(own);
    for (const namespace of [...worked(), foreign, undefined])
      expect(await allowed('gx-api-key', [...rights, ...NEVER], namespace)).toEqual([]);
  });

  test('the operator lists Secrets and renews certificates where agents run, not in its own namespace; the control plane does neither', async () => {
    const some = ['list secrets', 'watch secrets', 'patch secrets'];
    for (const namespace of worked()) {
      expect(await allowed('gx-operator', some, namespace)).toEqual([
        'list secrets',
        'patch secrets',
      ]);
      expect(await allowed('gx-control-plane', some, namespace)).toEqual([]);
    }
    expect(await allowed('gx-operator', SECRETS, SYSTEM)).toEqual([]);
  });
});
