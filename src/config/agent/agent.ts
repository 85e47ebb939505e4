import { parseCommandOptions } from '../../commands.ts';
import { toError } from '../../errors.ts';
import type { BodyLimits } from '../../http/bodies/body.ts';
import { createValidator } from '../../http/bodies/validate.ts';
import { LARGEST_INTEGER } from '../../schema/agent/agent-types.ts';
import { BudgetList, listBudgetFaults, type Budget } from '../../schema/agent/budget.ts';
import { Cors } from '../../schema/agent/gx-json.ts';
import { hasSeveralHosts, SEVERAL_HOSTS } from '../../schema/platform/spec/database-address.ts';
import { type Pin, PINS } from '../../schema/platform/rollout/pins.ts';
import { readTrustedProxies } from '../address-blocks.ts';
import { readAgentAccess } from './agent-access.ts';
import { readAssistantDefaultsText } from './assistant-defaults.ts';
import { readEncryptionSettings } from './encryption.ts';
import { readProxies } from '../proxies.ts';
import { SettingsReader, type Env } from '../env.ts';
import { readFileSections } from './gx-json.ts';
import { readPythonSettings, type PythonSettings } from './python.ts';
import { streamSettings } from './streams.ts';
import { readWebhookSettings } from './webhooks.ts';
import { readLangsmithProject, logSettings, readTracingSettings } from '../tracing.ts';
import { readWorkReportSettings } from './work-reports.ts';

export const AGENT_SERVER_HELP = `gx-platform agent-server: the server of one deployment: assistants, threads, runs, streams

Usage: node src/main.ts agent-server [options]

  --config <file>   the graph configuration (default GX_CONFIG, or ./gx.json)
  --port <number>   where it answers (default GX_SERVER_PORT, or 8000)

It needs DATABASE_URI, a Postgres connection string. Other settings come from the environment, too;
docs/reference/agent-server.md lists them.
`;

export type AgentConfig = ReturnType<typeof readSettings> & {
  /**
   * Set for a server on a developer's machine, which pages of the web must not reach; `loopback`: nor other machines.
   */
  localPages: { loopback: boolean } | undefined;
  /** Whether a person reads the log as it is written. */
  prettyLog?: boolean | undefined;
};

export type JobSettings = ReturnType<typeof readJobSettings>;

/**
 * The most streams that one caller may hold open, and the most runs that it may start in a minute; 0 means any number.
 */
export type CallerLimits = { streams: number; runsPerMinute: number };

const DAY = 86_400;

/**
 * Seconds. Runs of a worker that is silent continue elsewhere within 30: a lease that was just renewed runs out after
 * 20, and others look for it every third of that, which makes 26.7. A worker renews every third as well, so two
 * renewals may fail before somebody else takes its runs.
 */
const LEASE = 20;
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

function readMetricsPort(read: SettingsReader): number | undefined {
  const name = 'GX_METRICS_PORT';
  return read.readOptional([name]) === undefined
    ? undefined
    : read.readInteger([name], 0, { min: 0, max: 65_535 });
}

function readMountPrefix(read: SettingsReader): string {
  const prefix = read.readText(['GX_MOUNT_PREFIX', 'MOUNT_PREFIX'], '');
  if (prefix !== '' && !prefix.startsWith('/'))
    read.addProblem('MOUNT_PREFIX must begin with a slash');
  return prefix;
}

/** The words of Python's servers, which existing deployments use. */
const ALIASES = { warning: 'warn', critical: 'fatal', notset: 'trace' } as const;

function logLevel(read: SettingsReader): string {
  const level = read.readOneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', [
    ...LEVELS,
    ...(Object.keys(ALIASES) as (keyof typeof ALIASES)[]),
  ]);
  return level in ALIASES ? ALIASES[level as keyof typeof ALIASES] : level;
}

/**
 * Reads the settings of `agent-server`: GX_ names first, then the names that existing deployments use. Throws one
 * `StartError` with every problem.
 */
export function readAgentConfig(env: Env, args: string[] = []): AgentConfig {
  const flags = parseCommandOptions(
    args,
    { config: { type: 'string' }, port: { type: 'string' } },
    { name: 'agent-server' },
  );
  const read = new SettingsReader({
    ...env,
    ...(flags.config && { GX_CONFIG: flags.config }),
    ...(flags.port && { GX_SERVER_PORT: flags.port }),
  });
  const config = { ...readSettings(read), localPages: undefined };
  read.finish();
  return config;
}

