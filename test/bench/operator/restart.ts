import { setTimeout as wait } from 'node:timers/promises';
import type { Report } from '../../../dev/steps.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import type { DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import type { ApiServer } from '../../kit/api-server.ts';
import { AuditTrail, isWrite } from './audit.ts';
import { putIntoEtcd } from './etcd.ts';
import { reconciled, startOperatorProcess, USER_AGENT, type OperatorUnderTest } from './process.ts';
import { copies, settledName, settleOne } from './settled.ts';
import { megabytes, quantile, seconds, type Table } from './table.ts';

/* The operator meets many deployments at rest, as after its own restart. Meanwhile people change some of them. */

const GOALS = { seconds: 60, bytes: 600 * 2 ** 20, blocked: 250, connections: 10, live: 1000 };
const CHANGES = 100;
const PAUSE = 40;
const LOOK = 200;
const REST = 60_000;

/** Fills the API server with so many deployments at rest. */
export async function load(
  {
    server,
    kube,
    resources,
  }: { server: ApiServer; kube: Kube; resources?: Parameters<typeof settleOne>[1] },
  count: number,
  report: Report,
): Promise<void> {
  const operator = await startOperatorProcess({ kubeconfig: server.kubeconfig });
  const family = await settleOne(kube, resources);
  await operator.stop();
  const started = performance.now();
  const objects = await putIntoEtcd(server.etcd, copies(family, 1, count));
  report(`${objects} objects in ${seconds(performance.now() - started)}`);
}

type Watched = { blocked: number; connections: number; stop(): Promise<void> };

/** Looks at the process from outside until it is told to stop, and keeps the worst values. */
function watchOver(operator: OperatorUnderTest, port: number): Watched {
  const seen = { blocked: 0, connections: 0 };
  const over = new AbortController();
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      seen.connections = Math.max(seen.connections, operator.connectionsTo(port));
      seen.blocked = Math.max(
        seen.blocked,
        (await operator.metric('nodejs_eventloop_lag_max_seconds')) * 1000,
      );
      await wait(LOOK);
    }
  };
  const looked = look();
  return Object.assign(seen, {
    stop: () => {
      over.abort();
      return looked;
    },
  });
}

export async function isDone(operator: OperatorUnderTest, count: number): Promise<boolean> {
  const passes = await Promise.all(
    ['deployment', 'revision'].map((controller) => reconciled(operator, controller)),
  );
  const [waiting, active] = await Promise.all([
    operator.metric('workqueue_depth'),
    operator.metric('controller_runtime_active_workers'),
  ]);
  return passes.every((pass) => pass >= count) && waiting === 0 && active === 0;
}

/**
 * Changes the spec of deployments spread over all of them, and waits until the status of each has caught up. The change
 * needs no other write. Returns milliseconds.
 */
async function changeSome(kube: Kube, count: number): Promise<number[]> {
  const asked = new Map<string, number>();
  const times: number[] = [];
  const done = new AbortController();
  const { resourceVersion } = await kube.list(kinds.deployment, { namespace: 'default', limit: 1 });
  const listen = async (): Promise<void> => {
    const options = { namespace: 'default', resourceVersion, timeoutSeconds: 300 };
    for await (const { object } of kube.watch(kinds.deployment, options, done.signal)) {
      const { metadata, status } = object as DeploymentResource;
      const since = asked.get(metadata.name);
      if (
        since === undefined ||
        metadata.generation === 1 ||
        status?.observedGeneration !== metadata.generation
      )
        continue;
      asked.delete(metadata.name);
      if (times.push(performance.now() - since) === CHANGES) done.abort();
    }
  };
  const heard = listen().catch(() => undefined);
  for (let change = 0; change < CHANGES; change += 1) {
    // The changes begin at the end, because those deployments are the last in the queue.
    const name = settledName(count - 1 - change * Math.floor(count / CHANGES / 2));
    asked.set(name, performance.now());
    await kube.patchJson(kinds.deployment, { namespace: 'default', name }, [
      { op: 'add', path: '/spec/revisionHistoryLimit', value: 19 },
    ]);
    await wait(PAUSE);
  }
  await Promise.race([heard, wait(REST)]);
  done.abort();
  return times;
}

type Given = { server: ApiServer; kube: Kube; count: number; flags?: string[]; report: Report };

export async function measureRestart(
  { server, kube, count, flags = [], report }: Given,
  table: Table,
): Promise<void> {
  const trail = new AuditTrail(server.auditLog);
  const operator = await startOperatorProcess({ kubeconfig: server.kubeconfig, flags });
  const watched = watchOver(operator, server.port);
  while ((await reconciled(operator, 'deployment')) === 0) await wait(LOOK / 2);
  const filled = performance.now() - operator.startedAt;
  report(`caches are full after ${seconds(filled)}`);
  const changing = changeSome(kube, count);
  while (!(await isDone(operator, count))) await wait(LOOK / 2);
  const all = performance.now() - operator.startedAt;
  report(`all are reconciled after ${seconds(all)}`);
  const live = await changing;
  // The operator answers each with one status.
  const written = trail.requests(USER_AGENT).filter(isWrite).length - live.length;
  await watched.stop();
  const peak = operator.peakMemory();
  table.title(`Start with ${count} settled deployments (no pods)`);
  table.row('every one reconciled once', seconds(all), {
    says: `<= ${GOALS.seconds} s`,
    met: all <= GOALS.seconds * 1000,
  });
  table.row('of it until the caches are full', seconds(filled));
  table.row('writes, but the answers to live changes', String(written), {
    says: '0',
    met: written === 0,
  });
  const peakGoal = { says: `<= ${megabytes(GOALS.bytes)}`, met: peak <= GOALS.bytes };
  table.row('memory (RSS): peak', megabytes(peak), peakGoal);
  const { blocked, connections } = watched;
  table.row('longest block of the event loop', `${Math.round(blocked)} ms`, {
    says: `<= ${GOALS.blocked} ms`,
    met: blocked <= GOALS.blocked,
  });
  table.row('connections to the API server, at most', String(connections), {
    says: `<= ${GOALS.connections}`,
    met: connections <= GOALS.connections,
  });
  const p99 = quantile(live, 0.99);
  table.row(
    `${live.length} live changes meanwhile, until the status says so`,
    `p50 ${Math.round(quantile(live, 0.5))} p99 ${Math.round(p99)} ms`,
    {
      says: `p99 <= ${GOALS.live} ms, all ${CHANGES}`,
      met: p99 <= GOALS.live && live.length === CHANGES,
    },
  );
  await operator.stop();
}
