import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { kubectlFor } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';
import { PrometheusInPod, type ScrapedPod } from './prometheus-in-pod.ts';

/* Who reaches an agent, and whom an agent reaches, by connections between real pods. */

const system = inject('system');
const kubectl = kubectlFor(system);
const AGENTS = 'gx-agents';
const STRANGERS = 'strangers';
const name = `closed-${Date.now().toString(36).slice(-5)}`;
const agent = [`deploy/${name}-00001-api`, AGENTS];
const neighbour = [`pod/${name}`, AGENTS];
const stranger = [`pod/${name}`, STRANGERS];

const AGENT = `${name}-agent.${AGENTS}.svc.cluster.local 80`;
const API_SERVER = 'kubernetes.default.svc.cluster.local 443';
const CONTROL_PLANE = 'gx-control-plane.gx-system.svc.cluster.local 80';
/** Where clouds have their metadata. On the node of the native cluster, its API server answers there too. */
const METADATA = '169.254.169.254 6443';

const SCRIPT = `const [host, port] = process.argv.slice(1);
  const socket = require('node:net').connect({ host, port: Number(port), timeout: 3000 });
  const say = (word) => { console.log(word); process.exit(); };
  socket.on('connect', () => say('open')).on('timeout', () => say('closed')).on('error', (error) => say(error.syscall === 'connect' ? 'closed' : error.message));`;

/** Returns whether a connection from a pod to a host and port is open or closed. */
async function reach([pod = '', namespace = '']: string[], address: string): Promise<string> {
  return (
    await kubectl(
      'exec',
      pod,
      '--namespace',
      namespace,
      '--',
      'node',
      '-e',
      SCRIPT,
      ...address.split(' '),
    )
  ).trim();
}

const restricted = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  runAsUser: 10_001,
  capabilities: { drop: ['ALL'] },
};
const pod = (namespace: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace },
  spec: {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'idle',
        image: system.image,
        command: ['node', '-e', 'setInterval(() => {}, 1e6)'],
        securityContext: restricted,
      },
    ],
  },
});

/** Services have node ports here, which open agents to all, so the deployment says otherwise. */
const deployment = (network: object): object => ({
  apiVersion: 'gx.dev/v1alpha1',
  kind: 'Deployment',
  metadata: { name, namespace: AGENTS },
  spec: {
    source: 'external_container',
    deletionPolicy: 'Delete',
    network,
    template: { sourceRevisionConfig: { imageUri: system.image } },
  },
});

beforeAll(async () => {
  await kubectl.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: STRANGERS } });
  await kubectl.apply(deployment({ ingress: 'Namespace' }));
  for (const namespace of [AGENTS, STRANGERS]) await kubectl.apply(pod(namespace));
  for (const namespace of [AGENTS, STRANGERS])
    await kubectl(
      'wait',
      `pod/${name}`,
      '--namespace',
      namespace,
      '--for=condition=Ready',
      '--timeout=120s',
    );
  await kubectl(
    'wait',
    `gxd/${name}`,
    '--namespace',
    AGENTS,
    '--for=condition=Ready',
    '--timeout=180s',
  );
});
afterAll(async () => {
  await kubectl('delete', 'namespace', STRANGERS, '--wait=false');
  await kubectl('delete', 'pod', name, '--namespace', AGENTS, '--wait=false');
  await kubectl('delete', 'gxd', name, '--namespace', AGENTS, '--wait=true', '--timeout=120s');
});

test('a pod of another namespace does not reach an agent until its namespace is a gateway; one of the same does', async () => {
  expect(await reach(stranger, AGENT)).toBe('closed');
  expect(await reach(neighbour, AGENT)).toBe('open');
  await kubectl('label', 'namespace', STRANGERS, 'gx.dev/gateway=true');
  await until('the gateway reaches it', async () => (await reach(stranger, AGENT)) === 'open');
  await kubectl('label', 'namespace', STRANGERS, 'gx.dev/gateway-');
  await until('it is no gateway any more', async () => (await reach(stranger, AGENT)) === 'closed');
});

type PodList = {
  items: {
    metadata: { name: string; labels: Record<string, string> };
    spec: { containers: { ports?: { name?: string; containerPort: number }[] }[] };
    status: { podIP: string };
  }[];
};

/** Returns the addresses of the metrics of pods, at the port that the chart's monitor of them names. */
async function scraped(port: string, ...selection: string[]): Promise<ScrapedPod[]> {
  const { items } = await kubectl.json<PodList>(
    'get',
    'pods',
    '--field-selector=status.phase=Running',
    ...selection,
  );
  return items.map(({ metadata, spec, status }) => {
    const found = spec.containers
      .flatMap(({ ports = [] }) => ports)
      .find((one) => one.name === port);
    return { pod: metadata.name, address: `${status.podIP}:${found?.containerPort}` };
  });
}

test('a Prometheus reads the pods of the platform, and those of agents once its namespace is let in', async () => {
  const platform = await Promise.all(
    Object.entries({
      operator: 'http',
      'control-plane': 'health',
      gateway: 'health',
      console: 'health',
    }).map(([component, port]) =>
      scraped(
        port,
        '--namespace',
        'gx-system',
        '--selector',
        `app.kubernetes.io/component=${component}`,
      ),
    ),
  );
  const agents = await scraped(
    'gx-metrics',
    '--namespace',
    AGENTS,
    '--selector',
    `gx.dev/revision=${name}-00001`,
  );
  for (const pods of [...platform, agents]) expect(pods).not.toEqual([]);
  const prometheus = new PrometheusInPod({ ...system, pod: name, namespace: STRANGERS });
  await prometheus.start([...platform.flat(), ...agents]);
  const healthWith = (ofAgents: string): Record<string, string> =>
    Object.fromEntries([
      ...platform.flat().map(({ pod: one }) => [one, 'up']),
      ...agents.map(({ pod: one }) => [one, ofAgents]),
    ]);
  await expect
    .poll(() => prometheus.health().catch(() => ({})), { timeout: 30_000 })
    .toEqual(healthWith('down'));
  await kubectl('label', 'namespace', STRANGERS, 'gx.dev/metrics=true');
  await expect.poll(() => prometheus.health(), { timeout: 30_000 }).toEqual(healthWith('up'));
  await kubectl('label', 'namespace', STRANGERS, 'gx.dev/metrics-');
});

test('an agent reaches the control plane, as every pod does', async () => {
  expect(await reach(agent, CONTROL_PLANE)).toBe('open');
});

// kind's network lets every pod reach its own node, on which the API server is, and nobody answers for the metadata.
const CLOSED = system.cluster === 'native' ? [API_SERVER, METADATA] : [];

test.each(CLOSED)('an agent does not reach %s, which another pod does', async (address) => {
  expect(await reach(stranger, address)).toBe('open');
  expect(await reach(agent, address)).toBe('closed');
});

test('an agent that is opened reaches the API server, without a new revision', async () => {
  await kubectl.apply(deployment({ ingress: 'Namespace', egress: 'Open' }));
  await until('it reaches the API server', async () => (await reach(agent, API_SERVER)) === 'open');
  const { status } = await kubectl.json<{ status: { latestRevision: string } }>(
    'get',
    'gxd',
    name,
    '--namespace',
    AGENTS,
  );
  expect(status.latestRevision).toBe(`${name}-00001`);
});
