import type { LabelSelector, Labels, Peer, Pod, World } from './world.ts';

/** Returns whether the labels are selected. An empty selector selects everything. */
export function isSelected(
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  labels: Labels,
): boolean {
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return hasLabels && matchExpressions.every((expression) => isExpressionMet(expression, labels));
}

function isExpressionMet(
  { key, operator, values = [] }: NonNullable<LabelSelector['matchExpressions']>[number],
  labels: Labels,
): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

/** Returns the pods that a peer of a policy in this namespace names. */
export function listPeerPods(
  { podSelector = {}, namespaceSelector }: Peer,
  namespace: string,
  { namespaces, pods }: World,
): Pod[] {
  const findLabels = (name: string): Labels =>
    namespaces.find((known) => known.name === name)?.labels ?? {};
  const isThere = (pod: Pod): boolean =>
    namespaceSelector === undefined
      ? pod.namespace === namespace
      : isSelected(namespaceSelector, findLabels(pod.namespace));
  return pods.filter((pod) => isThere(pod) && isSelected(podSelector, pod.labels));
}
