import { readTrustedProxies } from '../address-blocks.ts';
import { readProxies } from '../proxies.ts';
import { SettingsReader, type Env } from '../env.ts';
import { readTracingSettings } from '../tracing.ts';

export type GatewayConfig = ReturnType<typeof readGatewayConfig>;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Reads the settings of the gateway. Throws one `StartError` with every problem. */
export function readGatewayConfig(env: Env) {
  const read = new SettingsReader(env);
  const config = {
    host: read.readText(['GX_SERVER_HOST'], '0.0.0.0'),
    /** The port at which agents report, and scalers read counts. */
    port: read.readInteger(['GX_SERVER_PORT', 'PORT'], 8080, { min: 0, max: 65_535 }),
    /** The port of /healthz, /readyz and /metrics. */
    healthPort: read.readInteger(['GX_HEALTH_PORT'], 8081, { min: 0, max: 65_535 }),
    /** The port at which the operator reads the reports of all deployments. */
    reportsPort: read.readInteger(['GX_REPORTS_PORT'], 8082, { min: 0, max: 65_535 }),
    proxies: readProxies(read),
    logLevel: read.readOneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', LOG_LEVELS),
    namespace: read.readText(['GX_NAMESPACE'], 'gx-system'),
    /** The namespaces whose deployments are known. Empty means all of the cluster. */
    namespaces: read.readWords(['GX_WATCH_NAMESPACES']),
    clusterDomain: read.readText(['GX_CLUSTER_DOMAIN'], 'cluster.local'),
    /** Where keys of a deployment's tenant are checked. Undefined: nowhere, and they wake nobody. */
    controlPlaneUrl: read.readOptional(['GX_CONTROL_PLANE_URL']),
    /** Hosts of tenants' identity providers that may be at private addresses, in lower case. Others must be public. */
    issuerHosts: read.readWords(['GX_ISSUER_HOSTS']).map((host) => host.toLowerCase()),
    /** Addresses and blocks of proxies whose `X-Forwarded-*` count. */
    trustedProxies: readTrustedProxies(read),
    /** Where spans of requests go that it passes on; undefined where nothing is traced. */
    tracing: readTracingSettings(read, 'gx-gateway'),
    /** Seconds that a request for a deployment that wakes is held at most. */
    holdSeconds: read.readInteger(['GX_HOLD_SECONDS'], 90, { min: 1, max: 3600 }),
    /** How many requests are held at a time, of one deployment and in all. */
    held: {
      perDeployment: read.readInteger(['GX_HELD_PER_DEPLOYMENT'], 1000, { min: 1, max: 1_000_000 }),
      total: read.readInteger(['GX_HELD_REQUESTS'], 5000, { min: 1, max: 1_000_000 }),
    },
  };
  read.finish();
  return config;
}
