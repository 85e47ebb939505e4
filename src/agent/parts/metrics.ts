import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { createDatabaseMetrics, waitInTime } from './database-metrics.ts';
import { queueStats } from '../db/base/stats.ts';
import { loadNextTickDelay } from '../db/crons/cron-ticks.ts';
import type { AgentDeps } from './deps.ts';
import { createModelMetrics } from './model-metrics.ts';

export type Metrics = {
  answered(answer: { method: string; route: string; status: number; seconds: number }): void;
  prometheus(): Promise<{ text: string; type: string }>;
  json(): Promise<object>;
};

/** Seconds of runs, which take from moments to hours. */
const RUN_SECONDS = [0.1, 0.5, 1, 5, 15, 60, 300, 1800];
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

type Settable = { set(value: number): void };

/** Makes one metric under two names: ours, and the one that existing dashboards and scalers ask for. */
function createAliasedGauge(
  { name, ...own }: { name: string; help: string; registers: Registry[] },
  labels: Record<string, string>,
): Settable {
  const gauge = new Gauge({ name: `gx_api_${name}`, ...own });
  const alias = new Gauge({ name: `lg_api_${name}`, labelNames: Object.keys(labels), ...own });
  return {
    set: (value) => {
      gauge.set(value);
      alias.set(labels, value);
    },
  };
}

type MakeGauge = (name: string, help: string) => Settable;
/** Brings its metrics up to date, and returns them as JSON. */
type Read = () => object | Promise<object>;

function queueMetrics({ db, log }: AgentDeps, gauge: MakeGauge): Read {
  const gauges = {
    n_pending: gauge('num_pending_runs', 'Runs that wait for a worker or for their time.'),
    n_running: gauge('num_running_runs', 'Runs under way in all workers.'),
    pending_runs_wait_time_max_secs: gauge(
      'pending_runs_wait_time_max_seconds',
      'How long the oldest due run has waited.',
    ),
    pending_unblocked_runs_wait_time_max_secs: gauge(
      'pending_unblocked_runs_wait_time_max_seconds',
      'The same without those behind another run of their thread.',
    ),
    n_webhooks: gauge('num_pending_webhooks', 'Ended runs whose webhooks have yet to be sent.'),
  };
  return async () => {
    const queue = await waitInTime(queueStats(db), log);
    for (const [name, one] of Object.entries(gauges))
      one.set(queue === undefined ? Number.NaN : (queue[name as keyof typeof gauges] ?? 0));
    return queue ?? {};
  };
}

function createWorkerMetrics({ executor, jobs }: AgentDeps, gauge: MakeGauge): Read {
  const gauges = {
    max: gauge('workers_max', 'Runs this process takes at a time.'),
    active: gauge('workers_active', 'Runs under way here.'),
    available: gauge('workers_available', 'Runs this process could take now.'),
  };
  return () => {
    const values = {
      max: jobs.slots,
      active: executor.count,
      available: Math.max(0, jobs.slots - executor.count),
    };
    for (const [name, value] of Object.entries(values))
      gauges[name as keyof typeof gauges].set(value);
    return values;
  };
}

/** A counter that takes its values at each scrape, each under one value of its label. */
function createLabelledCounter<K extends string>(
  given: { name: string; help: string; label: string; registers: Registry[] },
  read: () => Record<K, number>,
) {
  const { label, ...own } = given;
  const counter = new Counter({ ...own, labelNames: [label] });
  return (): void => {
    counter.reset();
    for (const [value, count] of Object.entries<number>(read()))
      counter.inc({ [label]: value }, count);
  };
}

