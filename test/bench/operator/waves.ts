import { setTimeout as wait } from 'node:timers/promises';
import type { Report } from '../../../dev/steps.ts';
import { Cache } from '../../../src/kube/cache.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import { Reflector } from '../../../src/kube/watch.ts';
import { names, buildRevisionName } from '../../../src/schema/names.ts';
import {
  buildWorkPath,
  type QueueWork,
  type WorkReport,
} from '../../../src/schema/wire/work-report.ts';
import type { ApiServer } from '../../kit/api-server.ts';
import { silentLog } from '../../kit/log.ts';
import { until } from '../../kit/until.ts';
import { AuditTrail } from './audit.ts';
import {
  startGatewayProcess,
  startOperatorProcess,
  USER_AGENT,
  type GatewayUnderTest,
} from './process.ts';
import { isDone } from './restart.ts';
import { PATTERN, settledName } from './settled.ts';
import { quantile, seconds, type Table } from './table.ts';

/*
 * Many deployments with a range of queue pods. All report to a real gateway as their pods would, and some are busy in
 * waves. No pod runs: the size that is asked for counts.
 */

export const RANGE = { queueMinScale: 1, queueMaxScale: 4 };
/** Seconds: from one wave of a deployment to its next, how long it lasts, and how long fewer pods must be enough. */
const WAVE = { every: 150, lasts: 45, down: 60 };
const DUE = 35;
const GOALS = { latency: 5000, cpu: 0.1, requests: 0.2, changes: 4 };
const SECOND = 1000;
/** Seconds within which an operator has met all deployments on a busy machine. */
const MET = 600;

type Wave = { at: number; met?: number; changes: number };
type Waves = {
  server: ApiServer;
  kube: Kube;
  count: number;
  busy: number;
  minutes: number;
  report: Report;
};

/** Tells the size of queue workloads as it changes, and reports for them that their pods are ready. */
function followSizes(kube: Kube, told: (workload: string, replicas: number) => void): Reflector {
  const cache = new Cache();
  cache.addChangeListener(({ before, after }) => {
    const [was, is] = [before, after].map(
      (object) => (object?.spec as { replicas?: number } | undefined)?.replicas,
    );
    if (after === undefined || was === undefined || is === undefined || was === is) return;
    told(after.metadata.name, is);
    void tellReady(kube, after, is);
  });
  return new Reflector({
    kube,
    kind: kinds.workload,
    cache,
    namespace: 'default',
    log: silentLog(),
  });
}

async function tellReady(kube: Kube, { metadata }: KubeObject, replicas: number): Promise<void> {
  const counts = {
    replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    updatedReplicas: replicas,
  };
  await kube
    .patchStatus(kinds.workload, metadata, { observedGeneration: metadata.generation, ...counts })
    .catch(() => undefined);
}

/** Leads the operator to the gateway, as the endpoints of its Service do. */
const announce = (kube: Kube, { address, reportsPort }: GatewayUnderTest): Promise<KubeObject> =>
  kube.create(kinds.endpointSlice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'gateway-1',
      namespace: 'default',
      labels: { 'kubernetes.io/service-name': 'gateway' },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'reports', port: reportsPort, protocol: 'TCP' }],
  });

