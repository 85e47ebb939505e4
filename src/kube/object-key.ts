/** `namespace/name`, or `name` for what has no namespace. */
export const keyOf = ({ namespace, name }: { namespace?: string | undefined; name: string }): string =>
  namespace === undefined ? name : `${namespace}/${name}`;
