import { SettingsReader, type Env } from './env.ts';

export type GatewayConfig = {
  host: string;
  /** The port at which agents report, and scalers read figures. */
  port: number;
  /** The port of /healthz, /readyz, /metrics and /figures, for the platform itself. */
  healthPort: number;
  logLevel: string;
  /** The namespaces whose deployments are known. Empty means all of the cluster. */
  namespaces: string[];
};

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Reads the settings of the gateway. Throws one `StartError` with every problem. */
export function gatewayConfig(env: Env): GatewayConfig {
  const read = new SettingsReader(env);
  const config: GatewayConfig = {
    host: read.text(['GX_SERVER_HOST'], '0.0.0.0'),
    port: read.integer(['GX_SERVER_PORT', 'PORT'], 8080, { min: 0, max: 65_535 }),
    healthPort: read.integer(['GX_HEALTH_PORT'], 8081, { min: 0, max: 65_535 }),
    logLevel: read.oneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', LOG_LEVELS),
    namespaces: read.words(['GX_WATCH_NAMESPACES']),
  };
  read.finish();
  return config;
}
