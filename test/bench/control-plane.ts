import process from 'node:process';
import { parseArgs } from 'node:util';
import { runMain, step } from '../../dev/steps.ts';
import { createKey } from '../../src/control-plane/auth/keys.ts';
import { DEFAULT_TENANT_ID } from '../../src/config/platform/control-plane.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { type DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { buildRevision } from '../../src/schema/platform/resources/revision-of.ts';
import { startApiServer } from '../kit/api-server.ts';
import { plane, type Ask } from './plane.ts';

const HELP = `What the REST API costs: the control plane as a process of its own, on a real API server.

Usage: node test/bench/control-plane.ts [--full]

  --full  10,000 deployments instead of 2,000

The first run compiles the API server (some minutes) with Go. Progress and the table go to stdout.
`;

const { values } = parseArgs({
  options: { help: { type: 'boolean', default: false }, full: { type: 'boolean', default: false } },
});
const SOME = 1000;
const MANY = values.full ? 10_000 : 2000;
const REPEATS = 300;
const AT_ONCE = 20;
const GOALS = { postP50: 25, postP99: 100, getP99: 5, listP50: 20 };

const at = (times: number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(share * (times.length - 1))] as number;

type Times = { p50: number; p99: number };

async function timed(repeats: number, call: (index: number) => Promise<unknown>): Promise<Times> {
  const times: number[] = [];
  for (let index = 0; index < repeats; index += 1) {
    const started = performance.now();
    // The calls go one after the other, because latency is measured, not throughput.
    await call(index);
    times.push(performance.now() - started);
  }
  return { p50: at(times, 0.5), p99: at(times, 0.99) };
}

const resource = (name: string): DeploymentResource => ({
  apiVersion: API_VERSION,
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    source: 'external_container',
    template: { sourceRevisionConfig: { imageUri: 'registry.example/agent:1' } },
  },
});

/** Creates deployments with one revision each, as they stand after years of use. */
async function fill(kube: Kube, { from, to }: { from: number; to: number }): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < to) {
      const name = `filled-${(next += 1)}`;
      const made = await kube.create(kinds.deployment, resource(name));
      await kube.create(kinds.revision, buildRevision(made));
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
function row(what: string, { p50, p99 }: Times, goal = ''): void {
  rows.push(
    `${what.padEnd(56)} p50 ${p50.toFixed(1).padStart(7)} ms   p99 ${p99.toFixed(1).padStart(7)} ms   ${goal}`,
  );
}
const verdict = (goal: string, met: boolean): string => `${goal}: ${met ? 'met' : 'MISSED'}`;

/** Makes the writes of a POST, without its checks and its answer. */
async function writes(kube: Kube, name: string): Promise<void> {
  const metadata = { name, namespace: 'default', labels: { 'gx.dev/secrets-of': name } };
  await kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    immutable: true,
    stringData: { TOKEN: 'x'.repeat(40) },
  });
  await kube.create(
    kinds.revision,
    buildRevision(await kube.create(kinds.deployment, resource(name))),
  );
}

/** Measures a POST and the API server's own time in turns, so that both meet the same machine. */
async function measurePost(kube: Kube, ask: Ask, count: number, repeats = REPEATS): Promise<void> {
  const [own, all, post]: [number[], number[], number[]] = [[], [], []];
  const timing = async (times: number[], call: () => Promise<unknown>): Promise<void> => {
    const started = performance.now();
    await call();
    times.push(performance.now() - started);
  };
  for (let index = 0; index < repeats; index += 1) {
    const name = `at-${count}-${index}`;
    await timing(own, () => kube.create(kinds.deployment, resource(`own-${name}`)));
    await timing(all, () => writes(kube, `all-${name}`));
    await timing(post, () => ask('POST', '/v2/deployments', body(`post-${name}`)));
  }
  const [one, three, whole] = [own, all, post].map((times) => ({
    p50: at(times, 0.5),
    p99: at(times, 0.99),
  })) as [Times, Times, Times];
  const above = { p50: whole.p50 - one.p50, p99: whole.p99 - one.p99 };
  row(`the API server's own create, ${count} deployments`, one);
  row('its own writes of Secret, Deployment and Revision', three);
  row(`POST with a secret, ${count} deployments`, whole);
  const met = above.p50 <= GOALS.postP50 && above.p99 <= GOALS.postP99;
  row('  above the own create', above, verdict(`+${GOALS.postP50} / +${GOALS.postP99}`, met));
}

async function measure(kube: Kube, ask: Ask): Promise<void> {
  const page = await ask<{ resources: { id: string }[] }>('GET', '/v2/deployments?limit=100');
  const ids = page.resources.map(({ id }) => id);
  const get = await timed(REPEATS * 3, (index) =>
    ask('GET', `/v2/deployments/${ids[index % ids.length]}`),
  );
  row(`GET, ${SOME} deployments`, get, verdict(`p99 <= ${GOALS.getP99}`, get.p99 <= GOALS.getP99));
  await measurePost(kube, ask, SOME);
}

async function measureMany(kube: Kube, ask: Ask): Promise<void> {
  const list = await timed(REPEATS, () => ask('GET', '/v2/deployments?limit=100'));
  row(
    `list of 100 out of ${MANY}`,
    list,
    verdict(`p50 <= ${GOALS.listP50}`, list.p50 <= GOALS.listP50),
  );
  await measurePost(kube, ask, MANY, REPEATS / 3);
}

/** Measures the first list of a process that has read no Secret yet, with a hundred of them on the page. */
async function measureFirst(kubeconfig: string, key: string): Promise<void> {
  const { ask, stop } = await plane(kubeconfig, key);
  const first = await timed(1, () => ask('GET', '/v2/deployments?limit=100&name_contains=post-'));
  const second = await timed(20, () => ask('GET', '/v2/deployments?limit=100&name_contains=post-'));
  row('first list of 100 with secrets after a restart', first);
  row('the next ones', second);
  await stop();
}

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const server = await step('API server', () => startApiServer({ controllers: false }));
  try {
    const kube = await connect({
      fieldManager: 'bench',
      userAgent: 'bench',
      kubeconfig: server.kubeconfig,
    });
    const metadata = { name: 'default', namespace: 'default' };
    await kube.create(kinds.listener, {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata,
      spec: { computeId: 'bench', namespaces: ['default'] },
    });
    const { key } = await createKey(kube, 'default', {
      name: 'bench',
      role: 'write',
      tenantId: DEFAULT_TENANT_ID,
    });
    const { ask, stop } = await plane(server.kubeconfig, key);
    await step(`${SOME} deployments`, () => fill(kube, { from: 0, to: SOME }));
    await step('measure', () => measure(kube, ask));
    await step(`${MANY} deployments`, () => fill(kube, { from: SOME, to: MANY - 3 * REPEATS }));
    await step('measure', () => measureMany(kube, ask));
    await stop();
    await step('measure a new process', () => measureFirst(server.kubeconfig, key));
    await kube.close();
  } finally {
    await server.stop();
  }
  process.stdout.write(`${rows.join('\n')}\n`);
}

await runMain(main);
