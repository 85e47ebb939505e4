import { Client } from '@langchain/langgraph-sdk';
import { fetchAgentKey, call, type Api } from '../../dev/run/control-plane.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { executions, putGraph } from '../kit/counting-agent.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { commandOf, runInShell } from '../kit/page-commands.ts';
import { prober } from '../kit/prober.ts';
import { until } from '../kit/until.ts';

const PAGE = 'docs/how-to/cloudnative-pg.md';
/** Seconds that runs may wait for each other after the load. */
const PATIENCE = 200;
/** The deployment and its namespace, as the page names them. */
const NAME = 'orders';
export const NAMESPACE = 'gx-agents';

/** A block of the page's commands, typed as it stands. Fails with its output. */
export async function typed(system: SystemUnderTest, words: string): Promise<void> {
  const variables = { NAMESPACE, IMAGE: system.image };
  const { code, output } = await runInShell(commandOf(PAGE, words), system, {
    cwd: process.cwd(),
    variables,
  });
  if (code !== 0) throw new Error(output);
}

/** Deploys the page's deployment, with a graph that counts how often each of its steps is executed. */
export async function deployOrders(system: SystemUnderTest): Promise<Client> {
  const kubectl = kubectlFor(system);
  const api: Api = { url: system.controlPlane, key: system.key };
  await putGraph(system, NAME);
  const resourceSpec = {
    volumes: [{ name: 'graph', configMap: { name: NAME } }],
    volumeMounts: [{ name: 'graph', mountPath: '/agent' }],
  };
  await kubectl.apply({
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Deployment',
    metadata: { name: NAME, namespace: NAMESPACE },
    spec: {
      source: 'external_container',
      template: { sourceRevisionConfig: { imageUri: system.image }, resourceSpec },
      database: { external: { secretName: 'orders-db-app' } },
    },
  });
  await kubectl('wait', `gxd/${NAME}`, '-n', NAMESPACE, '--for=condition=Ready', '--timeout=240s');
  type Deployed = { metadata: { uid: string }; status: { url: string } };
  const { metadata, status } = await kubectl.json<Deployed>('get', 'gxd', NAME, '-n', NAMESPACE);
  const { id } = await call<{ id: string }>(api, 'GET', `/v2/deployments/${metadata.uid}`);
  await until('it answers', async () => (await fetch(`${status.url}/ok`)).ok);
  return new Client({
    apiUrl: status.url,
    apiKey: await fetchAgentKey(api, { id }),
    callerOptions: { maxRetries: 0 },
  });
}

/** Returns the addresses of the database that the ready pods of the agents have, by the version of their Secret. */
async function addresses(system: SystemUnderTest): Promise<string[]> {
  type Pod = { metadata: { annotations?: Record<string, string>; deletionTimestamp?: string } };
  const labels = `gx.dev/deployment=${NAME},gx.dev/component in (api,queue)`;
  const { items } = await kubectlFor(system).json<{ items: Pod[] }>(
    'get',
    'pods',
    '-n',
    NAMESPACE,
    '-l',
    labels,
  );
  return [
    ...new Set(
      items.map(({ metadata }) => metadata.annotations?.['gx.dev/database-address'] ?? ''),
    ),
  ];
}

type Rotated = {
  accepted: string[];
  refused: string[];
  executed: Record<string, string[]>;
  seconds: number;
};

/** Changes the password by the page's commands while runs begin and go on. Returns what became of each. */
export async function rotateUnderLoad(system: SystemUnderTest, client: Client): Promise<Rotated> {
  const accepted: string[] = [];
  const load = prober(async (number) => {
    const round = `round-${number}`;
    await client.runs.create(null, 'counting', {
      input: { round, milliseconds: number % 4 === 0 ? 3000 : 10 },
    });
    accepted.push(round);
  }, 400);
  await until('runs begin', () => accepted.length > 20);
  const [before] = await addresses(system);
  const began = performance.now();
  await typed(system, 'kubectl -n $NAMESPACE delete secret');
  await until('all pods have the other address', async () => {
    const found = await addresses(system);
    return found.length === 1 && found[0] !== before;
  });
  const seconds = Math.round((performance.now() - began) / 1000);
  const count = accepted.length;
  await until('runs begin with the other password', () => accepted.length > count + 20);
  const { failures: refused } = await load.stop();
  const executed = await until(
    'all that were accepted are over',
    async () => {
      const found = await executions(client);
      return accepted.every((round) => found[round]?.includes('second')) && found;
    },
    PATIENCE,
  );
  return { accepted, refused, executed, seconds };
}
