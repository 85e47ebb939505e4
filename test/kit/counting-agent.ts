import { readFileSync } from 'node:fs';
import { Client } from '@langchain/langgraph-sdk';
import {
  fetchAgentKey,
  requireAgentUrl,
  call,
  waitForDeployment,
  type Api,
} from '../../dev/run/control-plane.ts';
import { kubectlFor } from './kubectl.ts';
import { until } from './until.ts';

const NAMESPACE = 'gx-agents';
const PAGE = 1000;

type Cluster = { kubectl: string; kubeconfig: string; image: string };
type Given = { resources?: object; rollout?: object; secrets?: Record<string, string> };
type Created = Awaited<ReturnType<typeof waitForDeployment>>;

export type CountingAgent = {
  id: string;
  url: string;
  key: string;
  client: Client;
  remove(): Promise<void>;
};

/** Puts a graph that counts where pods find it, as a volume in the place of the image's example: nothing is built. */
export async function putGraph(cluster: Cluster, name: string): Promise<void> {
  const data = {
    'graph.js': readFileSync(new URL('../system/counting/graph.js', import.meta.url), 'utf8'),
    'gx.json': JSON.stringify({ graphs: { counting: './graph.js:graph' } }),
    'package.json': JSON.stringify({ type: 'module' }),
  };
  await kubectlFor(cluster).apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: NAMESPACE },
    data,
  });
}

/** Deploys the graph that counts, with the cluster's own way to its agents, and waits until it answers. */
export async function deployCounting(
  cluster: Cluster & { api: Api },
  name: string,
  { resources, rollout, secrets = {} }: Given,
): Promise<CountingAgent> {
  const { api } = cluster;
  await putGraph(cluster, name);
  const created = await call<Created>(api, 'POST', '/v2/deployments', {
    name,
    source: 'external_container',
    source_config: {
      ...(rollout && { rollout }),
      resource_spec: {
        ...resources,
        volumes: [{ name: 'graph', configMap: { name } }],
        volume_mounts: [{ name: 'graph', mountPath: '/agent' }],
      },
    },
    source_revision_config: { image_uri: cluster.image },
    secrets: Object.entries(secrets).map(([secret, value]) => ({ name: secret, value })),
  });
  const url = requireAgentUrl(await waitForDeployment(api, created, () => undefined));
  await until('it answers', async () => (await fetch(`${url}/ok`)).ok);
  const key = await fetchAgentKey(api, created);
  return {
    id: created.id,
    url,
    key,
    client: new Client({ apiUrl: url, apiKey: key, callerOptions: { maxRetries: 0 } }),
    remove: () => call(api, 'DELETE', `/v2/deployments/${created.id}?delete_tracing_project=true`),
  };
}

/** One execution of a node, as the graph recorded it when it began. */
export type Mark = { round: string; node: string; revision: string };

/** Returns a mark for each time that a node was executed. */
export async function marks(client: Client): Promise<Mark[]> {
  // Marks that are left meanwhile move others to the next page, where they come once more.
  const found = new Map<string, Mark>();
  for (let offset = 0; ; offset += PAGE) {
    const { items } = await client.store.searchItems(['executions'], { limit: PAGE, offset });
    for (const { key, namespace, value } of items)
      found.set(key, {
        round: String(namespace[1]),
        node: String(value['node']),
        revision: String(value['revision']),
      });
    if (items.length < PAGE) return [...found.values()];
  }
}

/** Returns how often each node was executed, by round: `{ quick-1: ['first', 'second'] }`. */
export async function executions(client: Client): Promise<Record<string, string[]>> {
  const rounds = Map.groupBy(await marks(client), ({ round }) => round);
  return Object.fromEntries(
    [...rounds].map(([round, own]) => [round, own.map(({ node }) => node).toSorted()]),
  );
}

/** Makes this many runs that take their time, and returns their rounds. */
export async function makeRuns(
  client: Client,
  count: number,
  milliseconds: number,
): Promise<string[]> {
  const rounds = Array.from({ length: count }, (_, at) => `slow-${at + 1}`);
  await Promise.all(
    rounds.map((round) => client.runs.create(null, 'counting', { input: { round, milliseconds } })),
  );
  return rounds;
}

/** Follows how many queue pods a deployment asks for, until it is stopped; returns the numbers as they changed. */
export function followQueue(
  cluster: Cluster,
  name: string,
): { sizes: number[]; stop: () => Promise<number[]> } {
  const kubectl = kubectlFor(cluster);
  const sizes: number[] = [];
  const stopping = new AbortController();
  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { status } = await kubectl.json<{ status?: { queueReplicas?: number } }>(
        'get',
        'gxd',
        name,
        '-n',
        NAMESPACE,
      );
      const size = status?.queueReplicas;
      if (size !== undefined && sizes.at(-1) !== size) sizes.push(size);
    }
  };
  const done = follow();
  return { sizes, stop: () => (stopping.abort(), done.then(() => sizes)) };
}
