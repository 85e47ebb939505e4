import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { queueStats } from './db/stats.ts';
import type { AgentDeps } from './deps.ts';

export type Metrics = {
  answered(answer: { method: string; route: string; status: number; seconds: number }): void;
  prometheus(): Promise<{ text: string; type: string }>;
  json(): Promise<object>;
};

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

type Settable = { set(value: number): void };

/** One figure under two names: ours, and the one that existing dashboards and scalers ask for. */
function twice({ name, ...own }: { name: string; help: string; registers: Registry[] }, labels: Record<string, string>): Settable {
  const gauge = new Gauge({ name: `gx_api_${name}`, ...own });
  const alias = new Gauge({ name: `lg_api_${name}`, labelNames: Object.keys(labels), ...own });
  return {
    set: (value) => {
      gauge.set(value);
      alias.set(labels, value);
    },
  };
}

/** Figures of this process and of the deployment's queue. */
export function createMetrics({ db, executor, jobs }: Pick<AgentDeps, 'db' | 'executor' | 'jobs'>, revision: string | undefined): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'gx_api_http_request_seconds',
    help: 'Time to the answer, by route.',
    labelNames: ['method', 'route', 'status'],
    buckets: SECONDS,
    registers,
  });
  const gauge = (name: string, help: string): Settable => twice({ name, help, registers }, { project_id: '', revision_id: revision ?? '' });
  const gauges = {
    n_pending: gauge('num_pending_runs', 'Runs that wait for a worker or for their time.'),
    n_running: gauge('num_running_runs', 'Runs under way in all workers.'),
    pending_runs_wait_time_max_secs: gauge('pending_runs_wait_time_max_seconds', 'How long the oldest due run has waited.'),
    pending_unblocked_runs_wait_time_max_secs: gauge(
      'pending_unblocked_runs_wait_time_max_seconds',
      'The same without those behind another run of their thread.',
    ),
  };
  const workers = {
    max: gauge('workers_max', 'Runs this process takes at a time.'),
    active: gauge('workers_active', 'Runs under way here.'),
    available: gauge('workers_available', 'Runs this process could take now.'),
  };
  const connections = gauge('pg_pool_connections', 'Open database connections of this process.');
  const read = async (): Promise<object> => {
    const queue = await queueStats(db);
    const active = executor.count;
    const available = Math.max(0, jobs.slots - active);
    for (const [name, one] of Object.entries(gauges)) one.set(queue[name as keyof typeof gauges] ?? 0);
    workers.max.set(jobs.slots);
    workers.active.set(active);
    workers.available.set(available);
    connections.set(db.pool.totalCount);
    const pool = { size: db.pool.totalCount, idle: db.pool.idleCount, waiting: db.pool.waitingCount };
    return { queue, workers: { max: jobs.slots, active, available }, postgres: { pool } };
  };
  return {
    answered: ({ method, route, status, seconds }) => requests.observe({ method, route, status: String(status) }, seconds),
    prometheus: async () => {
      await read();
      return { text: await registry.metrics(), type: registry.contentType };
    },
    json: read,
  };
}
