import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { inject } from 'vitest';
import { ensureParts } from '../../dev/cluster/parts.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject } from '../../src/kube/kube.ts';
import { buildCrd } from '../../src/schema/platform/resources/crd.ts';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import { kill, leashed } from './leash.ts';
import { until } from './until.ts';

/*
 * A real API server for tests: etcd and kube-apiserver, with the controllers that make workloads into pods and collect
 * garbage.
 * There is no scheduler and no kubelet: pods stay as the API server stored them until `fake-kubelet.ts`, a double, sets
 * their status.
 */

export type ApiServer = {
  kubeconfig: string;
  /** The file of the audit log: one line of JSON for each answered request of a client. */
  auditLog: string;
  /** The address of its etcd. */
  etcd: string;
  port: number;
  /** Kills the API server with SIGKILL. etcd keeps running. */
  kill(): Promise<void>;
  /** Starts the API server again, on the same port, with the same data. */
  restart(): Promise<void>;
  /** Forgets all but the newest revision of every object, so that older resource versions are gone (410). */
  compact(): Promise<void>;
  stop(): Promise<void>;
};

const CONTROLLERS = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'job-controller',
  'disruption-controller',
  'horizontal-pod-autoscaler-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'resourcequota-controller',
  'endpointslice-controller',
  'persistentvolumeclaim-protection-controller',
  'clusterrole-aggregation-controller',
];

/**
 * Whose requests the audit log has: only those of clients, also those of Kubernetes' own parts, or none, which is
 * Kubernetes' default.
 */
export type Audit = 'clients' | 'everyone' | 'nobody';

const auditPolicy = (audit: Audit): string => `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
${audit === 'clients' ? '- {level: None, users: ["system:apiserver", "system:kube-controller-manager"]}' : ''}
- {level: ${audit === 'nobody' ? 'None' : 'Metadata'}}
`;

type Tools = Record<string, string>;
type Place = { dir: string; ports: { etcd: number; peer: number; api: number }; tools: Tools };

/**
 * `limited` gives each of Kubernetes' controllers its default limit of 20 requests a second instead of the 200 for
 * tests.
 */
type Options = {
  controllers?: boolean;
  limited?: boolean;
  audit?: Audit;
  /** False where the chart is to bring the definitions. */
  definitions?: boolean;
};

export async function startApiServer(options: Options = {}): Promise<ApiServer> {
  const tools = await ensureParts(['kube']);
  const { place, kube, etcd, ...begun } = await begin(tools, options.audit ?? 'clients');
  let { apiServer } = begun;
  if (options.definitions !== false) await installDefinitions(kube);
  const hasControllers = options.controllers !== false;
  const control = (): Promise<ChildProcess> => startControllers(place, kube, options.limited);
  let controllers = hasControllers ? await control() : undefined;
  return {
    kubeconfig: kubeconfigIn(place),
    auditLog: join(place.dir, 'audit.log'),
    etcd: `http://127.0.0.1:${place.ports.etcd}`,
    port: place.ports.api,
    kill: () => kill(apiServer),
    restart: async () => {
      apiServer = run(place, 'kube-apiserver', apiServerFlags(place));
      await until('the API server answers', () => doesAnswer(kube));
      if (!hasControllers) return;
      // The controllers stop too, because their back-off would otherwise be part of what a test measures after the
      // outage.
      if (controllers !== undefined) await kill(controllers);
      controllers = await control();
    },
    compact: () => compact(place.ports.etcd),
    stop: async () => {
      await kube.close();
      for (const child of [controllers, apiServer, etcd])
        if (child !== undefined) await kill(child);
      await rm(place.dir, { recursive: true, force: true });
    },
  };
}

type Begun = { place: Place; kube: Kube; etcd: ChildProcess; apiServer: ChildProcess };

const kubeconfigIn = ({ dir }: Place): string => join(dir, 'admin.kubeconfig');

/**
 * Starts etcd and an API server, and waits for an answer. If another process has just taken one of the free ports, uses
 * others.
 */
async function begin(tools: Tools, audit: Audit, tries = 3): Promise<Begun> {
  const dir = mkdtempSync(join(tmpdir(), 'gx-api-server-'));
  const [etcdPort, peer, api] = (await freePorts(3)) as [number, number, number];
  const place: Place = { dir, tools, ports: { etcd: etcdPort, peer, api } };
  makeFiles(place, audit);
  const [etcd, apiServer] = [
    run(place, 'etcd', etcdFlags(place)),
    run(place, 'kube-apiserver', apiServerFlags(place)),
  ];
  const kube = await connect({
    fieldManager: 'test',
    userAgent: 'test-kit',
    kubeconfig: kubeconfigIn(place),
  });
  const over = new AbortController();
  for (const child of [etcd, apiServer]) child.once('exit', () => over.abort());
  await until(
    'the API server answers, or gives up',
    async () => over.signal.aborted || doesAnswer(kube, over.signal),
  );
  if (!over.signal.aborted) return { place, kube, etcd, apiServer };
  await kube.close();
  await Promise.all([etcd, apiServer].map(kill));
  if (tries === 1)
    throw new Error(`etcd or the API server ended before it answered; see its log in ${dir}`);
  await rm(dir, { recursive: true, force: true });
  return begin(tools, audit, tries - 1);
}

function makeFiles({ dir, tools, ports }: Place, audit: Audit): void {
  const address = [
    '--node-address=127.0.0.1',
    '--service-address=10.0.0.1',
    '--node-name=test',
    '--cluster=test',
  ];
  execFileSync(tools['cluster-pki'] as string, [`--dir=${dir}`, ...address]);
  for (const user of ['admin', 'controller-manager']) {
    const path = join(dir, `${user}.kubeconfig`);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace('127.0.0.1:6443', `127.0.0.1:${ports.api}`),
    );
  }
  writeFileSync(join(dir, 'audit-policy.yaml'), auditPolicy(audit));
}