function runMetrics({ endedRuns }: AgentDeps, registers: Registry[]): Read {
  const ended = new Counter({
    name: 'gx_api_runs_total',
    help: 'Runs that ended here, by status.',
    labelNames: ['status'],
    registers,
  });
  const createHistogram = (name: string, help: string): Histogram =>
    new Histogram({ name, help, buckets: RUN_SECONDS, registers });
  const waits = createHistogram(
    'gx_api_run_wait_seconds',
    'Time from when a run was due until it began here.',
  );
  const durations = createHistogram(
    'gx_api_run_seconds',
    'Time from the beginning of a run here to its end.',
  );
  endedRuns.reportTo({
    waited: (time) => waits.observe(time),
    ran: (time) => durations.observe(time),
  });
  const began = {
    name: 'gx_api_run_attempts_total',
    help: 'Attempts of runs that began here.',
    label: 'attempt',
    registers,
  };
  const lost = {
    name: 'gx_api_runs_lost_total',
    help: 'Runs under way whose worker this process found gone.',
    label: 'outcome',
    registers,
  };
  const others = [
    createLabelledCounter(began, () => endedRuns.attempts),
    createLabelledCounter(lost, () => endedRuns.lostRuns),
  ];
  return () => {
    for (const read of others) read();
    ended.reset();
    for (const [status, count] of endedRuns.byStatus) ended.inc({ status }, count);
    return Object.fromEntries(endedRuns.byStatus);
  };
}

function createWebhookMetrics({ courier }: AgentDeps, registers: Registry[]): Read {
  const help = 'Attempts to send webhooks here, by result.';
  const attempts = new Counter({
    name: 'gx_api_webhooks_total',
    help,
    labelNames: ['result'],
    registers,
  });
  const sending = new Gauge({
    name: 'gx_api_webhooks_sending',
    help: 'Webhooks that are being sent here.',
    registers,
  });
  return () => {
    attempts.reset();
    for (const [result, count] of Object.entries(courier.counts)) attempts.inc({ result }, count);
    sending.set(courier.count);
    return { ...courier.counts, sending: courier.count };
  };
}

function createEncryptionMetrics({ reencryption }: AgentDeps, registers: Registry[]): Read {
  const help = 'Earlier encryption keys that values may still need; NaN if nothing is encrypted.';
  const older = new Gauge({ name: 'gx_api_encryption_older_keys', help, registers });
  const name = 'gx_api_encryption_rewritten_total';
  const rewritten = new Counter({
    name,
    help: 'Rows that this process encrypted again, because an earlier key had encrypted them.',
    registers,
  });
  return () => {
    older.set(reencryption.olderKeys ?? Number.NaN);
    rewritten.reset();
    rewritten.inc(reencryption.rewritten);
    return { older_keys: reencryption.olderKeys, rewritten: reencryption.rewritten };
  };
}

/** Counts records that a collector took, and those that were given up. */
function createShippedMetrics(
  shipped: AgentDeps['shipped']['lines'],
  { name, words, registers }: { name: string; words: string; registers: Registry[] },
): Read {
  if (shipped === undefined) return () => ({});
  const sent = new Counter({
    name: `gx_api_${name}_sent_total`,
    help: `${words} that a collector took.`,
    registers,
  });
  const dropped = new Counter({
    name: `gx_api_${name}_dropped_total`,
    help: `${words} that no collector got.`,
    registers,
  });
  return () => {
    sent.reset();
    sent.inc(shipped.counts.exported);
    dropped.reset();
    dropped.inc(shipped.counts.dropped);
    return { ...shipped.counts };
  };
}

/** Measures how late crons fire. Those of graphs that this revision lacks fire nowhere, and are not late. */
function createCronMetrics({ db, graphs, pinning, log }: AgentDeps, registers: Registry[]): Read {
  const lag = new Gauge({
    name: 'gx_api_cron_lag_seconds',
    help: 'How late the latest due cron is.',
    registers,
  });
  return async () => {
    const wait = await waitInTime(
      loadNextTickDelay(db, { graphs, except: [], revision: pinning.revision }).then(
        (found = 0) => found,
      ),
      log,
    );
    const late = wait === undefined ? Number.NaN : Math.max(0, -wait / 1000);
    lag.set(late);
    return { lag_secs: late };
  };
}

function createCallerMetrics({ callers }: AgentDeps, registers: Registry[]): Read {
  const help = 'Streams and waits for runs that clients hold open here.';
  const open = new Gauge({ name: 'gx_api_open_streams', help, registers });
  return () => {
    open.set(callers.open);
    return { open_streams: callers.open };
  };
}

