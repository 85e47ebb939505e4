import type { Kube } from '../../src/kube/kube.ts';

/**
 * A door whose pods' logs are given, where there is no kubelet that has them; it is behind no fence, which would have
 * its own.
 */
export function withLog(kube: Kube, lines: string): Kube {
  const given: Record<PropertyKey, unknown> = { podLog: () => Promise.resolve(lines), fenced: () => undefined };
  return new Proxy(kube, { get: (target, key) => given[key] ?? bound(target, key) });
}

const bound = (target: object, key: PropertyKey): unknown => {
  const value: unknown = Reflect.get(target, key);
  return typeof value === 'function' ? (value.bind(target) as unknown) : value;
};
