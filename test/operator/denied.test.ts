import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds, type Kind, type Kube, type KubeObject } from '../../src/kube/kube.ts';
import { renderer } from '../charts/render.ts';
import { testNamespace, until } from '../kit/api-server.ts';

/* The chart's own roles on a real API server, which is asked what each of the two accounts may do. */
const SYSTEM = 'gx-system';
const RBAC = ['Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];
const review: Kind = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
};
let kube: Kube;
let agents: string;
let foreign: string;

beforeAll(async () => {
  const [watched, other] = [await testNamespace('denied'), await testNamespace('foreign')];
  ({ kube, namespace: agents } = watched);
  foreign = other.namespace;
  await other.kube.close();
  const { chart } = await renderer();
  const objects = await chart({ watchNamespaces: [agents], agents: { namespaces: [agents] } });
  const rules = objects.filter(({ kind }) => RBAC.includes(kind)) as unknown as KubeObject[];
  await kube.apply(kinds.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM } });
  for (const rule of rules) {
    const { apiVersion, kind, metadata } = rule;
    await kube.apply({ apiVersion, kind, plural: `${kind.toLowerCase()}s`, namespaced: metadata.namespace !== undefined }, rule);
  }
  for (const account of ['gx-operator', 'gx-control-plane']) {
    await until(`${account} has its roles`, () => may(account, 'list revisions.gx.dev', agents));
  }
}, 1_200_000);
afterAll(async () => {
  await kube.delete(kinds.namespace, { name: SYSTEM });
  await kube.close();
});

/** `verb resource[.group][/subresource]`, in a namespace or, without one, in all of them. */
async function may(account: string, right: string, namespace?: string): Promise<boolean> {
  const [verb = '', what = ''] = right.split(' ');
  const [path = '', subresource] = what.split('/');
  const [resource = '', ...group] = path.split('.');
  const resourceAttributes = {
    verb,
    resource,
    group: group.join('.'),
    ...(subresource && { subresource }),
    ...(namespace && { namespace }),
  };
  const answer = (await kube.create(review, {
    apiVersion: review.apiVersion,
    kind: review.kind,
    metadata: { name: '' },
    spec: {
      user: `system:serviceaccount:${SYSTEM}:${account}`,
      groups: ['system:authenticated', 'system:serviceaccounts'],
      resourceAttributes,
    },
  })) as KubeObject & { status: { allowed: boolean } };
  return answer.status.allowed;
}

/** What would let an account out of its role, wherever it is asked for. */
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
    ['escalate', 'bind', 'create', 'patch'].map((verb) => `${verb} ${roles}.rbac.authorization.k8s.io`),
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
  'patch secrets',
  'patch customresourcedefinitions.apiextensions.k8s.io',
  'create validatingwebhookconfigurations.admissionregistration.k8s.io',
  'approve certificatesigningrequests.certificates.k8s.io',
];

/** What is done in the namespaces worked on, and nowhere else. */
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

const allowed = async (account: string, rights: string[], namespace?: string): Promise<string[]> => {
  const answers = await Promise.all(rights.map((right) => may(account, right, namespace)));
  return rights.filter((_, index) => answers[index]);
};

describe.each(['gx-operator', 'gx-control-plane'])('the account %s', (account) => {
  test('has no way out of its role: not in the namespace of agents, not in its own, not in all', async () => {
    for (const namespace of [agents, SYSTEM, undefined]) expect(await allowed(account, NEVER, namespace)).toEqual([]);
  });

  test('may do nothing in a namespace that it does not work on, nor in all of them', async () => {
    for (const namespace of [foreign, 'kube-system', 'default', undefined]) {
      expect(await allowed(account, [...NEVER, ...ELSEWHERE], namespace)).toEqual([]);
    }
  });
});

test('the operator lists Secrets where agents run, not in its own namespace; the control plane lists none', async () => {
  expect(await allowed('gx-operator', ['list secrets'], agents)).toEqual(['list secrets']);
  expect(await allowed('gx-operator', ['get secrets', 'list secrets'], SYSTEM)).toEqual([]);
  expect(await allowed('gx-control-plane', ['list secrets'], agents)).toEqual([]);
});
