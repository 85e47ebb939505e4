import type { Kind, KubeObject } from './kube.ts';

/** `namespace/name`, or `name` for an object without a namespace. */
export const buildObjectKey = ({
  namespace,
  name,
}: {
  namespace?: string | undefined;
  name: string;
}): string => (namespace === undefined ? name : `${namespace}/${name}`);

/** Returns a name that no other object of any kind has at the same time. */
export const buildObjectId = ({ apiVersion, kind, metadata }: KubeObject): string =>
  `${apiVersion} ${kind} ${buildObjectKey(metadata)}`;

/** Returns true if an object is of this kind. The name alone does not tell, because two kinds are named Deployment. */
export const isOfKind = (
  object: { apiVersion: string; kind: string },
  { apiVersion, kind }: Kind,
): boolean => object.kind === kind && object.apiVersion === apiVersion;
