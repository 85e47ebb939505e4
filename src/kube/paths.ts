import type { Kind, KubeObject, ListOptions, Ref } from './kube.ts';

/**
 * Returns a path such as `/apis/gx.dev/v1alpha1/namespaces/team/deployments/chat`. A namespaced kind without a
 * namespace means all of them.
 */
export function buildKubePath(kind: Kind, ref: Partial<Ref>, sub?: string): string {
  const root = kind.apiVersion.includes('/')
    ? `/apis/${kind.apiVersion}`
    : `/api/${kind.apiVersion}`;
  const inside =
    kind.namespaced && ref.namespace !== undefined ? ['namespaces', ref.namespace] : [];
  const parts = [
    ...inside,
    kind.plural,
    ...(ref.name === undefined ? [] : [ref.name]),
    ...(sub === undefined ? [] : [sub]),
  ];
  return `${root}/${parts.map(encodeURIComponent).join('/')}`;
}

/** Returns a query string of the values that are set, with its question mark, or an empty text. */
export function formatQuery(values: Record<string, string | number | boolean | undefined>): string {
  const set = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) set.set(name, String(value));
  return set.size === 0 ? '' : `?${set.toString()}`;
}

export const listQuery = ({
  labelSelector,
  fieldSelector,
  limit,
  continue: next,
  resourceVersion,
}: ListOptions): string =>
  formatQuery({ labelSelector, fieldSelector, limit, continue: next, resourceVersion });

/** Returns the reference by which an object is asked for. */
export const toRef = ({ metadata: { namespace, name } }: KubeObject): Ref => ({
  name,
  ...(namespace !== undefined && { namespace }),
});
