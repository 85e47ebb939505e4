import { expect } from 'vitest';

/*
 * The metrics that dashboards and alerts may ask for, with their labels, by process. Tests of the processes hold their
 * real scrapes against this table, and those of the chart its queries.
 */

type Table = Record<string, readonly string[]>;

const OF_NODE: Table = { process_resident_memory_bytes: [], nodejs_eventloop_lag_max_seconds: [] };
const OF_WATCHES: Table = { watch_last_event_age_seconds: ['kind', 'namespace', 'selector'] };
const OF_REQUESTS: Table = { rest_client_requests_total: ['code', 'method', 'host'] };
const OF_HTTP: Table = { gx_http_request_duration_seconds: ['method', 'route', 'status', 'le'] };
const OF = ['namespace', 'deployment'];

const METRIC_NAMES = {
  operator: {
    ...OF_NODE,
    ...OF_WATCHES,
    ...OF_REQUESTS,
    controller_runtime_reconcile_total: ['controller', 'result'],
    controller_runtime_reconcile_panics_total: ['controller'],
    workqueue_depth: ['name'],
    leader_election_master_status: ['name'],
    gx_faulty_objects: ['kind', 'reason'],
    gx_deployment_condition: [...OF, 'condition', 'status', 'reason'],
    gx_revisions: ['namespace', 'phase'],
    gx_revision_phase: [...OF, 'revision', 'phase'],
    gx_pod_restarts: [...OF, 'component', 'pod'],
    gx_database_certificate_expiry_timestamp_seconds: OF,
    gx_database_volume_used_bytes: OF,
    gx_database_volume_size_bytes: OF,
    gx_backup_last_success_timestamp_seconds: OF,
    gx_backup_last_failure_timestamp_seconds: OF,
    gx_backup_last_verified_timestamp_seconds: OF,
    gx_backup_size_bytes: OF,
    gx_backup_archive_lag_seconds: OF,
    gx_rollout_given_up_timestamp_seconds: [...OF, 'revision', 'cause'],
  },
  'control-plane': {
    ...OF_NODE,
    ...OF_WATCHES,
    ...OF_REQUESTS,
    ...OF_HTTP,
    gx_faulty_objects: ['kind', 'reason'],
    gx_control_plane_refusals_total: ['reason'],
    gx_control_plane_failed_logins_total: ['reason'],
    gx_control_plane_open_streams: [],
    gx_control_plane_certificate_expiry_timestamp_seconds: [],
  },
  gateway: {
    ...OF_NODE,
    ...OF_WATCHES,
    gx_gateway_held_requests: [],
    gx_gateway_refused_requests_total: [],
    gx_gateway_wakes_total: [],
  },
  console: {
    ...OF_NODE,
    ...OF_HTTP,
    gx_console_passed_requests: [],
    gx_console_sign_ins_total: ['result'],
  },
  agent: {
    ...OF_NODE,
    gx_api_num_pending_runs: [],
    gx_api_num_running_runs: [],
    gx_api_pending_unblocked_runs_wait_time_max_seconds: [],
    gx_api_workers_max: [],
    gx_api_runs_total: ['status'],
    gx_api_run_seconds: ['le'],
    gx_api_run_wait_seconds: ['le'],
    gx_api_run_attempts_total: ['attempt'],
    gx_api_runs_lost_total: ['outcome'],
    gx_api_open_streams: [],
    gx_api_cron_lag_seconds: [],
    gx_api_webhooks_total: ['result'],
    gx_api_spans_dropped_total: [],
    gx_api_log_lines_dropped_total: [],
    gx_api_http_request_seconds: ['method', 'route', 'status', 'le'],
    gx_database_up: [],
    gx_database_connections: [],
    gx_database_connections_max: [],
    gx_database_size_bytes: [],
  },
} satisfies Record<string, Table>;

/** Labels that an agent's metrics have, and those that a monitor gives to all of a pod. */
const COMMON: Record<keyof typeof METRIC_NAMES, readonly string[]> = {
  operator: [],
  'control-plane': [],
  gateway: [],
  console: [],
  agent: ['deployment', 'revision'],
};
const OF_TARGET = ['namespace', 'pod', 'container', 'job', 'instance', 'endpoint'];

/** Returns the labels that a metric has in Prometheus, by the name of its series; undefined for an unknown one. */
export function labelsOfSeries(series: string): Set<string> | undefined {
  const name = series.replace(/_(bucket|sum|count)$/, '');
  const found = Object.entries(METRIC_NAMES).flatMap(([process, table]: [string, Table]) => {
    const labels = table[series] ?? table[name];
    return labels === undefined
      ? []
      : [...labels, ...COMMON[process as keyof typeof COMMON], ...OF_TARGET];
  });
  return found.length === 0 ? undefined : new Set(found);
}

const TYPE = /^# TYPE (\w+) /gm;
const LABEL = /(\w+)="(?:[^"\\]|\\.)*"/g;

/** Holds a scrape of a process to the table: it has all metrics that are not `absent`, and no labels beside theirs. */
export function expectListedMetrics(
  process: keyof typeof METRIC_NAMES,
  scrape: string,
  absent: readonly string[] = [],
): void {
  const table: Table = METRIC_NAMES[process];
  const there = new Set([...scrape.matchAll(TYPE)].map(([, name]) => name));
  expect(Object.keys(table).filter((name) => !there.has(name))).toEqual(absent);
  for (const line of scrape
    .split('\n')
    .filter((one) => !one.startsWith('#') && one.includes('{'))) {
    const series = line.slice(0, line.indexOf('{'));
    const labels = table[series] ?? table[series.replace(/_(bucket|sum|count)$/, '')];
    if (labels === undefined) continue;
    const found = [...line.slice(0, line.lastIndexOf('}')).matchAll(LABEL)].map(
      ([, label]) => label,
    );
    expect({
      series,
      extra: found.filter((label) => ![...labels, ...COMMON[process]].includes(label!)),
    }).toEqual({ series, extra: [] });
  }
}
