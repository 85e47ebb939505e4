import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from '@langchain/langgraph-sdk';
import {
  fetchAgentKey,
  requireAgentUrl,
  call,
  waitForDeployment,
  type Api,
} from '../../dev/run/control-plane.ts';
import {
  createAuthority,
  createCertificate,
} from '../../src/operator/database/own/tls/certificate.ts';
import { addressToward } from '../kit/address.ts';
import type { SystemUnderTest } from '../kit/cluster-global.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../kit/s3-server.ts';
import { until } from '../kit/until.ts';

export const NAMESPACE = 'gx-agents';
export const TARGET = 'main';
/** Services of pods have names; the store beside them gets one, which its certificate has. */
const STORE = 'backup-store';
const SECRET = 'gx-backups';

export type Store = S3Server & { remove(): Promise<void> };

/** Starts an S3 server with TLS that pods reach by a name, and makes it a target of the installation. */
export async function startStore(system: SystemUnderTest): Promise<Store> {
  const kubectl = kubectlFor(system);
  const name = `${STORE}.${NAMESPACE}.svc.cluster.local`;
  const making = { now: new Date(), random: randomBytes };
  const authority = createAuthority('authority of the store', making);
  const address = await addressToward(new URL(system.controlPlane).hostname);
  const server = await startS3Server({
    address,
    tls: createCertificate(authority, [name], making),
  });
  const port = Number(new URL(server.target.endpoint).port);
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: STORE, namespace: NAMESPACE },
        spec: { clusterIP: 'None', ports: [{ name: 'https', port }] },
      },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: STORE,
          namespace: NAMESPACE,
          labels: { 'kubernetes.io/service-name': STORE },
        },
        addressType: 'IPv4',
        ports: [{ name: 'https', port }],
        endpoints: [{ addresses: [address] }],
      },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: SECRET, namespace: NAMESPACE },
        stringData: S3_KEYS,
      },
    ],
  });
  const target = {
    ...server.target,
    endpoint: `https://${name}:${port}`,
    name: TARGET,
    secretName: SECRET,
    ca: authority.certificate,
  };
  await setTargets(kubectl, [target]);
  return {
    ...server,
    target,
    remove: async () => {
      await setTargets(kubectl, undefined);
      await kubectl(
        'delete',
        `service/${STORE}`,
        `endpointslice/${STORE}`,
        `secret/${SECRET}`,
        '-n',
        NAMESPACE,
      );
      await server.stop();
    },
  };
}

/** Gives the installation these targets of backups. Undefined: none any more. */
export async function setTargets(
  kubectl: Kubectl,
  targets: readonly object[] | undefined,
): Promise<void> {
  const change = targets === undefined ? '-' : `=${JSON.stringify(targets)}`;
  await kubectl(
    'set',
    'env',
    'deploy/gx-operator',
    '-n',
    'gx-system',
    `GX_BACKUP_TARGETS${change}`,
  );
  await kubectl('rollout', 'status', 'deploy/gx-operator', '-n', 'gx-system', '--timeout=180s');
}

type Created = Awaited<ReturnType<typeof waitForDeployment>>;
export type Agent = { id: string; name: string; url: string; client: Client };

/** Puts the graphs of this test where pods find them, as a volume in the place of the image's example. */
export async function putGraphs(kubectl: Kubectl, name: string): Promise<void> {
  const data = {
    'graph.js': readFileSync(new URL('graph.js', import.meta.url), 'utf8'),
    'gx.json': JSON.stringify({
      graphs: { asking: './graph.js:asking', stepping: './graph.js:stepping' },
    }),
    'package.json': JSON.stringify({ type: 'module' }),
  };
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: NAMESPACE },
    data,
  });
}

type Asked = {
  name: string;
  graphs: string;
  encryptionKey: string;
  database?: object;
  backup?: object;
};

/** Deploys the graphs by REST, and waits until they answer. */
export async function deploy(
  system: SystemUnderTest,
  { name, graphs, encryptionKey, database, backup }: Asked,
): Promise<Agent> {
  const api: Api = { url: system.controlPlane, key: system.key };
  const created = await call<Created>(api, 'POST', '/v2/deployments', {
    name,
    source: 'external_container',
    source_config: {
      resource_spec: {
        volumes: [{ name: 'graph', configMap: { name: graphs } }],
        volume_mounts: [{ name: 'graph', mountPath: '/agent' }],
      },
      ...(backup && { database_backup: backup }),
    },
    source_revision_config: { image_uri: system.image },
    secrets: [{ name: 'GX_AES_KEY', value: encryptionKey }],
    ...(database && { database }),
  });
  const url = requireAgentUrl(await waitForDeployment(api, created, () => undefined));
  await until('it answers', async () => (await fetch(`${url}/ok`)).ok);
  const key = await fetchAgentKey(api, created);
  return {
    id: created.id,
    name,
    url,
    client: new Client({ apiUrl: url, apiKey: key, callerOptions: { maxRetries: 0 } }),
  };
}

export type Mark = { round: string; node: string; at: string };

/** Returns the mark of each time that a node was executed. */
export async function marksOf({ client }: Pick<Agent, 'client'>): Promise<Mark[]> {
  const { items } = await client.store.searchItems(['executions'], { limit: 1000 });
  return items.map(({ namespace, value }) => ({
    round: String(namespace[1]),
    node: String(value.node),
    at: String(value.at),
  }));
}