/** Returns what reports for a deployment. All have the key of the one that they are copies of. */
async function reporter(
  kube: Kube,
  { url }: GatewayUnderTest,
): Promise<(name: string, report: WorkReport) => Promise<number>> {
  const { data = {} } = (await kube.get(kinds.secret, {
    namespace: 'default',
    name: names.agentKey(PATTERN),
  })) as {
    data?: Record<string, string>;
  };
  const key = Buffer.from(data['api-key'] ?? '', 'base64').toString('utf8');
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  return async (name, report) => {
    const answer = await fetch(`${url}${buildWorkPath('default', name)}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(report),
    });
    await answer.body?.cancel();
    return answer.status;
  };
}

const API_POD = { slots: 0, idle_seconds: 0 };
const QUEUE_POD = { slots: 10, idle_seconds: 0 };
const NOTHING: QueueWork = { due: 0, running: 0, webhooks: 0, next_due: null };

/** As a pod that answers requests: at a change, every 5 seconds while there is work, and every half minute. */
const isReported = (second: number, into: number): boolean =>
  into === 0 || into === WAVE.lasts || second % (into < WAVE.lasts ? 5 : 30) === 0;

type Load = {
  count: number;
  busyNames: string[];
  minutes: number;
  send: (name: string, report: WorkReport) => Promise<number>;
};

/** Reports for all deployments, second by second. Returns how many reports were sent, and how many of them not kept. */
async function reportAll(
  { count, busyNames, minutes, send }: Load,
  begins: (name: string) => boolean,
): Promise<[number, number]> {
  const started = performance.now();
  const busy = new Set(busyNames);
  const resting = Array.from({ length: count }, (_, at) => settledName(at)).filter(
    (name) => !busy.has(name),
  );
  const answers: Promise<number>[] = [];
  const queuePod = (name: string): Promise<number> =>
    send(name, { ...QUEUE_POD, from: `${name}-queue` });
  for (let second = 0; second < minutes * 60; second += 1) {
    for (const [at, name] of busyNames.entries()) {
      const into = (second + Math.floor((at * WAVE.every) / busyNames.length)) % WAVE.every;
      const isBusy = into < WAVE.lasts && (into === 0 ? begins(name) : true);
      if ((second + at) % 30 === 0) answers.push(queuePod(name));
      if (isReported(second + at, into))
        answers.push(
          send(name, {
            ...API_POD,
            from: `${name}-api`,
            queue: { ...NOTHING, due: isBusy ? DUE : 0 },
          }),
        );
    }
    for (const [at, name] of resting.entries())
      if ((second + at) % 30 === 0)
        answers.push(
          queuePod(name),
          send(name, { ...API_POD, from: `${name}-api`, queue: NOTHING }),
        );
    await wait(Math.max(0, started + (second + 1) * SECOND - performance.now()));
  }
  const all = await Promise.all(answers.map((answer) => answer.catch(() => 0)));
  return [all.length, all.filter((status) => status !== 200).length];
}

export async function measureWaves(
  { server, kube, count, busy, minutes, report }: Waves,
  table: Table,
): Promise<void> {
  const busyNames = Array.from({ length: busy }, (_, at) =>
    settledName(1 + Math.floor((at * (count - 1)) / busy)),
  );
  const waves = new Map<string, Wave[]>(busyNames.map((name) => [name, []]));
  const byWorkload = new Map(
    busyNames.map((name) => [names.queueWorkload(buildRevisionName(name, 1)), name]),
  );
  const sizes = followSizes(kube, (workload, replicas) => {
    const wave = waves.get(byWorkload.get(workload) ?? '')?.at(-1);
    if (wave === undefined) return;
    wave.changes += 1;
    if (replicas >= RANGE.queueMaxScale) wave.met ??= performance.now();
  });
  sizes.start();
  await sizes.synced;
  const gateway = await startGatewayProcess(server.kubeconfig);
  await announce(kube, gateway);
  const env = { GX_QUEUE_SCALE_DOWN_SECONDS: String(WAVE.down) };
  const operator = await startOperatorProcess({
    kubeconfig: server.kubeconfig,
    namespaces: ['default'],
    env,
  });
  await until('the operator has met all', () => isDone(operator, count), MET);
  report(`${count} deployments are known, ${busy} of them are busy for ${minutes} minutes`);
  const trail = new AuditTrail(server.auditLog);
  const [cpu, gatewayCpu, started] = [operator.cpu(), gateway.cpu(), performance.now()];
  const send = await reporter(kube, gateway);
  const [reports, refused] = await reportAll({ count, busyNames, minutes, send }, (name) => {
    waves.get(name)?.push({ at: performance.now(), changes: 0 });
    return true;
  });
  const elapsed = performance.now() - started;
  const used = {
    cpu: (operator.cpu() - cpu) / elapsed,
    gatewayCpu: (gateway.cpu() - gatewayCpu) / elapsed,
  };
  const asked = trail
    .requests(USER_AGENT)
    .filter(({ verb }) => verb !== 'watch' && verb !== 'list');
  await operator.stop();
  await gateway.stop();
  await sizes.stop();
  const rate = asked.length / busy / (elapsed / SECOND);
  tell(table, {
    all: [...waves.values()].flat(),
    elapsed,
    ...used,
    rate,
    reports,
    refused,
    busy,
    count,
  });
}

type Measured = { all: Wave[]; elapsed: number; cpu: number; gatewayCpu: number; rate: number } & {
  reports: number;
  refused: number;
  busy: number;
  count: number;
};

function tell(
  table: Table,
  { all, elapsed, cpu, gatewayCpu, rate, reports, refused, busy, count }: Measured,
): void {
  // A wave that has just begun had no time yet.
  const over = all.filter(
    ({ at, met }) => met !== undefined || performance.now() - at > 2 * GOALS.latency,
  );
  const latencies = over.map(({ at, met = Infinity }) => met - at);
  const p99 = quantile(latencies, 0.99);
  const changes = Math.max(0, ...all.map((wave) => wave.changes));
  const share = (part: number): string => `${(part * 100).toFixed(1)} % of a core`;
  table.title(
    `${count} deployments, ${busy} of them busy in ${all.length} waves within ${seconds(elapsed)}`,
  );
  table.row('from a backlog to its workers, p50', seconds(quantile(latencies, 0.5)));
  table.row('from a backlog to its workers, p99', seconds(p99), {
    says: '5 s',
    met: p99 <= GOALS.latency,
  });
  table.row('CPU of the operator', share(cpu), { says: '10 %', met: cpu < GOALS.cpu });
  table.row('CPU of the gateway', share(gatewayCpu));
  table.row('reports that were refused or lost', `${refused} of ${reports}`, {
    says: '0',
    met: refused === 0 && reports > 0,
  });
  table.row('requests a second of each busy one', rate.toFixed(3), {
    says: '0.2',
    met: rate <= GOALS.requests,
  });
  table.row('changes of size in a wave, at most', String(changes), {
    says: '4',
    met: changes <= GOALS.changes && over.length > 0,
  });
}
