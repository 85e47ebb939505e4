import type { BodyLimits } from '../../http/bodies/body.ts';
import { readTrustedProxies } from '../address-blocks.ts';
import { readProxies } from '../proxies.ts';
import { SettingsReader, type Env } from '../env.ts';
import { readGitHosts, readGitIntegrations } from './git-integrations.ts';
import { readObjectKeys } from './object-keys.ts';
import { readPrometheusUrl } from './prometheus.ts';
import { readRoutes, type RouteSettings } from './routes.ts';
import { readOidcConfig } from '../oidc.ts';
import { readTracingSettings } from '../tracing.ts';

/** Parts of a pod, beyond the harmless ones, that an installation may let REST users set. */
const GRANTS = [
  'secrets',
  'claims',
  'projected',
  'csi',
  'nfs',
  'privileged',
  'accounts',
  'tokens',
  'placement',
] as const;
export type Grant = (typeof GRANTS)[number];

const HOSTINGS = ['self-hosted', 'cloud', 'both'] as const;
export type Hosting = (typeof HOSTINGS)[number];

/** How much one caller may do at a time, and how often; 0 means any number. */
export type KeyLimits = {
  streamsPerKey: number;
  streamsPerTenant: number;
  failedLoginsPerMinute: number;
};

export type ControlPlaneConfig = ReturnType<typeof readControlPlaneConfig>;

/** The tenant of everything that names none. It is fixed, so that a single-tenant installation needs no setting. */
export const DEFAULT_TENANT_ID = '00000000-0000-4000-8000-000000000000';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Reads the settings of the control plane. Throws one `StartError` with every problem. */
export function readControlPlaneConfig(env: Env) {
  const settings = new SettingsReader(env);
  const namespaces = settings.readWords(['GX_WATCH_NAMESPACES']);
  const { route }: { route?: RouteSettings | undefined } = readRoutes(settings, namespaces);
  const config = {
    host: settings.readText(['GX_SERVER_HOST'], '0.0.0.0'),
    port: settings.readInteger(['GX_SERVER_PORT', 'PORT'], 8080, { min: 0, max: 65_535 }),
    /** The port of /healthz, /readyz and /metrics, in plain HTTP. */
    healthPort: settings.readInteger(['GX_HEALTH_PORT'], 8081, { min: 0, max: 65_535 }),
    /** The certificate that it serves and the key, as files. Undefined means plain HTTP. */
    tls: readTlsFiles(settings),
    proxies: readProxies(settings),
    logLevel: settings.readOneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', LOG_LEVELS),
    /** Where this process, its API keys and the Listeners live. */
    namespace: settings.readText(['GX_NAMESPACE', 'POD_NAMESPACE'], 'default'),
    /** The namespaces whose deployments are served. Empty means all of the cluster. */
    namespaces,
    /** The installation's namespaces for agents. They are the default tenant's unless a label says otherwise. */
    agentNamespaces: settings.readWords(['GX_AGENT_NAMESPACES']),
    hosting: settings.readOneOf(['GX_HOSTING'], 'self-hosted', HOSTINGS),
    defaultTenantId: settings.readText(['GX_DEFAULT_TENANT_ID'], DEFAULT_TENANT_ID).toLowerCase(),
    grants: settings.readSomeOf(['GX_REST_ALLOW'], GRANTS),
    /** Keys of labels and annotations that REST users may ask for besides harmless ones. */
    objectKeys: readObjectKeys(settings),
    gitIntegrations: readGitIntegrations(settings),
    /** Hosts with which REST users may connect, also at private addresses; empty: any of https with a public one. */
    gitHosts: readGitHosts(settings),
    buildNamespace: settings.readOptional(['GX_BUILD_NAMESPACE']),
    buildkitNamespace: settings.readOptional(['GX_BUILDKIT_NAMESPACE']),
    /** Where Secrets of git integrations are kept. Undefined: REST takes no credential. */
    gitNamespace: settings.readOptional(['GX_GIT_NAMESPACE']),
    /** Where builds push, and the Secret with which nodes pull from there: each image there is of one namespace. */
    builtImages: {
      repository: settings.readOptional(['GX_BUILDER_REPOSITORY'])?.replace(/\/+$/, ''),
      pullSecret: settings.readOptional(['GX_BUILDER_PULL_SECRET']),
    },
    /** Names of the installation's Secrets and volume claims that lie beside agents, as those of backup targets. */
    reserved: {
      secrets: settings.readWords(['GX_RESERVED_SECRETS']),
      claims: settings.readWords(['GX_RESERVED_CLAIMS']),
    },
    /** The routes of deployments, by which custom URLs are checked. Undefined: there are none. */
    route,
    /** Whether checks of rollouts may ask a Prometheus server. */
    asksPrometheus: readPrometheusUrl(settings) !== undefined,
    body: readBodyLimits(settings),
    limits: {
      streamsPerKey: settings.readInteger(['GX_STREAMS_PER_KEY'], 100, { min: 0, max: 100_000 }),
      streamsPerTenant: settings.readInteger(['GX_STREAMS_PER_TENANT'], 400, {
        min: 0,
        max: 100_000,
      }),
      failedLoginsPerMinute: 600,
    },
    /** Addresses and blocks of proxies whose `X-Forwarded-*` count. */
    trustedProxies: readTrustedProxies(settings),
    /** Where spans of requests go; undefined where nothing is traced. */
    tracing: readTracingSettings(settings, 'gx-control-plane'),
    /** The file with the secret by which the console's word about clients is known. Undefined: it is not. */
    clientKeyFile: settings.readOptional(['GX_CLIENT_KEY_FILE']),
    /** Undefined means that only API keys are accepted, and no bearer tokens. */
    oidc: readOidcConfig(settings),
    /** Seconds after SIGTERM in which requests are still served, because load balancers notice late. */
    shutdownDelaySeconds: settings.readInteger(['GX_SHUTDOWN_DELAY_SECONDS'], 5, {
      min: 0,
      max: 600,
    }),
    /** Seconds that open requests get to finish after that. */
    graceSeconds: 20,
  };
  if (!UUID.test(config.defaultTenantId))
    settings.addProblem('GX_DEFAULT_TENANT_ID must be a uuid');
  settings.finish();
  return config;
}

/** Most lists of the interface have a smaller bound of their own. */
function readBodyLimits(settings: SettingsReader): BodyLimits {
  const bytes = settings.readInteger(['GX_BODY_LIMIT_BYTES'], 1024 * 1024, {
    min: 1000,
    max: 300 * 1024 * 1024,
  });
  return { bytes, selectionBytes: bytes, values: 100_000, listItems: 1000 };
}

function readTlsFiles(settings: SettingsReader): { cert: string; key: string } | undefined {
  const [cert, key] = [
    settings.readOptional(['GX_TLS_CERT_FILE']),
    settings.readOptional(['GX_TLS_KEY_FILE']),
  ];
  if ((cert === undefined) !== (key === undefined))
    settings.addProblem('GX_TLS_CERT_FILE and GX_TLS_KEY_FILE must both be set, or neither');
  return cert === undefined || key === undefined ? undefined : { cert, key };
}
