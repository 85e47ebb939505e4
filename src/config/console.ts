import { trustedProxies } from './address-blocks.ts';
import { SettingsReader, type Env } from './env.ts';

export type ConsoleConfig = {
  host: string;
  /** The port of the page and of its requests. */
  port: number;
  /** The port of /healthz, /readyz and /metrics. */
  healthPort: number;
  logLevel: string;
  /** Where the control plane answers. */
  controlPlaneUrl: URL;
  /** The domain of Services, in which agents answer. */
  clusterDomain: string;
  /** The file with the secret that seals sessions. Undefined: this process makes one for itself. */
  sessionKeyFile: string | undefined;
  /** Addresses and blocks of proxies whose `X-Forwarded-*` count. */
  trustedProxies: string[];
  /** The file with the secret by which it signs its word about clients to the control plane. Undefined: it does not. */
  clientKeyFile: string | undefined;
  /** Seconds after SIGTERM in which requests are still served, because load balancers notice late. */
  shutdownDelaySeconds: number;
  /** Seconds that open requests get to finish after that. */
  graceSeconds: number;
};

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Reads the settings of the console. Throws one `StartError` with every problem. */
export function consoleConfig(env: Env): ConsoleConfig {
  const read = new SettingsReader(env);
  const config: ConsoleConfig = {
    host: read.text(['GX_SERVER_HOST'], '0.0.0.0'),
    port: read.integer(['GX_SERVER_PORT', 'PORT'], 8080, { min: 0, max: 65_535 }),
    healthPort: read.integer(['GX_HEALTH_PORT'], 8081, { min: 0, max: 65_535 }),
    logLevel: read.oneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', LOG_LEVELS),
    controlPlaneUrl: controlPlaneUrl(read),
    clusterDomain: read.text(['GX_CLUSTER_DOMAIN'], 'cluster.local'),
    sessionKeyFile: read.optional(['GX_SESSION_KEY_FILE']),
    trustedProxies: trustedProxies(read),
    clientKeyFile: read.optional(['GX_CLIENT_KEY_FILE']),
    shutdownDelaySeconds: read.integer(['GX_SHUTDOWN_DELAY_SECONDS'], 5, { min: 0, max: 600 }),
    graceSeconds: 5,
  };
  read.finish();
  return config;
}

function controlPlaneUrl(read: SettingsReader): URL {
  const unset = new URL('http://unset.invalid');
  const text = read.optional(['GX_CONTROL_PLANE_URL']);
  if (text === undefined) {
    read.problem('GX_CONTROL_PLANE_URL is not set (where the control plane answers)');
    return unset;
  }
  const url = URL.canParse(text) ? new URL(text) : unset;
  if (['http:', 'https:'].includes(url.protocol) && url !== unset && url.search === '' && url.username === '') return url;
  read.problem('GX_CONTROL_PLANE_URL must be an address of http or https without credentials and without a query');
  return unset;
}
