import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { runMain } from '../../dev/steps.ts';
import { watchHeap } from '../../src/operator/heap.ts';
import { serveHealth } from '../../src/operator/kernel/health.ts';
import { OperatorMetrics } from '../../src/operator/kernel/metrics.ts';
import { exportObjects } from '../../src/operator/series/export-objects.ts';
import { createCaches, type Caches } from '../../src/operator/view/caches.ts';
import type { Condition } from '../../src/schema/platform/objects/conditions.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../src/schema/platform/resources/custom-resources.ts';
import { memorySettings } from '../kit/image-environment.ts';
import { silentLog } from '../kit/log.ts';
import { deployment, revision } from '../kit/objects.ts';
import { megabytes, quantile, Table } from './operator/table.ts';

const HELP = `Scrapes of an operator's metrics: how long they take, how long they block the event loop, and what they cost in memory.

Usage: node test/bench/scrape.ts [options]

  --count COUNT   deployments (10,000). Each has eight series, six more for its seven backups, and two revisions
  --rounds COUNT  scrapes (20)
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    count: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '20' },
  },
});
const COUNT = Number(values.count);
const ROUNDS = Number(values.rounds);
const GOALS = { milliseconds: 1000, blocked: 250, bytes: 40 * 2 ** 20 };

/** Messages of the measured process. Memory is in bytes, the rest in milliseconds. */
type Filled = { port: number; held: number };
type Seen = { blocked: number; peak: number; cpu: number };

let version = 0;
const meta = (name: string) => ({
  name,
  namespace: `team-${name.slice(-2)}`,
  resourceVersion: String((version += 1)),
});
const stated = (type: string, status: Condition['status'], reason: string): Condition => ({
  type,
  status,
  reason,
  message: 'The message is not part of a series, and this one is as long as most are.',
  lastTransitionTime: '2026-11-01T00:00:00Z',
});

/** Two that are always there, and five that warn. The certificate is the eighth series. */
const CONDITIONS = [
  stated('Ready', 'True', 'Serving'),
  stated('Serving', 'True', 'Serving'),
  stated('DatabaseReady', 'True', 'Ready'),
  stated('FieldsWithoutEffect', 'True', 'NoGateway'),
  stated('Unauthenticated', 'True', 'AskedFor'),
  stated('TokenMounted', 'True', 'Automounted'),
  stated('PodSecurityOpen', 'True', 'NothingEnforced'),
  stated('ProxyNotAdmitted', 'True', 'NoProxyConfigured'),
];
/** The same with backups that are overdue and not verified, so that all their series are there. */
const BACKED_UP = [
  ...CONDITIONS,
  stated('BackedUp', 'False', 'Overdue'),
  stated('Restored', 'Unknown', 'Restoring'),
];

function fill(caches: Caches): void {
  const until = '2027-01-01T00:00:00Z';
  for (let index = 0; index < COUNT; index += 1) {
    const name = `settled-${String(index).padStart(5, '0')}`;
    const made: DeploymentResource = deployment({
      metadata: meta(name),
      status: { conditions: BACKED_UP, databaseCertificateUntil: until },
    });
    caches.deployments.addIfNewer(made, 'list');
    for (const number of [1, 2]) {
      const { spec } = revision(made);
      const status = { phase: 'DEPLOYED' } as const;
      caches.revisions.addIfNewer(
        { ...revision(made), metadata: meta(`${name}-0000${number}`), spec, status },
        'list',
      );
    }
    for (let day = 1; day <= 7; day += 1)
      caches.backups.addIfNewer(backupOf(made, `2026110${day}t000000z`, day === 7), 'list');
  }
}

function backupOf(
  { metadata }: DeploymentResource,
  backup: string,
  failed: boolean,
): BackupResource {
  const time = '2026-11-01T00:00:00Z';
  return {
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Backup',
    metadata: { ...meta(`${metadata.name}-${backup}`), namespace: metadata.namespace ?? '' },
    spec: {
      deployment: metadata.name,
      deploymentUid: metadata.uid ?? '',
      backup,
      target: 'main',
      method: 'dump',
    },
    status: failed
      ? { phase: 'Failed' }
      : { phase: 'Succeeded', from: time, until: time, sizeBytes: 2 ** 33, verified: time },
  };
}

const inUse = (): number => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/**
 * Fills caches without metrics and then others with them, because the difference is what the metrics hold. The heap is
 * kept small as in the operator.
 */
async function serve(): Promise<void> {
  watchHeap();
  const before = inUse();
  let plain: Caches | undefined = createCaches();
  fill(plain);
  const cached = inUse() - before;
  plain = undefined;
  const empty = inUse();
  const caches = createCaches();
  const metrics = new OperatorMetrics();
  exportObjects(metrics, caches);
  fill(caches);
  const held = inUse() - empty - cached;
  const server = await serveHealth({
    host: '127.0.0.1',
    port: 0,
    log: silentLog(),
    metrics,
    missing: () => undefined,
    isOverdue: () => false,
  });
  const resting = process.memoryUsage.rss();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  let peak = resting;
  let used = process.cpuUsage();
  setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5).unref();
  process.on('message', () => {
    const { user, system } = process.cpuUsage(used);
    process.send?.({
      blocked: delay.max / 1e6,
      peak: peak - resting,
      cpu: (user + system) / 1000,
    } satisfies Seen);
    delay.reset();
    used = process.cpuUsage();
  });
  process.once('disconnect', () => process.exit());
  process.send?.({ port: server.port, held } satisfies Filled);
}

async function heard<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, 'message')) as [T];
  return message;
}

async function measure(): Promise<void> {
  const env = { PATH: process.env.PATH, ...memorySettings('gx-platform') };
  const child = fork(import.meta.filename, process.argv.slice(2), { env });
  const { port, held } = await heard<Filled>(child);
  const ask = (): Promise<Seen> => (child.send('look'), heard<Seen>(child));
  await ask();
  const times: number[] = [];
  let bytes = 0;
  let series = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = performance.now();
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    times.push(performance.now() - started);
    bytes = text.length;
    series = text.split('\n').filter((line) => line.includes('deployment="')).length;
    await wait(200);
  }
  const { blocked, peak, cpu } = await ask();
  child.disconnect();
  const table = new Table();
  const slowest = Math.max(...times);
  table.title(
    `Scrapes of ${COUNT} deployments (${Math.round(series / COUNT)} series each, ${megabytes(bytes)} of text)`,
  );
  table.row('a scrape: median', `${Math.round(quantile(times, 0.5))} ms`);
  table.row('the slowest', `${Math.round(slowest)} ms`, {
    says: `<= ${GOALS.milliseconds} ms`,
    met: slowest <= GOALS.milliseconds,
  });
  table.row('its CPU, with all threads', `${Math.round(cpu / ROUNDS)} ms`);
  table.row('longest block of the event loop', `${Math.round(blocked)} ms`, {
    says: `<= ${GOALS.blocked} ms`,
    met: blocked <= GOALS.blocked,
  });
  table.row('memory that the series hold', megabytes(held), {
    says: `<= ${megabytes(GOALS.bytes)}`,
    met: held <= GOALS.bytes,
  });
  table.row('memory (RSS) that scrapes add at their peak', megabytes(peak), {
    says: `<= ${megabytes(GOALS.bytes)}`,
    met: peak <= GOALS.bytes,
  });
  process.stdout.write(table.toString());
  if (table.missed > 0) process.exitCode = 1;
}

await runMain(async () => {
  if (values.help) process.stdout.write(HELP);
  else await (process.send === undefined ? measure() : serve());
});
