import { setTimeout as wait } from 'node:timers/promises';
import type { Report } from '../../../dev/steps.ts';
import { DEFAULT_TENANT_ID } from '../../../src/config/control-plane.ts';
import { createKey } from '../../../src/control-plane/auth/keys.ts';
import { Cache } from '../../../src/kube/cache.ts';
import { kinds, type Kind, type Kube } from '../../../src/kube/kube.ts';
import { Reflector } from '../../../src/kube/watch.ts';
import { READY } from '../../../src/schema/conditions.ts';
import { API_VERSION, type DeploymentResource } from '../../../src/schema/custom-resources.ts';
import { conditionOf, type ApiServer } from '../../kit/api-server.ts';
import { silentLog } from '../../kit/log.ts';
import { plane } from '../plane.ts';
import { AuditTrail, isChildWrite } from './audit.ts';
import { cpuBetween, cpuSoFar } from './cpu.ts';
import { tellCpu, tellPasses, tellRequests } from './cost.ts';
import { withoutOperator } from './floor.ts';
import { mean, writeLimit } from './limits.ts';
import { LAST, startPods } from './pods.ts';
import { reconciled, startOperatorProcess, USER_AGENT, type OperatorUnderTest } from './process.ts';
import { seconds, type Table } from './table.ts';

/* New deployments through the REST API: how fast the operator writes their children, and when they serve. */

const GOALS = { share: 0.6, many: 1000, seconds: 120 };
const AT_ONCE = 10;
const PREFIX = 'created-';
/** As teams have them. Kubernetes' own controllers look through all Services of a namespace for each pod of it. */
const NAMESPACES = Array.from({ length: 10 }, (_, index) => `agents-${index}`);
/** The floor is measured with a fifth of them. */
const FLOOR_SHARE = 5;
/** Longer than any of it takes here, so that only a fault ends it. */
const PATIENCE = 600_000;

/** `flags`: of the operator's Node. */
export type Given = { server: ApiServer; kube: Kube; count: number; flags: string[]; report: Report };

/** Milliseconds it took the REST API to take them all. */
async function post({ server, kube, count }: Pick<Given, 'server' | 'kube' | 'count'>): Promise<number> {
  await makeNamespaces(kube);
  await kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace: 'default' },
    spec: { computeId: 'bench', namespaces: NAMESPACES },
  });
  const { key } = await createKey(kube, 'default', { name: 'bench', role: 'write', tenantId: DEFAULT_TENANT_ID });
  const { ask, stop } = await plane(server.kubeconfig, key);
  const started = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await ask('POST', '/v2/deployments', {
        name: `${PREFIX}${next}`,
        source: 'external_container',
        source_config: { resource_spec: {}, listener_config: { k8s_namespace: NAMESPACES[next % NAMESPACES.length] } },
        secrets: [],
        source_revision_config: { image_uri: 'registry.example/agent:1' },
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return performance.now() - started;
  } finally {
    await stop();
  }
}

/** Those that are not there yet. */
async function makeNamespaces(kube: Kube): Promise<void> {
  const there = (await kube.all(kinds.namespace)).map(({ metadata }) => metadata.name);
  const missing = NAMESPACES.filter((name) => !there.includes(name));
  await Promise.all(missing.map((name) => kube.create(kinds.namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })));
}

/** The operator alone with the API server: new deployments wait for it, and no pod ever comes. */
export async function measureWrites(given: Given, table: Table): Promise<void> {
  const { server, kube, count, flags, report } = given;
  const first = await writeLimit(kube, count);
  report(`the API server's own limit: ${Math.round(first.perSecond)} writes a second`);
  report(`${count} posted in ${seconds(await post(given))}`);
  const trail = new AuditTrail(server.auditLog);
  const operator = await startOperatorProcess({ kubeconfig: server.kubeconfig, flags });
  const before = cpuSoFar();
  await atRest(operator);
  const cpu = { before, after: cpuSoFar() };
  const passes = await passesOf(operator);
  const [children, all, asked] = [trail.writes(USER_AGENT, isChildWrite), trail.writes(USER_AGENT), trail.census()];
  await operator.stop();
  // Before and after, because the machine may have other work by then.
  const limit = mean([first, await writeLimit(kube, count)]);
  const share = children.perSecond / limit.perSecond;
  const milliseconds = (cpuBetween(cpu.before, cpu.after).reduce((sum, [, spent]) => sum + spent, 0) * 1000) / children.count;
  table.title(`Children of ${count} new deployments (posted before the operator starts; no pods)`);
  table.row('the API server for a client that does nothing else', `${Math.round(limit.perSecond)} writes/s`);
  table.row(`the operator: writes of children (${children.count})`, `${Math.round(children.perSecond)}/s, ratio ${share.toFixed(2)}`, {
    says: `>= ${GOALS.share}`,
    met: share >= GOALS.share,
  });
  const ratio = (all.perSecond / limit.perSecond).toFixed(2);
  table.row(`the operator: all writes, with statuses and events (${all.count})`, `${Math.round(all.perSecond)}/s, ratio ${ratio}`);
  table.row(
    'CPU of all programs for one write: that client, a child',
    `${limit.milliseconds.toFixed(1)}, ${milliseconds.toFixed(1)} ms, ratio ${(limit.milliseconds / milliseconds).toFixed(2)}`,
  );
  tellPasses(table, { count, passes });
  tellRequests(table, { count, asked });
  tellCpu(table, { count, cpu });
}

