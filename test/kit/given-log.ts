import type { Kube } from '../../src/kube/kube.ts';

/**
 * Returns a client with given logs of pods, because there is no kubelet that has them. It is not fenced, because a
 * fence would have logs of its own.
 */
export function withLog(kube: Kube, lines: string): Kube {
  const given: Record<PropertyKey, unknown> = {
    readPodLog: () => Promise.resolve(lines),
    buildFenced: () => undefined,
  };
  return new Proxy(kube, { get: (target, key) => given[key] ?? bound(target, key) });
}

const bound = (target: object, key: PropertyKey): unknown => {
  const value: unknown = Reflect.get(target, key);
  return typeof value === 'function' ? (value.bind(target) as unknown) : value;
};
