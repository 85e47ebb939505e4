import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import type { Kubectl } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

/* SIGKILL for containers whose node is this machine, as the kernel sends it where memory is short. */

/** Milliseconds between two looks. Each is a process of its own. */
const LOOK = 500;

type Container = { containerID?: string; ready: boolean };
type Pod = { metadata: { name: string }; status: { containerStatuses?: Container[] } };

/** Returns the ids of this machine's processes that a container holds. Its cgroup is named after it. */
function processesOf(id: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => cgroupOf(pid).includes(id))
    .map(Number);
}

function cgroupOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  } catch {
    return '';
  }
}

const containersOf = ({ status }: Pod): Container[] => status.containerStatuses ?? [];

async function podsWith(kubectl: Kubectl, namespace: string, prefix: string): Promise<Pod[]> {
  const { items } = await kubectl.json<{ items: Pod[] }>('get', 'pods', '-n', namespace);
  return items.filter(({ metadata }) => metadata.name.startsWith(prefix));
}

/** Kills every process of the pods at once, and returns the ids of their containers. */
function killAllOf(called: string, pods: Pod[]): string[] {
  const running = pods.flatMap(containersOf).flatMap(({ containerID }) => containerID ?? []);
  const victims = running.flatMap((id) => processesOf(id.replace(/^\w+:\/\//, '')));
  if (victims.length === 0) throw new Error(`no process of ${called} runs on this machine`);
  for (const pid of victims) kill(pid);
  return running;
}

/** Kills each container of the pods with this name or prefix. Settles when others are ready in their place. */
export async function killContainers(
  kubectl: Kubectl,
  namespace: string,
  prefix: string,
): Promise<void> {
  const running = killAllOf(prefix, await podsWith(kubectl, namespace, prefix));
  await until(
    `${prefix} is back`,
    async () => {
      await wait(LOOK);
      const now = (await podsWith(kubectl, namespace, prefix)).flatMap(containersOf);
      return (
        now.length > 0 &&
        now.every(({ ready, containerID }) => ready && !running.includes(containerID ?? ''))
      );
    },
    240,
  );
}

/**
 * Kills pods with this prefix as the death of a node does: all of their processes at once, and other pods take their
 * place. A container that is killed in its place again and again looks like one that crashes.
 */
export async function killPods(kubectl: Kubectl, namespace: string, prefix: string): Promise<void> {
  const pods = await podsWith(kubectl, namespace, prefix);
  killAllOf(prefix, pods);
  const names = pods.map(({ metadata }) => metadata.name);
  await kubectl(
    'delete',
    'pod',
    ...names,
    '-n',
    namespace,
    '--force',
    '--grace-period=0',
    '--wait=false',
  );
  await until(
    `others are ready instead of ${names.join(', ')}`,
    async () => {
      await wait(LOOK);
      const others = (await podsWith(kubectl, namespace, prefix)).filter(
        ({ metadata }) => !names.includes(metadata.name),
      );
      const containers = others.flatMap(containersOf);
      return containers.length > 0 && containers.every(({ ready }) => ready);
    },
    240,
  );
}

/** The first process takes all others of its container with it. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