/**
 * Returns why an agent server would not start with these variables, a sentence for each problem that begins with a
 * name. The database is the deployment's own.
 */
export function checkAgentEnvironment(env: Env): string[] {
  const read = new SettingsReader({ DATABASE_URI: 'postgresql://own', ...env });
  readSettings(read);
  return read.problems;
}

function readSettings(read: SettingsReader) {
  refuseNotServed(read);
  const python: PythonSettings = readPythonSettings(read);
  return {
    host: read.readText(['GX_SERVER_HOST', 'LANGGRAPH_SERVER_HOST'], '::'),
    port: read.readInteger(['GX_SERVER_PORT', 'PORT'], 8000, { min: 0, max: 65_535 }),
    /** A port of its own for the metrics. Undefined: they are at the port of the API, where that lets a caller in. */
    metricsPort: readMetricsPort(read),
    logLevel: logLevel(read),
    configPath: read.readText(['GX_CONFIG', 'GX_CONFIG_PATH'], './gx.json'),
    /** Sections of that file that came as variables, for those that it does not have. */
    sections: readFileSections(read),
    /** JSON: graph id -> config of its own assistant. */
    assistantDefaults: readAssistantDefaultsText(read),
    mountPrefix: readMountPrefix(read),
    /** Where clients find the server, when requests do not name it. */
    publicUrl: read.readOptional(['GX_PUBLIC_URL', 'LANGGRAPH_API_URL']),
    /** Addresses and blocks of proxies whose `X-Forwarded-*` count. */
    trustedProxies: readTrustedProxies(read),
    /** Whose pages may call, if gx.json has no `http.cors`. Empty allows any. */
    cors: readCors(read),
    /** Whether pages of public sites may call a server in a private network. */
    privateNetwork: read.readFlag(['GX_ALLOW_PRIVATE_NETWORK', 'ALLOW_PRIVATE_NETWORK'], false),
    body: readBodyLimits(read),
    callers: {
      streams: read.readInteger(['GX_STREAMS_PER_CALLER'], 1000, { min: 0, max: 1_000_000 }),
      runsPerMinute: read.readInteger(['GX_RUNS_PER_MINUTE'], 60_000, { min: 0, max: 100_000_000 }),
    },
    /**
     * The least number of seconds after SIGTERM in which requests are still served, because load balancers notice late.
     */
    shutdownDelaySeconds: read.readInteger(['GX_SHUTDOWN_DELAY_SECONDS'], 0, { min: 0, max: 600 }),
    database: readDatabaseSettings(read),
    jobs: readJobSettings(read),
    /** The command of a process that runs all graphs. Undefined: the language of each decides. */
    runner: read.readOptional(['GX_RUNNER'])?.split(' '),
    python,
    /** Whether making a run changes the record of its thread. */
    richThreads: read.readFlag(['GX_RICH_THREADS', 'FF_RICH_THREADS'], true),
    proxies: readProxies(read),
    webhooks: readWebhookSettings(read),
    streams: streamSettings(read),
    access: readAgentAccess(read),
    reports: readWorkReportSettings(read),
    /** Seconds after which the credentials of an open stream or WebSocket are checked again. */
    authCheckSeconds: read.readInteger(['GX_AUTH_CHECK_SECS'], 300, { min: 1, max: 3600 }),
    /** Seconds that a handler of `auth.path` may take. */
    authTimeoutSeconds: read.readInteger(['GX_AUTH_TIMEOUT_SECS'], 10, { min: 1, max: 300 }),
    /** Seconds that a handler of `encryption.path` may take. */
    encryptionTimeoutSeconds: read.readInteger(['GX_ENCRYPTION_TIMEOUT_SECS'], 10, {
      min: 1,
      max: 300,
    }),
    usage: {
      /** Whether calls of models are written down. Undefined: those of graphs in Python, to which it costs nothing. */
      isMeasured:
        read.readOptional(['GX_USAGE']) === undefined
          ? undefined
          : read.readFlag(['GX_USAGE'], false),
      /** Days after which a call is deleted. */
      keepDays: read.readInteger(['GX_USAGE_KEEP_DAYS'], 90, { min: 1, max: 3650 }),
    },
    /** The budgets of the deployment's owner. */
    budgets: readBudgets(read),
    crons: read.readFlag(['GX_CRONS_ENABLED', 'FF_CRONS_ENABLED'], true),
    /** Seconds that `http.app` may take to begin an answer. */
    appTimeoutSeconds: read.readInteger(['GX_HTTP_APP_TIMEOUT_SECS'], 300, { min: 1, max: 3600 }),
    /** Whether event streaming (protocol v2) is served, unless gx.json turns it off. */
    eventStreaming: read.readFlag(['GX_V2_EVENT_STREAMING', 'FF_V2_EVENT_STREAMING'], true),
    deployment: read.readOptional(['GX_DEPLOYMENT']),
    revision: read.readOptional(['GX_REVISION']),
    /** How runs keep to the revision on which they began. */
    pin: readPin(read),
    /** The folder with the results of the image's build. */
    buildFolder: read.readOptional(['GX_BUILD_FOLDER']),
    /** Milliseconds that reading the types of graphs may take; 0 reads none. */
    typesWithin: read.readInteger(
      ['GX_SCHEMA_RESOLVE_TIMEOUT_MS', 'LANGGRAPH_SCHEMA_RESOLVE_TIMEOUT_MS'],
      30_000,
      { min: 0, max: 600_000 },
    ),
    /** The project of LangSmith's library in graphs; none where the environment names one, or without a deployment. */
    langsmithProject: readLangsmithProject(read),
    /** Undefined means no traces, and no cost of them. */
    tracing: readTracingSettings(read),
    /** Where lines of the log go besides standard output. */
    logs: logSettings(read),
    /** Undefined means that the database holds values as they are. */
    encryption: readEncryptionSettings(read),
  };
}