function streamMetrics({ streamed: { publisher, store } }: AgentDeps, registers: Registry[]): Read {
  const skipped = new Counter({
    name: 'gx_api_stream_messages_skipped_total',
    help: 'Messages that were too large for streams.',
    registers,
  });
  const countSkipped = (): object => {
    skipped.reset();
    skipped.inc(publisher.skipped);
    return { skipped: publisher.skipped };
  };
  if (store === undefined) return countSkipped;
  const up = new Gauge({
    name: 'gx_api_stream_store_up',
    help: 'Whether the key-value store of streams answers.',
    registers,
  });
  const help = 'Events that this process wrote for readers elsewhere and later, by destination.';
  const events = new Counter({
    name: 'gx_api_stream_events_total',
    help,
    labelNames: ['to'],
    registers,
  });
  const turned = new Counter({
    name: 'gx_api_stream_fallbacks_total',
    help: 'Runs whose streams fell back to the database.',
    registers,
  });
  return () => {
    const { byStore, byTable, turned: count } = store.counts;
    up.set(store.isUp ? 1 : 0);
    events.reset();
    events.inc({ to: 'store' }, byStore);
    events.inc({ to: 'database' }, byTable);
    turned.reset();
    turned.inc(count);
    return { ...countSkipped(), ...store.counts, up: store.isUp };
  };
}

function createPoolMetrics({ db: { pool } }: AgentDeps, gauge: MakeGauge): Read {
  const connections = gauge('pg_pool_connections', 'Open database connections of this process.');
  return () => {
    connections.set(pool.totalCount);
    return { pool: { size: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount } };
  };
}

async function countRequests(requests: Histogram<string>): Promise<object> {
  const { values } = await requests.get();
  const counts = values.filter(({ metricName }) => metricName?.endsWith('_count') === true);
  return {
    requests: counts.map(({ labels: { method, route, status }, value }) => ({
      method,
      route,
      status,
      count: value,
    })),
  };
}

/**
 * Makes the metrics of this process and of the deployment's queue. Each carries the names of the deployment and the
 * revision.
 */
export function createMetrics(
  sources: AgentDeps,
  {
    deployment = '',
    revision = '',
  }: { deployment: string | undefined; revision: string | undefined },
): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ deployment, revision });
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'gx_api_http_request_seconds',
    help: 'Time to the answer, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers,
  });
  const createGauge: MakeGauge = (name, help) =>
    createAliasedGauge(
      { name, help, registers },
      { project_id: deployment, revision_id: revision },
    );
  const reads: Record<string, Read> = {
    queue: queueMetrics(sources, createGauge),
    workers: createWorkerMetrics(sources, createGauge),
    runs: runMetrics(sources, registers),
    webhooks: createWebhookMetrics(sources, registers),
    postgres: createPoolMetrics(sources, createGauge),
    database: createDatabaseMetrics(sources, registers),
    encryption: createEncryptionMetrics(sources, registers),
    log: createShippedMetrics(sources.shipped.lines, {
      name: 'log_lines',
      words: 'Lines of the log',
      registers,
    }),
    traces: createShippedMetrics(sources.shipped.spans, {
      name: 'spans',
      words: 'Spans',
      registers,
    }),
    callers: createCallerMetrics(sources, registers),
    streams: streamMetrics(sources, registers),
    crons: createCronMetrics(sources, registers),
    ...(sources.ledger && { models: createModelMetrics(sources.ledger.counts, registers) }),
    http: () => countRequests(requests),
  };
  const readAll = async (): Promise<object> => {
    const values: Record<string, object> = {};
    for (const [name, read] of Object.entries(reads)) values[name] = await read();
    return values;
  };
  return {
    answered: ({ method, route, status, seconds }) =>
      requests.observe({ method, route, status: String(status) }, seconds),
    prometheus: async () => {
      await readAll();
      return { text: await registry.metrics(), type: registry.contentType };
    },
    json: readAll,
  };
}
