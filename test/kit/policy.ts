import type { Kind, Kube } from '../../src/kube/kube.ts';
import { until } from './until.ts';

const GROUP = 'admissionregistration.k8s.io/v1';
export const policies: Kind = {
  apiVersion: GROUP,
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  namespaced: false,
};
export const bindings: Kind = {
  apiVersion: GROUP,
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  namespaced: false,
};

export type Policy = {
  name: string;
  namespace: string;
  apiGroup: string;
  resource: string;
  operation: 'CREATE' | 'DELETE';
  /** A CEL expression. An object passes if it is true. */
  rule: string;
  message: string;
};

/**
 * Makes an admission policy in one namespace, as an administrator would. Resolves when `isOn` says that the API server
 * applies it, with a function that removes it.
 */
export async function policyFor(
  kube: Kube,
  policy: Policy,
  isOn: () => Promise<boolean>,
): Promise<() => Promise<void>> {
  const { name, namespace, apiGroup, resource, operation, rule, message } = policy;
  const metadata = { name: `${name}-${namespace}` };
  await kube.create(policies, {
    apiVersion: GROUP,
    kind: policies.kind,
    metadata,
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        resourceRules: [
          {
            apiGroups: [apiGroup],
            apiVersions: ['*'],
            operations: [operation],
            resources: [resource],
          },
        ],
      },
      validations: [{ expression: rule, message, reason: 'Forbidden' }],
    },
  });
  const spec = { policyName: metadata.name, validationActions: ['Deny'] };
  await kube.create(bindings, { apiVersion: GROUP, kind: bindings.kind, metadata, spec });
  await until(`the policy ${name} is obeyed`, isOn);
  return async () => {
    await kube.delete(bindings, metadata);
    await kube.delete(policies, metadata);
  };
}
