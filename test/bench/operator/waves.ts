import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import type { Report } from '../../../dev/steps.ts';
import { operatorConfig } from '../../../src/config/operator.ts';
import { Reports } from '../../../src/gateway/reports.ts';
import { Cache } from '../../../src/kube/cache.ts';
import { kinds, type Kube, type KubeObject } from '../../../src/kube/kube.ts';
import { Reflector } from '../../../src/kube/watch.ts';
import { names, revisionName } from '../../../src/schema/names.ts';
import type { ApiServer } from '../../kit/api-server.ts';
import { silentLog } from '../../kit/log.ts';
import { operatorFor, untilIdle } from '../../kit/operator.ts';
import { AuditTrail } from './audit.ts';
import { SETTINGS } from './process.ts';
import { settledName } from './settled.ts';
import { quantile, seconds, type Table } from './table.ts';

/*
 * Many deployments with a range of queue pods. Some are busy in waves, which their pods would report. What keeps
 * the reports is the gateway's own. No pod runs: the size that is asked for counts.
 */

export const RANGE = { queueMinScale: 1, queueMaxScale: 4 };
/** Seconds: from one wave of a deployment to its next, how long it lasts, and how long fewer pods must be enough. */
const WAVE = { every: 150, lasts: 45, down: 60 };
const DUE = 35;
const GOALS = { latency: 5000, cpu: 0.1, requests: 0.2, changes: 4 };
const SECOND = 1000;

type Wave = { at: number; met?: number; changes: number };
type Waves = { server: ApiServer; kube: Kube; count: number; busy: number; minutes: number; report: Report };

/** Serves the reports as a gateway does. */
async function serve(reports: Reports): Promise<{ url: string; stop: () => void }> {
  const server = createServer((request, answer) => {
    const query = new URL(request.url ?? '', 'http://gateway').searchParams;
    answer.end(JSON.stringify(reports.since({ instance: query.get('instance') ?? '', cursor: Number(query.get('cursor')) })));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() };
}

/** Tells the size of queue workloads as it changes, and reports for them that their pods are ready. */
function followSizes(kube: Kube, told: (workload: string, replicas: number) => void): Reflector {
  const cache = new Cache();
  cache.onChange(({ before, after }) => {
    const [was, is] = [before, after].map((object) => (object?.spec as { replicas?: number } | undefined)?.replicas);
    if (after === undefined || was === undefined || is === undefined || was === is) return;
    told(after.metadata.name, is);
    void tellReady(kube, after, is);
  });
  const observer = { relisted: () => undefined, missed: () => undefined, active: () => undefined };
  return new Reflector({ kube, kind: kinds.workload, cache, namespace: 'default', log: silentLog(), observer });
}

async function tellReady(kube: Kube, { metadata }: KubeObject, replicas: number): Promise<void> {
  const counts = { replicas, readyReplicas: replicas, availableReplicas: replicas, updatedReplicas: replicas };
  await kube.patchStatus(kinds.workload, metadata, { observedGeneration: metadata.generation, ...counts }).catch(() => undefined);
}

/** As a pod that answers requests: at a change, every 5 seconds while there is work, and every half minute. */
const isReported = (second: number, into: number): boolean =>
  into === 0 || into === WAVE.lasts || second % (into < WAVE.lasts ? 5 : 30) === 0;

export async function measureWaves({ server, kube, count, busy, minutes, report }: Waves, table: Table): Promise<void> {
  const reports = new Reports(randomUUID());
  const gateway = await serve(reports);
  const settings = {
    ...operatorConfig(SETTINGS).settings,
    gateway: { service: 'gateway', namespace: 'default' },
    queueScaleDownSeconds: WAVE.down,
  };
  const waves = new Map<string, Wave[]>();
  const last = (deployment: string): Wave | undefined => waves.get(deployment)?.at(-1);
  const byWorkload = new Map<string, string>();
  const busyNames = Array.from({ length: busy }, (_, at) => settledName(1 + Math.floor((at * (count - 1)) / busy)));
  for (const name of busyNames) byWorkload.set(names.queueWorkload(revisionName(name, 1)), name);
  const sizes = followSizes(kube, (workload, replicas) => {
    const wave = last(byWorkload.get(workload) ?? '');
    if (wave === undefined) return;
    wave.changes += 1;
    if (replicas >= RANGE.queueMaxScale) wave.met ??= performance.now();
  });
  sizes.start();
  await sizes.synced;
  const given = { identity: 'waves', settings, gateways: () => [gateway.url] };
  const operator = await operatorFor({ namespace: 'default', kubeconfig: server.kubeconfig }, given);
  await operator.leading;
  await untilIdle(operator);
  report(`${count} deployments are known, ${busy} of them are busy for ${minutes} minutes`);
  const trail = new AuditTrail(server.auditLog);
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  for (let second = 0; second < minutes * 60; second += 1) {
    for (const [at, name] of busyNames.entries()) {
      const into = (second + Math.floor((at * WAVE.every) / busy)) % WAVE.every;
      if (into === 0) waves.set(name, [...(waves.get(name) ?? []), { at: performance.now(), changes: 0 }]);
      if (!isReported(second + at, into)) continue;
      const queue = { due: into < WAVE.lasts && last(name) !== undefined ? DUE : 0, running: 0, webhooks: 0, next_due: null };
      reports.keep(`default/${name}`, { from: `${name}-api`, slots: 0, idle_seconds: 0, queue });
    }
    await wait(Math.max(0, started + (second + 1) * SECOND - performance.now()));
  }
  const used = process.cpuUsage(cpu);
  const elapsed = performance.now() - started;
  const asked = trail.requests(operator.userAgent).filter(({ verb }) => verb !== 'watch' && verb !== 'list');
  const own = asked.filter(({ requestURI }) => !requestURI.includes('/leases/'));
  await operator.stop();
  await sizes.stop();
  gateway.stop();
  tell(table, { all: [...waves.values()].flat(), elapsed, cpu: (used.user + used.system) / 1000, requests: own.length, busy, count });
}

type Measured = { all: Wave[]; elapsed: number; cpu: number; requests: number; busy: number; count: number };

function tell(table: Table, { all, elapsed, cpu, requests, busy, count }: Measured): void {
  // A wave that has just begun had no time yet.
  const over = all.filter(({ at, met }) => met !== undefined || performance.now() - at > 2 * GOALS.latency);
  const latencies = over.map(({ at, met = Infinity }) => met - at);
  const p99 = quantile(latencies, 0.99);
  const changes = Math.max(0, ...all.map((wave) => wave.changes));
  const rate = requests / busy / (elapsed / SECOND);
  table.title(`${count} deployments, ${busy} of them busy in ${all.length} waves within ${seconds(elapsed)}`);
  table.row('from a backlog to its workers, p50', seconds(quantile(latencies, 0.5)));
  table.row('from a backlog to its workers, p99', seconds(p99), { says: '5 s', met: p99 <= GOALS.latency });
  table.row('CPU, the load and the gateway included', `${((cpu / elapsed) * 100).toFixed(1)} % of a core`, {
    says: '10 % (the operator)',
    met: cpu / elapsed < GOALS.cpu,
  });
  table.row('requests a second of each busy one', rate.toFixed(3), { says: '0.2', met: rate <= GOALS.requests });
  table.row('changes of size in a wave, at most', String(changes), { says: '4', met: changes <= GOALS.changes && over.length > 0 });
}
