import process from 'node:process';
import { program, step } from '../../dev/steps.ts';
import { createKey } from '../../src/control-plane/auth/keys.ts';
import { DEFAULT_TENANT_ID } from '../../src/config/control-plane.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds, type Kube } from '../../src/kube/kube.ts';
import { API_VERSION, type DeploymentResource } from '../../src/schema/custom-resources.ts';
import { revisionOf } from '../../src/schema/revision-of.ts';
import { startApiServer } from '../kit/api-server.ts';
import { plane, type Ask } from './plane.ts';

/*
 * What the REST API costs: the control plane as a process of its own, on a real API server.
 * Run: make bench-control-plane, or node test/bench/control-plane.ts [--full] (10,000 deployments instead of 2,000).
 */

const SOME = 1000;
const MANY = process.argv.includes('--full') ? 10_000 : 2000;
const REPEATS = 300;
const AT_ONCE = 20;
const GOALS = { postP50: 25, postP99: 100, getP99: 5, listP50: 20 };

const at = (times: number[], share: number): number => times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] as number;

async function timed(repeats: number, call: (index: number) => Promise<unknown>): Promise<{ p50: number; p99: number }> {
  const times: number[] = [];
  for (let index = 0; index < repeats; index += 1) {
    const started = performance.now();
    // One after the other: latency is measured, not throughput.
    // oxlint-disable-next-line no-await-in-loop
    await call(index);
    times.push(performance.now() - started);
  }
  return { p50: at(times, 0.5), p99: at(times, 0.99) };
}

const resource = (name: string): DeploymentResource => ({
  apiVersion: API_VERSION,
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: { source: 'external_container', template: { sourceRevisionConfig: { imageUri: 'registry.example/agent:1' } } },
});

/** Deployments with a revision each, as they stand after years of use. */
async function fill(kube: Kube, { from, to }: { from: number; to: number }): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const name = `filled-${(next += 1)}`;
      // oxlint-disable-next-line no-await-in-loop
      const made = await kube.create(kinds.deployment, resource(name));
      // oxlint-disable-next-line no-await-in-loop
      await kube.create(kinds.revision, revisionOf(made));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const body = (name: string) => ({
  name,
  source: 'external_container',
  source_config: { resource_spec: {} },
  source_revision_config: { image_uri: 'registry.example/agent:1' },
  secrets: [{ name: 'TOKEN', value: 'x'.repeat(40) }],
});

const rows: string[] = [];
function row(what: string, { p50, p99 }: { p50: number; p99: number }, goal = ''): void {
  rows.push(`${what.padEnd(46)} p50 ${p50.toFixed(1).padStart(7)} ms   p99 ${p99.toFixed(1).padStart(7)} ms   ${goal}`);
}
const verdict = (goal: string, met: boolean): string => `${goal}: ${met ? 'met' : 'MISSED'}`;

async function measure(kube: Kube, ask: Ask): Promise<void> {
  const page = await ask<{ resources: { id: string }[] }>('GET', '/v2/deployments?limit=100');
  const ids = page.resources.map(({ id }) => id);
  const get = await timed(REPEATS * 3, (index) => ask('GET', `/v2/deployments/${ids[index % ids.length]}`));
  row(`GET, ${SOME} deployments`, get, verdict(`p99 <= ${GOALS.getP99}`, get.p99 <= GOALS.getP99));
  const raw = await timed(REPEATS, (index) => kube.create(kinds.deployment, resource(`raw-${index}`)));
  row(`the API server's own create, ${SOME} deployments`, raw);
  const post = await timed(REPEATS, (index) => ask('POST', '/v2/deployments', body(`posted-${index}`)));
  const met = post.p50 - raw.p50 <= GOALS.postP50 && post.p99 - raw.p99 <= GOALS.postP99;
  row(`POST with a secret, ${SOME} deployments`, post, verdict(`+${GOALS.postP50} / +${GOALS.postP99}`, met));
}

async function measureMany(ask: Ask): Promise<void> {
  const list = await timed(REPEATS, () => ask('GET', '/v2/deployments?limit=100'));
  row(`list of 100 out of ${MANY}`, list, verdict(`p50 <= ${GOALS.listP50}`, list.p50 <= GOALS.listP50));
  const post = await timed(REPEATS / 3, (index) => ask('POST', '/v2/deployments', body(`late-${index}`)));
  row(`POST with a secret, ${MANY} deployments`, post);
}

async function main(): Promise<void> {
  const server = await step('API server', () => startApiServer({ controllers: false }));
  try {
    const kube = await connect({ fieldManager: 'bench', userAgent: 'bench', kubeconfig: server.kubeconfig });
    const metadata = { name: 'default', namespace: 'default' };
    await kube.create(kinds.listener, {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata,
      spec: { computeId: 'bench', namespaces: ['default'] },
    });
    const { key } = await createKey(kube, 'default', { name: 'bench', role: 'write', tenantId: DEFAULT_TENANT_ID });
    const { ask, stop } = await plane(server.kubeconfig, key);
    await step(`${SOME} deployments`, () => fill(kube, { from: 0, to: SOME }));
    await step('measure', () => measure(kube, ask));
    await step(`${MANY} deployments`, () => fill(kube, { from: SOME, to: MANY - 2 * REPEATS }));
    await step('measure', () => measureMany(ask));
    await stop();
    await kube.close();
  } finally {
    await server.stop();
  }
  process.stdout.write(`${rows.join('\n')}\n`);
}

await program(main);