/** Reads the whole section as JSON, or only its origins. */
function readCors(read: SettingsReader): Cors {
  const names = ['GX_CORS_CONFIG', 'CORS_CONFIG'];
  const given = read.readJson(names);
  if (given === undefined) {
    const origins = read.readWords(['GX_CORS_ALLOW_ORIGINS', 'CORS_ALLOW_ORIGINS']);
    return origins.length > 0 ? { allow_origins: origins } : {};
  }
  try {
    return createValidator()(Cors, 'body')(given, 'body') as Cors;
  } catch (error) {
    read.addProblem(
      `${names.find((name) => read.readOptional([name]) !== undefined)}: ${toError(error).message.replaceAll(/\bbody\.?/g, '')}`,
    );
    return {};
  }
}

/** Reads a list of budgets as JSON. A fault names its field. */
function readBudgets(read: SettingsReader): Budget[] {
  const given = read.readJson(['GX_BUDGETS']);
  if (given === undefined) return [];
  try {
    const budgets = createValidator()(BudgetList, 'body')(given, 'body') as Budget[];
    for (const { at, field, msg } of listBudgetFaults(budgets))
      read.addProblem(`GX_BUDGETS: ${at}.${field}: ${msg}`);
    return budgets;
  } catch (error) {
    read.addProblem(`GX_BUDGETS: ${toError(error).message.replaceAll(/\bbody\.?/g, '')}`);
    return [];
  }
}

const readBodyLimits = (read: SettingsReader): BodyLimits => ({
  bytes: read.readInteger(
    ['GX_HTTP_MAX_REQUEST_BODY_BYTES', 'HTTP_MAX_REQUEST_BODY_BYTES'],
    20 * 1024 * 1024,
    {
      min: 1024,
      max: Number.MAX_SAFE_INTEGER,
    },
  ),
  selectionBytes: 1024 * 1024,
  values: 100_000,
  listItems: 1000,
});

function readDatabaseSettings(read: SettingsReader) {
  return {
    uri: readDatabaseAddress(read),
    /** Seconds that a start waits for a database that does not answer yet. */
    waitSeconds: read.readInteger(['GX_POSTGRES_WAIT_SECONDS'], 0, { min: 0, max: 3600 }),
    connections:
      read.readOptional(['GX_POSTGRES_MAX_CONNECTIONS']) === undefined
        ? undefined
        : read.readInteger(['GX_POSTGRES_MAX_CONNECTIONS'], 5, { min: 5, max: 10_000 }),
    poolSize: read.readInteger(
      ['GX_POSTGRES_POOL_MAX_SIZE', 'LANGGRAPH_POSTGRES_POOL_MAX_SIZE'],
      20,
      { min: 2, max: 1000 },
    ),
    statementTimeoutSeconds: 15 * 60,
  };
}

const DATABASE = ['DATABASE_URI', 'GX_DATABASE_URI', 'POSTGRES_URI'];

