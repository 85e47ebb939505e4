import { readTrustedProxies } from '../address-blocks.ts';
import { SettingsReader, type Env } from '../env.ts';

export type ConsoleConfig = ReturnType<typeof readConsoleConfig>;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Reads the settings of the console. Throws one `StartError` with every problem. */
export function readConsoleConfig(env: Env) {
  const read = new SettingsReader(env);
  const config = {
    host: read.readText(['GX_SERVER_HOST'], '0.0.0.0'),
    /** The port of the page and of its requests. */
    port: read.readInteger(['GX_SERVER_PORT', 'PORT'], 8080, { min: 0, max: 65_535 }),
    /** The port of /healthz, /readyz and /metrics. */
    healthPort: read.readInteger(['GX_HEALTH_PORT'], 8081, { min: 0, max: 65_535 }),
    logLevel: read.readOneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', LOG_LEVELS),
    controlPlaneUrl: readControlPlaneUrl(read),
    /** The domain of Services, in which agents answer. */
    clusterDomain: read.readText(['GX_CLUSTER_DOMAIN'], 'cluster.local'),
    /** The file with the secret that seals sessions. Undefined: this process makes one for itself. */
    sessionKeyFile: read.readOptional(['GX_SESSION_KEY_FILE']),
    /** Addresses and blocks of proxies whose `X-Forwarded-*` count. */
    trustedProxies: readTrustedProxies(read),
    /** The file with the secret by which it signs its word about clients to the control plane; else it does not. */
    clientKeyFile: read.readOptional(['GX_CLIENT_KEY_FILE']),
    /** Seconds after SIGTERM in which requests are still served, because load balancers notice late. */
    shutdownDelaySeconds: read.readInteger(['GX_SHUTDOWN_DELAY_SECONDS'], 5, { min: 0, max: 600 }),
    /** Seconds that open requests get to finish after that. */
    graceSeconds: 5,
  };
  read.finish();
  return config;
}

function readControlPlaneUrl(read: SettingsReader): URL {
  const unset = new URL('http://unset.invalid');
  const text = read.readOptional(['GX_CONTROL_PLANE_URL']);
  if (text === undefined) {
    read.addProblem('GX_CONTROL_PLANE_URL is not set (where the control plane answers)');
    return unset;
  }
  const url = URL.canParse(text) ? new URL(text) : unset;
  if (
    ['http:', 'https:'].includes(url.protocol) &&
    url !== unset &&
    url.search === '' &&
    url.username === ''
  )
    return url;
  read.addProblem(
    'GX_CONTROL_PLANE_URL must be an address of http or https without credentials and without a query',
  );
  return unset;
}