/** Reconciles until now, of all deployments and of all revisions. */
const passesOf = (operator: OperatorUnderTest): Promise<number[]> =>
  Promise.all(['deployment', 'revision'].map((controller) => reconciled(operator, controller)));

/** Its Lease, and what it makes once: writes that are no deployment's. */
const MADE_AT_START = 5;
/** Looks seldom: each costs the operator as much as a request. */
const LOOK_EVERY = 1000;

/** Until it has written, and writes no more; its Lease apart, which is replaced. It goes on looking why no pod comes. */
async function atRest(operator: OperatorUnderTest): Promise<void> {
  const writesBy = (method: string): Promise<number> => operator.metric('rest_client_requests_total', `method="${method}"`);
  const writes = async (): Promise<number> => (await writesBy('POST')) + (await writesBy('PATCH'));
  const started = performance.now();
  for (let [before, now] = [-1, 0]; now < MADE_AT_START || now !== before; [before, now] = [now, await writes()]) {
    if (performance.now() - started > PATIENCE) throw new Error(`the operator is not at rest after ${seconds(PATIENCE)}`);
    await wait(LOOK_EVERY);
  }
}

/** All of the chain at once: REST, operator, Kubernetes' controllers and scheduler, kwok. Until all deployments serve. */
async function serve({ server, kube, count, flags }: Given) {
  const operator = await startOperatorProcess({ kubeconfig: server.kubeconfig, flags });
  const cache = new Cache<DeploymentResource>();
  const observer = { relisted() {}, missed() {}, active() {} };
  const reflector = new Reflector({ kube, kind: kinds.deployment, cache, log: silentLog(), observer });
  reflector.start();
  const ready = (): number => cache.list().filter((deployment) => conditionOf(deployment, READY) === 'True').length;
  const before = cpuSoFar();
  const [began, started] = [Date.now(), performance.now()];
  const posting = post({ server, kube, count });
  while (ready() < count) {
    if (performance.now() - started > PATIENCE) throw new Error(`${ready()} of ${count} deployments serve after ${seconds(PATIENCE)}`);
    await wait(100);
  }
  const took = performance.now() - started;
  const cpu = { before, after: cpuSoFar() };
  const posted = await posting;
  await reflector.stop();
  const passes = await passesOf(operator);
  await operator.stop();
  return { began, took, posted, cpu, passes };
}

/**
 * How long new deployments take, on an API server that keeps no audit log. The goal is for two cores of API server, etcd and operator: the
 * rest of Kubernetes comes after them, though what it asks of the API server does not.
 */
export async function measureCreation(given: Given, table: Table): Promise<void> {
  const { server, kube, count, report } = given;
  const pods = await startPods(kube, server.kubeconfig, LAST);
  const few = Math.ceil(count / FLOOR_SHARE);
  await makeNamespaces(kube);
  const floor = await withoutOperator(kube, NAMESPACES, few);
  report(`without the operator: ${few} in ${seconds(floor)}`);
  const { began, took, posted, cpu, passes } = await serve(given);
  report(`all serve after ${seconds(took)}`);
  const children = await childrenMade(kube);
  const applied = children.last - began;
  await pods.stop();
  table.title(`${count} deployments through REST into ${NAMESPACES.length} namespaces (pods by kwok, on the same machine)`);
  const goal = { says: `<= ${GOALS.seconds} s for ${GOALS.many}`, met: applied <= GOALS.seconds * 1000 };
  table.row('until the last POST was answered', seconds(posted));
  table.row(`until the last of ${children.count} children was made`, seconds(applied), count >= GOALS.many ? goal : undefined);
  table.row('until the last of them serves', seconds(took));
  table.row(`floor: Kubernetes alone with the children of ${few}, for all`, `${seconds(floor)}, ${seconds((floor * count) / few)}`);
  tellPasses(table, { count, passes });
  tellCpu(table, { count, cpu });
}

const CHILDREN: Kind[] = [kinds.tracingProject, kinds.secret, kinds.service, kinds.networkPolicy, kinds.statefulSet, kinds.workload];

/** `last`: milliseconds since the epoch, by the API server's own time; it tells whole seconds, of which the end is taken. */
async function childrenMade(kube: Kube): Promise<{ count: number; last: number }> {
  const found = (await Promise.all(CHILDREN.map((kind) => kube.all(kind)))).flat();
  const made = found.filter(({ metadata }) => metadata.name.startsWith(PREFIX));
  return { count: made.length, last: Math.max(...made.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))) + 1000 };
}

/** What new deployments ask of the API server, by its audit log. */
export async function measureRequests(given: Given, table: Table): Promise<void> {
  const { server, kube, count } = given;
  const pods = await startPods(kube, server.kubeconfig);
  const trail = new AuditTrail(server.auditLog);
  await serve(given);
  tellRequests(table, { count, asked: trail.census() });
  await pods.stop();
}