/** Returns the address of the database: the one that was chosen instead of the server's own, or its own. */
function readDatabaseAddress(read: SettingsReader): string {
  const chosen = read.readOptional(['POSTGRES_URI_CUSTOM']);
  if (chosen !== undefined && !/^postgres(ql)?:\/\/./.test(chosen))
    read.addProblem('POSTGRES_URI_CUSTOM must begin with postgresql://');
  const address = chosen ?? read.readRequired(DATABASE, 'the Postgres connection string');
  const name =
    chosen === undefined
      ? DATABASE.find((each) => read.readOptional([each]) !== undefined)
      : 'POSTGRES_URI_CUSTOM';
  if (hasSeveralHosts(address)) read.addProblem(`${name} ${SEVERAL_HOSTS}`);
  return address;
}

function readJobSettings(read: SettingsReader) {
  return {
    /** How many runs execute at a time in this process. With 0 it only serves requests. */
    slots: read.readInteger(['GX_JOBS_PER_WORKER', 'N_JOBS_PER_WORKER'], 10, { min: 0, max: 1000 }),
    /** How many threads graphs run in, at most. 0 takes as many as the machine and the memory limit allow. */
    threads: read.readInteger(['GX_WORKER_THREADS'], 0, { min: 0, max: 64 }),
    /** Megabytes of heap of each thread. 0 divides the memory limit. */
    heapMegabytes: read.readInteger(['GX_WORKER_HEAP_MB'], 0, { min: 0, max: 1_000_000 }),
    graceSeconds: read.readInteger(
      ['GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS', 'BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS'],
      180,
      { min: 0, max: DAY },
    ),
    timeoutSeconds: read.readInteger(['GX_JOB_TIMEOUT_SECS', 'BG_JOB_TIMEOUT_SECS'], DAY, {
      min: 1,
      max: 30 * DAY,
    }),
    maxAttempts: read.readInteger(['GX_JOB_MAX_RETRIES', 'BG_JOB_MAX_RETRIES'], 3, {
      min: 1,
      max: 100,
    }),
    /** A run whose worker has been silent for this long is taken over. */
    leaseSeconds: read.readInteger(['GX_JOB_LEASE_SECS'], LEASE, { min: 2, max: 3600 }),
    recursionLimit: read.readInteger(
      ['GX_DEFAULT_RECURSION_LIMIT', 'LANGGRAPH_DEFAULT_RECURSION_LIMIT'],
      25,
      { min: 1, max: 1_000_000 },
    ),
    maxRecursionLimit: read.readInteger(['GX_MAX_RECURSION_LIMIT'], 100_000, {
      min: 1,
      max: LARGEST_INTEGER,
    }),
    /** How many runs of the deployment may wait for a worker; 0 means any number. */
    maxQueued: read.readInteger(['GX_MAX_QUEUED_RUNS'], 100_000, { min: 0, max: 100_000_000 }),
  };
}

/** The words as they are read, in small letters. */
const WORDS = { run: 'Run', thread: 'Thread', none: 'None' } as const satisfies Record<
  Lowercase<Pin>,
  Pin
>;

/** Reads how runs keep to the revision on which they began. */
function readPin(read: SettingsReader): Pin {
  const words = PINS.map((pin) => pin.toLowerCase() as Lowercase<Pin>);
  return WORDS[read.readOneOf(['GX_PIN'], 'none', words)];
}

/*
 * Names of settings that other servers of this interface read and that ask for something that this one does not do. To
 * ignore them would break a promise of the deployment, such as encrypted data, so the process exits at startup. Names
 * that only set how another server works inside are ignored; docs/reference/configuration-names.md lists them.
 */

const isSwitchedOn = (value: string): boolean =>
  ['true', '1', 'yes', 'on'].includes(value.toLowerCase());

/** Variables that are refused when they ask for something. */
export const NOT_SERVED: readonly {
  names: string[];
  asks?: (value: string) => boolean;
  instead: string;
}[] = [
  {
    names: ['LANGGRAPH_AUTH_TYPE'],
    asks: (value) => value !== 'noop',
    instead: 'auth of gx.json says who may call',
  },
  { names: ['LANGGRAPH_METRICS_ENABLED'], asks: isSwitchedOn, instead: 'metrics are at /metrics' },
];

/** Adds a problem for each name that is set and asks for something. */
function refuseNotServed(read: SettingsReader): void {
  for (const { names, asks = () => true, instead } of NOT_SERVED)
    for (const name of names) {
      const value = read.readOptional([name]);
      if (value !== undefined && asks(value))
        read.addProblem(`${name} can't be honoured: ${instead}; remove it`);
    }
}
