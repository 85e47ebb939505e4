import type { SettingsReader } from './env.ts';

/*
 * Names of settings that other servers of this interface read. Some ask for something that this one does not do: to
 * ignore them would break what a deployment promises, such as encrypted data, so the process exits at startup. Others
 * say how another server works inside, and have nothing to do here.
 */

/** Variables without an effect. */
export const NO_EFFECT: readonly string[] = [
  'A2A_A2UI_ENABLED',
  'A2A_ALLOWED_TOOL_CALL_RESULTS',
  'BG_JOB_ISOLATED_LOOPS',
  'CHECKPOINT_BATCH_DELAY',
  'CHECKPOINT_MAX_BATCH_SIZE',
  'CRON_SCHEDULER_BATCH_SIZE',
  'CRON_SCHEDULER_SLEEP_TIME',
  'DD_API_KEY',
  'DEFAULT_A2A_ASSISTANT_ID',
  'DISPATCH_MODE',
  'FF_USE_CORE_API',
  'GX_CONTROL_PLANE_API_KEY',
  'LANGCHAIN_TRACING_SAMPLING_RATE',
  'LANGGRAPH_CLOUD_LICENSE_KEY',
  'LANGGRAPH_METRICS_ENDPOINT',
  'LANGGRAPH_METRICS_EXPORT_INTERVAL_MS',
  'LANGGRAPH_POSTGRES_EXTENSIONS',
  'LANGSMITH_API_KEY',
  'LANGSMITH_CONTROL_PLANE_API_KEY',
  'LANGSMITH_ENDPOINT',
  'LANGSMITH_RUNS_ENDPOINTS',
  'LANGSMITH_TRACING',
  'LOG_COLOR',
  'LOG_JSON',
  'MIGRATIONS_PATH',
  'OTEL_ENABLED',
  'REDIS_CLUSTER',
  'REDIS_MAX_CONNECTIONS',
  'RUN_STATS_CACHE_SECONDS',
  'STATS_INTERVAL_SECS',
];

type NotServed = { names: string[]; asks?: (value: string) => boolean; instead: string };

const on = (value: string): boolean => ['true', '1', 'yes', 'on'].includes(value.toLowerCase());

/** Variables that are refused when they ask for something. */
export const NOT_SERVED: readonly NotServed[] = [
  { names: ['LANGGRAPH_AUTH_TYPE'], asks: (value) => value !== 'noop', instead: 'auth of gx.json says who may call' },
  { names: ['LANGGRAPH_METRICS_ENABLED'], asks: on, instead: 'figures are at /metrics' },
];

/** Adds a problem for each name that is set and asks for something. */
export function refuseNotServed(read: SettingsReader): void {
  for (const { names, asks = () => true, instead } of NOT_SERVED)
    for (const name of names) {
      const value = read.optional([name]);
      if (value !== undefined && asks(value)) read.problem(`${name} can't be honoured: ${instead}; remove it`);
    }
}
