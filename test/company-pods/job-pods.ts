import { setTimeout as wait } from 'node:timers/promises';
import type { Kubectl } from '../kit/kubectl.ts';

/** Milliseconds between two looks: pods of the shortest Job are there for some seconds. */
const LOOK_MS = 1500;

export type JobPod = { component: string; pod: string; containers: string[] };

/** What was seen of the pods of Jobs since the watch began. */
export type JobPods = {
  /** Returns each pod once, the first first. */
  seen(): JobPod[];
  /** Returns the Jobs that are there now. */
  left(): Promise<string[]>;
  stop(): Promise<void>;
};

type Pods = {
  items: {
    metadata: { name: string; labels: Record<string, string> };
    spec: { containers: { name: string }[]; initContainers?: { name: string }[] };
  }[];
};

/** Looks at the pods of Jobs of some namespaces again and again, because they are removed when they have ended. */
export function watchJobPods(kubectl: Kubectl, namespaces: readonly string[]): JobPods {
  const pods = new Map<string, JobPod>();
  const over = new AbortController();
  const look = async (namespace: string): Promise<void> => {
    const { items } = await kubectl.json<Pods>(
      'get',
      'pods',
      '-n',
      namespace,
      '-l',
      'batch.kubernetes.io/job-name,gx.dev/component',
    );
    for (const { metadata, spec } of items) {
      const containers = [...(spec.initContainers ?? []), ...spec.containers].map(
        ({ name }) => name,
      );
      pods.set(metadata.name, {
        component: metadata.labels['gx.dev/component'] ?? '',
        pod: metadata.name,
        containers,
      });
    }
  };
  const watching = (async () => {
    while (!over.signal.aborted) {
      for (const namespace of namespaces) await look(namespace).catch(() => undefined);
      await wait(LOOK_MS);
    }
  })();
  return {
    seen: () => [...pods.values()],
    left: async () => {
      const listed = await Promise.all(
        namespaces.map((namespace) => kubectl('get', 'jobs', '-n', namespace, '-o', 'name')),
      );
      return listed.flatMap((text) => text.split('\n').filter(Boolean));
    },
    stop: async () => {
      over.abort();
      await watching;
    },
  };
}
