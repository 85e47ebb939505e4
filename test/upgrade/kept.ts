import type { Kubectl } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

const AGENTS = 'gx-agents';

type Pod = {
  metadata: {
    name: string;
    uid: string;
    deletionTimestamp?: string;
    labels: Record<string, string>;
  };
  status: { containerStatuses?: { name: string; restartCount: number; image: string }[] };
};

const podsOf = async (kubectl: Kubectl, namespace: string): Promise<Pod[]> =>
  (await kubectl.json<{ items: Pod[] }>('get', 'pods', '-n', namespace)).items;

/** Returns each pod of some deployments with its identity, and the restarts of its containers. */
export async function keptPods(
  kubectl: Kubectl,
  deployments: readonly string[],
): Promise<string[]> {
  const own = (await podsOf(kubectl, AGENTS)).filter(({ metadata }) =>
    deployments.includes(metadata.labels['gx.dev/deployment'] ?? ''),
  );
  return own
    .map(({ metadata: { name, uid, deletionTimestamp }, status: { containerStatuses = [] } }) => {
      const restarts = containerStatuses.map((one) => `${one.name} ${one.restartCount}`).toSorted();
      return [name, uid, ...restarts, ...(deletionTimestamp === undefined ? [] : ['goes'])].join(
        ' ',
      );
    })
    .toSorted();
}

/** Waits until all pods of the platform run this image. */
export const platformRuns = (kubectl: Kubectl, image: string): Promise<unknown> =>
  until(`the platform runs ${image}`, async () => {
    const pods = await podsOf(kubectl, 'gx-system');
    const images = new Set(
      pods.flatMap(({ status }) => (status.containerStatuses ?? []).map((one) => one.image)),
    );
    if (images.size === 1 && images.has(image)) return true;
    throw new Error([...images].join(', '));
  });

/** Waits until the operator that works now has looked at each of these deployments, and all of them are ready. */
export async function lookedAt(kubectl: Kubectl, deployments: readonly string[]): Promise<void> {
  const request = new Date().toISOString();
  await kubectl(
    'annotate',
    '--overwrite',
    'gxd',
    ...deployments,
    '-n',
    AGENTS,
    `gx.dev/reconcile-requested-at=${request}`,
  );
  type Looked = {
    status?: { lastHandledReconcileAt?: string; conditions?: { type: string; status: string }[] };
  };
  for (const name of deployments)
    await until(`the operator has looked at ${name}`, async () => {
      const { status } = await kubectl.json<Looked>('get', 'gxd', name, '-n', AGENTS);
      const isReady =
        status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ??
        false;
      if (status?.lastHandledReconcileAt === request && isReady) return true;
      throw new Error(JSON.stringify(status));
    });
}
