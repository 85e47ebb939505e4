import { setTimeout as wait } from 'node:timers/promises';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { isRolledOut, isSetUp } from '../../../src/operator/pods/workload-state.ts';
import { familyOf, kindOf } from './family.ts';

/*
 * What Kubernetes itself needs on this machine: a client that waits for nothing sends the same children, until all
 * their pods are ready. There is no REST API, no custom resource, no status of ours and no order.
 */

const AT_ONCE = 10;

/** Returns the milliseconds until the pods of so many deployments, spread over the namespaces, are ready. */
export async function withoutOperator(
  kube: Kube,
  namespaces: string[],
  count: number,
): Promise<number> {
  const families = Array.from(
    { length: count },
    (_, index) =>
      familyOf(`floor-${index}`, namespaces[index % namespaces.length] as string).children,
  );
  const started = performance.now();
  const work = async (): Promise<void> => {
    for (let next = families.pop(); next !== undefined; next = families.pop())
      for (const child of next) await kube.apply(kindOf(child), child);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  while (!(await isUp(kube))) await wait(500);
  return performance.now() - started;
}

async function isUp(kube: Kube): Promise<boolean> {
  const [workloads, sets] = await Promise.all([
    kube.listAll(kinds.workload),
    kube.listAll(kinds.statefulSet),
  ]);
  return workloads.every(isRolledOut) && sets.every(isSetUp);
}
