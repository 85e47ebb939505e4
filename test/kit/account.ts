import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import type { PolicyRule } from '../../src/schema/platform/spec/policy-rule.ts';
import { until } from './until.ts';

const RBAC = 'rbac.authorization.k8s.io';
const role: Kind = { apiVersion: `${RBAC}/v1`, kind: 'Role', plural: 'roles', namespaced: true };
const binding: Kind = { ...role, kind: 'RoleBinding', plural: 'rolebindings' };
const review: Kind = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
};
const account: Kind = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

/** The name of an account in the namespace of its test. */
const LIMITED = 'limited';

type Kubeconfig = { users: { user: object }[] };

/** Makes a service account with just these permissions. Returns a kubeconfig with its token. */
export async function accountWith(
  kube: Kube,
  { namespace, kubeconfig, rules }: { namespace: string; kubeconfig: string; rules: PolicyRule[] },
): Promise<string> {
  const metadata = { name: LIMITED, namespace };
  await kube.create(account, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  await grant(kube, { namespace, rules, to: namespace });
  return kubeconfigOf(kube, { namespace, kubeconfig, name: metadata.name });
}

/** Gives the account of one namespace these permissions in another one, perhaps beside those of other accounts. */
export async function grant(
  kube: Kube,
  { namespace, rules, to }: { namespace: string; rules: PolicyRule[]; to: string },
): Promise<void> {
  const metadata = { name: `limited-${to}`, namespace };
  await kube.create(role, { apiVersion: role.apiVersion, kind: 'Role', metadata, rules });
  await kube.create(binding, {
    apiVersion: binding.apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: RBAC, kind: 'Role', name: metadata.name },
    subjects: [{ kind: 'ServiceAccount', name: LIMITED, namespace: to }],
  });
  // A right on one object alone is there before any that is granted later.
  const rule = rules.find(({ resourceNames }) => resourceNames === undefined);
  if (rule !== undefined) await untilMay(kube, `${to}:${LIMITED}`, rightIn(rule), namespace);
}

/** Returns all permissions that the rules give, each as its verb and its resource. */
export const rightsIn = (rules: PolicyRule[]): string[] =>
  rules.flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
  );

/** Returns one of the permissions that a rule gives. */
function rightIn({
  apiGroups: [group = ''],
  resources: [path = ''],
  verbs: [verb = ''],
}: PolicyRule): string {
  const [resource, ...subresource] = path.split('/');
  return `${verb} ${[[resource, group].filter(Boolean).join('.'), ...subresource].join('/')}`;
}

/** Waits until the API server applies a role, of which it learns by watches of its own. */
export const untilMay = (
  kube: Kube,
  who: string,
  right: string,
  namespace?: string,
): Promise<true> => until(`${who} may ${right}`, () => may(kube, who, right, namespace));

/**
 * Returns whether a service account, `namespace:name`, may do `verb resource[.group][/subresource]`, in a namespace or,
 * without one, in all of them.
 */
export async function may(
  kube: Kube,
  who: string,
  right: string,
  namespace?: string,
): Promise<boolean> {
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
  const groups = ['system:authenticated', 'system:serviceaccounts'];
  const answer = (await kube.create(review, {
    apiVersion: review.apiVersion,
    kind: review.kind,
    metadata: { name: '' },
    spec: { user: `system:serviceaccount:${who}`, groups, resourceAttributes },
  })) as KubeObject & { status: { allowed: boolean } };
  return answer.status.allowed;
}

/** Returns a kubeconfig with a token of the account. */
export async function kubeconfigOf(
  kube: Kube,
  { namespace, kubeconfig, name }: { namespace: string; kubeconfig: string; name: string },
): Promise<string> {
  const tokens: Kind = { ...account, plural: `serviceaccounts/${name}/token` };
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name: '', namespace },
    spec: {},
  };
  const { status } = (await kube.create(tokens, request)) as KubeObject & {
    status: { token: string };
  };
  const config = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
  const path = `${kubeconfig}.${namespace}`;
  writeFileSync(
    path,
    stringify({
      ...config,
      users: config.users.map((user) => ({ ...user, user: { token: status.token } })),
    }),
  );
  return path;
}
