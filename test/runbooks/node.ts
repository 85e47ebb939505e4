import { runProcess } from '../../dev/commands.ts';
import { listChildProcesses, readRecord } from '../../dev/cluster/native/record.ts';

/* The node of the native cluster, which is a process of this machine with namespaces of its own. */

/** Returns the first process in the namespaces of the node. */
export function innerProcessOf(cluster: string): number {
  const outer = readRecord(cluster)?.process;
  const [inner] = outer === undefined ? [] : listChildProcesses(outer.pid);
  if (inner === undefined) throw new Error(`The cluster ${cluster} has no node on this machine.`);
  return inner;
}

/** Runs a command among the mounts and the network of the node, as an administrator who is logged in there. */
export const onNode = (cluster: string, ...args: string[]): Promise<string> =>
  runProcess('nsenter', [
    '--target',
    String(innerProcessOf(cluster)),
    '--mount',
    '--net',
    '--',
    ...args,
  ]);
