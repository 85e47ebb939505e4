import type { SettingsReader } from './env.ts';

/*
 * Names of settings that other servers of this interface read, and that ask for something this one does not do.
 * Ignoring them would break what a deployment promises, such as encrypted data or authenticated callers, so the process
 * exits at startup. Names that ask for nothing it lacks are ignored.
 */

type NotServed = { names: string[]; asks?: (value: string) => boolean; instead: string };

const on = (value: string): boolean => ['true', '1', 'yes', 'on'].includes(value.toLowerCase());
const NOT_BUILT = 'this server does not do that yet';
const IN_FILE = 'its section of gx.json is what this server reads';

const NOT_SERVED: NotServed[] = [
  { names: ['GX_AES_KEY', 'LANGGRAPH_AES_KEY', 'GX_AES_JSON_KEYS', 'LANGGRAPH_AES_JSON_KEYS', 'LANGGRAPH_ENCRYPTION'], instead: NOT_BUILT },
  { names: ['LANGGRAPH_AUTH', 'LANGGRAPH_THREAD_TTL', 'LANGGRAPH_WEBHOOKS'], instead: NOT_BUILT },
  { names: ['LANGGRAPH_AUTH_TYPE'], asks: (value) => value !== 'noop', instead: NOT_BUILT },
  {
    names: ['LANGSERVE_GRAPHS', 'LANGGRAPH_HTTP', 'LANGGRAPH_STORE', 'LANGGRAPH_CHECKPOINTER', 'LANGGRAPH_UI', 'LANGGRAPH_UI_CONFIG'],
    instead: IN_FILE,
  },
  { names: ['POSTGRES_URI_CUSTOM'], instead: 'DATABASE_URI names the database' },
  { names: ['FF_RICH_THREADS'], asks: (value) => !on(value), instead: 'threads are always updated when a run is made' },
  {
    names: ['SELF_HOSTED_LOGS_ENABLED', 'LANGGRAPH_LOGS_ENABLED'],
    asks: on,
    instead: 'logs are lines on standard output, for a collector to take from there',
  },
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
