import type { KubeObject, ServiceAccountObject } from '../../kube/kube.ts';

type Named = { name: string };

/** Returns the names of the Secrets with which an account's pods pull images, each as a pod names it. */
export const listAccountSecrets = ({
  imagePullSecrets = [],
}: Pick<ServiceAccountObject, 'imagePullSecrets'>): Named[] =>
  imagePullSecrets.flatMap(({ name }) => (name ? [{ name }] : []));

/** Returns the function that looks up the Secrets of an account as last seen. */
export const buildAccountLookup =
  (accounts: { get: (key: string) => ServiceAccountObject | undefined }) =>
  (namespace: string, account: string): Named[] =>
    listAccountSecrets(accounts.get(`${namespace}/${account}`) ?? {});

/** Returns an account with only the parts that pods are made by. */
export function trimAccount(object: KubeObject): ServiceAccountObject {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    imagePullSecrets: listAccountSecrets(object as ServiceAccountObject),
  };
}
