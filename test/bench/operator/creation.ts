import { setTimeout as wait } from 'node:timers/promises';
import type { Report } from '../../../dev/steps.ts';
import { Cache } from '../../../src/kube/cache.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kind, Kube } from '../../../src/kube/kube.ts';
import { Reflector } from '../../../src/kube/watch.ts';
import { READY } from '../../../src/schema/platform/objects/conditions.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { conditionOf, type ApiServer } from '../../kit/api-server.ts';
import { silentLog } from '../../kit/log.ts';
import { AuditTrail } from './audit.ts';
import { cpuSoFar } from './cpu.ts';
import { tellCpu, tellRequests } from './cost.ts';
import { withoutOperator } from './floor.ts';
import { startPods } from './pods.ts';
import { makeNamespaces, NAMESPACES, post, PREFIX } from './post.ts';
import { startOperatorProcess } from './process.ts';
import { seconds, type Table } from './table.ts';

/* New deployments through the REST API: how fast the operator writes their children, and when they serve. */

const GOALS = { many: 1000, seconds: 120 };
/** The floor is measured with a tenth of them. */
const FLOOR_SHARE = 10;
/** This is longer than anything takes here, so that only a fault ends it. */
const PATIENCE = 1_200_000;

/** `flags` are those of the operator's Node. */
export type Given = {
  server: ApiServer;
  kube: Kube;
  count: number;
  flags: string[];
  report: Report;
};

/**
 * Runs the whole chain at once: REST, operator, Kubernetes' controllers and scheduler, kwok. It waits until all
 * deployments serve.
 */
async function serve({ server, kube, count, flags }: Given) {
  const operator = await startOperatorProcess({ kubeconfig: server.kubeconfig, flags });
  const cache = new Cache<DeploymentResource>();
  const observer = { relisted() {}, missed() {} };
  const reflector = new Reflector({
    kube,
    kind: kinds.deployment,
    cache,
    log: silentLog(),
    observer,
  });
  reflector.start();
  const ready = (): number =>
    cache.list().filter((deployment) => conditionOf(deployment, READY) === 'True').length;
  const before = cpuSoFar();
  const [began, started] = [Date.now(), performance.now()];
  const posting = post({ server, kube, count });
  while (ready() < count) {
    if (performance.now() - started > PATIENCE)
      throw new Error(`${ready()} of ${count} deployments serve after ${seconds(PATIENCE)}`);
    await wait(100);
  }
  const took = performance.now() - started;
  const cpu = { before, after: cpuSoFar() };
  const posted = await posting;
  await reflector.stop();
  await operator.stop();
  return { began, took, posted, cpu };
}

/**
 * Measures how long new deployments take on an API server that keeps no audit log. Kubernetes decides when they serve,
 * because its controllers keep their default limits of requests.
 */
export async function measureCreation(given: Given, table: Table): Promise<void> {
  const { server, kube, count, report } = given;
  const pods = await startPods(kube, server.kubeconfig);
  const few = Math.ceil(count / FLOOR_SHARE);
  await makeNamespaces(kube);
  const floor = await withoutOperator(kube, NAMESPACES, few);
  report(`without the operator: ${few} in ${seconds(floor)}`);
  const { began, took, posted, cpu } = await serve(given);
  report(`all serve after ${seconds(took)}`);
  const children = await childrenMade(kube);
  const applied = children.last - began;
  await pods.stop();
  table.title(
    `${count} deployments through REST into ${NAMESPACES.length} namespaces (pods by kwok, on the same machine)`,
  );
  const goal = {
    says: `<= ${GOALS.seconds} s for ${GOALS.many}`,
    met: applied <= GOALS.seconds * 1000,
  };
  table.row('until the last POST was answered', seconds(posted));
  table.row(
    `until the last of ${children.count} children was made`,
    seconds(applied),
    count >= GOALS.many ? goal : undefined,
  );
  table.row('until the last of them serves', seconds(took));
  table.row(
    `floor: Kubernetes alone with the children of ${few}, for all`,
    `${seconds(floor)}, ${seconds((floor * count) / few)}`,
  );
  tellCpu(table, { count, cpu });
}

const CHILDREN: Kind[] = [
  kinds.tracingProject,
  kinds.secret,
  kinds.service,
  kinds.networkPolicy,
  kinds.statefulSet,
  kinds.workload,
];

/**
 * `last` is in milliseconds since the epoch, by the API server's own time. That time has whole seconds, and the end of
 * the second is taken.
 */
async function childrenMade(kube: Kube): Promise<{ count: number; last: number }> {
  const found = (await Promise.all(CHILDREN.map((kind) => kube.listAll(kind)))).flat();
  const made = found.filter(({ metadata }) => metadata.name.startsWith(PREFIX));
  return {
    count: made.length,
    last:
      Math.max(...made.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))) + 1000,
  };
}

/** Measures what new deployments ask of the API server, by its audit log. */
export async function measureRequests(given: Given, table: Table): Promise<void> {
  const { server, kube, count } = given;
  const pods = await startPods(kube, server.kubeconfig);
  const trail = new AuditTrail(server.auditLog);
  await serve(given);
  tellRequests(table, { count, asked: trail.census() });
  await pods.stop();
}
