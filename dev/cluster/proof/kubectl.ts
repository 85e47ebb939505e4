import type { Cluster } from '../provider.ts';
import { command } from '../commands.ts';
import { namespace } from './workloads.ts';

export type Kubectl = ReturnType<typeof kubectlOf>;

/** kubectl in the proof's namespace. */
export function kubectlOf(cluster: Cluster) {
  const run = (args: readonly string[], input = '') =>
    command(cluster.kubectl, ['--kubeconfig', cluster.kubeconfig, '-n', namespace, ...args], { input });
  return {
    run,
    apply: (items: readonly object[]) => run(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items })),
    rolledOut: (object: string) => run(['rollout', 'status', object, '--timeout=90s']),
    exec: (pod: string, script: string) => run(['exec', pod, '--', '/bin/sh', '-c', script]),
  };
}