const flags = (values: Record<string, string | number | boolean>): string[] =>
  Object.entries(values).map(([name, value]) => `--${name}=${String(value)}`);

const etcdFlags = ({ dir, ports }: Place): string[] =>
  flags({
    'data-dir': join(dir, 'etcd'),
    'listen-client-urls': `http://127.0.0.1:${ports.etcd}`,
    'advertise-client-urls': `http://127.0.0.1:${ports.etcd}`,
    'listen-peer-urls': `http://127.0.0.1:${ports.peer}`,
    'unsafe-no-fsync': true,
    'log-level': 'error',
  });

const apiServerFlags = ({ dir, ports }: Place): string[] =>
  flags({
    'etcd-servers': `http://127.0.0.1:${ports.etcd}`,
    'secure-port': ports.api,
    'bind-address': '127.0.0.1',
    'advertise-address': '127.0.0.1',
    'endpoint-reconciler-type': 'none',
    'authorization-mode': 'RBAC',
    'client-ca-file': join(dir, 'ca.crt'),
    'tls-cert-file': join(dir, 'apiserver.crt'),
    'tls-private-key-file': join(dir, 'apiserver.key'),
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': join(dir, 'service-account.key'),
    'service-account-signing-key-file': join(dir, 'service-account.key'),
    'service-cluster-ip-range': '10.0.0.0/16',
    // Pods of tests need no token, and would wait for the default account. Pod security decides about pods, as in any
    // cluster.
    'allow-privileged': true,
    'disable-admission-plugins': 'ServiceAccount',
    'audit-policy-file': join(dir, 'audit-policy.yaml'),
    'audit-log-path': join(dir, 'audit.log'),
    'audit-log-mode': 'blocking',
    'shutdown-delay-duration': '0s',
    profiling: false,
  });

async function startControllers(place: Place, kube: Kube, limited = false): Promise<ChildProcess> {
  await rolesThere(kube);
  const kubeconfig = join(place.dir, 'controller-manager.kubeconfig');
  return run(
    place,
    'kube-controller-manager',
    flags({
      kubeconfig,
      'authentication-kubeconfig': kubeconfig,
      'authorization-kubeconfig': kubeconfig,
      controllers: CONTROLLERS.join(','),
      'leader-elect': false,
      'horizontal-pod-autoscaler-sync-period': '1s',
      'secure-port': 0,
      ...(!limited && { 'kube-api-qps': 200, 'kube-api-burst': 400 }),
      'use-service-account-credentials': false,
    }),
  );
}

/** Waits for the roles, because a controller manager that starts before its role exists exits. */
async function rolesThere(kube: Kube): Promise<void> {
  const role: Kind = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    plural: 'clusterroles',
    namespaced: false,
  };
  const binding: Kind = { ...role, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings' };
  const admin = {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'User',
    name: 'system:kube-controller-manager',
  };
  await until('the bootstrap roles are there', async () =>
    (await kube.list(role)).items.some(({ metadata }) => metadata.name === 'cluster-admin'),
  );
  // All controllers of the test have one identity. In a cluster each has an account of its own.
  await kube.apply(binding, {
    apiVersion: binding.apiVersion,
    kind: binding.kind,
    metadata: { name: 'test-controllers' },
    roleRef: { apiGroup: admin.apiGroup, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [admin],
  });
}

const run = ({ dir, tools }: Place, tool: string, args: string[]): ChildProcess =>
  leashed(tools[tool] as string, args, join(dir, `${tool}.log`));

const doesAnswer = async (kube: Kube, signal?: AbortSignal): Promise<boolean> =>
  (await kube.list(kinds.namespace, {}, signal)).items.length > 0;

async function installDefinitions(kube: Kube): Promise<void> {
  const kind = kinds.customResourceDefinition;
  const definitions = KINDS.map((known) => buildCrd(known) as KubeObject);
  await Promise.all(definitions.map((definition) => kube.apply(kind, definition)));
  const ready = (definition: KubeObject): boolean =>
    conditionOf(definition, 'Established') === 'True';
  await until('the custom resources are established', async () => {
    const live = await Promise.all(
      definitions.map(({ metadata }) => kube.get(kind, { name: metadata.name })),
    );
    return live.every(ready);
  });
}

export const conditionOf = (object: object, type: string): string | undefined => {
  const { status } = object as { status?: { conditions?: { type: string; status: string }[] } };
  return status?.conditions?.find((condition) => condition.type === type)?.status;
};

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/**
 * Compacts etcd by its JSON gateway. It does so twice, because the API server's watch cache still serves the last few
 * seconds from memory.
 */
async function compact(port: number): Promise<void> {
  const ask = async (path: string, body: object): Promise<{ header: { revision: string } }> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return (await answer.json()) as { header: { revision: string } };
  };
  const { header } = await ask('/v3/kv/range', { key: Buffer.from('\0').toString('base64') });
  await ask('/v3/kv/compaction', { revision: header.revision, physical: true });
}

/** Makes a namespace for a test file, on the server that the run shares unless another is given. */
export async function testNamespace(
  name: string,
  kubeconfig = inject('kubeconfig'),
): Promise<{ kube: Kube; namespace: string; kubeconfig: string }> {
  const kube = await connect({ fieldManager: 'test', userAgent: `test/${name}`, kubeconfig });
  const namespace = `${name}-${Math.random().toString(36).slice(2, 8)}`;
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  return { kube, namespace, kubeconfig };
}
