/*
 * Environment names that the platform sets in a deployment's pods. A secret with such a name would be overridden or
 * would break the pod, so the REST API refuses it.
 */

const RESERVED: readonly string[] = [
  'PORT',
  'DATABASE_URI',
  'POSTGRES_URI',
  'GX_DATABASE_URI',
  'GX_DATABASE_ADDRESS',
  'GX_SERVER_PORT',
  'GX_METRICS_PORT',
  'GX_DEPLOYMENT',
  'GX_REVISION',
  'GX_PIN',
  'GX_POSTGRES_MAX_CONNECTIONS',
  'GX_POSTGRES_POOL_MAX_SIZE',
  'GX_POSTGRES_WAIT_SECONDS',
  'BG_JOB_SHUTDOWN_GRACE_PERIOD_SECS',
  'GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS',
  'GX_TENANT_ID',
  'GX_AGENT_KEY',
  'GX_AGENT_KEY_FOLDER',
  'GX_AUTH_CHECK_URL',
  'GX_AUTH_ISSUER',
  'GX_AUTH_AUDIENCE',
  'GX_AUTH_JWKS_URL',
  'GX_AUTH_ROLE_CLAIM',
  'GX_REPORT_URL',
  'GX_REPORT_KEY_FOLDER',
];
const RESERVED_PREFIXES: readonly string[] = ['GX_DEPLOYMENT_', 'GX_REVISION_', 'KUBERNETES_'];

/** True when the platform sets this name itself. */
export const isReservedEnv = (name: string): boolean =>
  RESERVED.includes(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix));
