import { SettingsReader, type Env } from './env.ts';
import { oidcConfig, type OidcConfig } from './oidc.ts';

/** What an installation may let REST users put into a pod beyond the harmless parts. */
const GRANTS = ['secrets', 'claims', 'projected', 'csi', 'nfs', 'privileged'] as const;
export type Grant = (typeof GRANTS)[number];

const HOSTINGS = ['self-hosted', 'cloud'] as const;
export type Hosting = (typeof HOSTINGS)[number];

export type GitRepository = { id: number; name: string; owner: string; url: string; default_branch: string };
/** A connection to a git host, and the repositories from which it lets deployments be made. */
type GitIntegration = { id: string; name: string; installation_id: number; repos?: GitRepository[] };

export type ControlPlaneConfig = {
  host: string;
  port: number;
  logLevel: string;
  /** Where this process, its API keys and the Listeners live. */
  namespace: string;
  /** The namespaces whose deployments are served. Empty means all of the cluster. */
  namespaces: string[];
  hosting: Hosting;
  defaultTenantId: string;
  grants: Grant[];
  gitIntegrations: GitIntegration[];
  bodyLimit: number;
  /** Undefined means that only API keys are accepted, and no bearer tokens. */
  oidc: OidcConfig | undefined;
  /** Seconds after SIGTERM in which requests are still served, because load balancers notice late. */
  shutdownDelaySeconds: number;
  /** Seconds that open requests get to finish after that. */
  graceSeconds: number;
};

/** The tenant of everything that names none. It is fixed, so that a single-tenant installation needs no setting. */
export const DEFAULT_TENANT_ID = '00000000-0000-4000-8000-000000000000';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Reads the settings of the control plane. Throws one `StartError` with every problem. */
export function controlPlaneConfig(env: Env): ControlPlaneConfig {
  const settings = new SettingsReader(env);
  const config: ControlPlaneConfig = {
    host: settings.text(['GX_SERVER_HOST'], '0.0.0.0'),
    port: settings.integer(['GX_SERVER_PORT', 'PORT'], 8080, { min: 0, max: 65_535 }),
    logLevel: settings.oneOf(['GX_LOG_LEVEL', 'LOG_LEVEL'], 'info', LOG_LEVELS),
    namespace: settings.text(['GX_NAMESPACE', 'POD_NAMESPACE'], 'default'),
    namespaces: settings.words(['GX_WATCH_NAMESPACES']),
    hosting: settings.oneOf(['GX_HOSTING'], 'self-hosted', HOSTINGS),
    defaultTenantId: settings.text(['GX_DEFAULT_TENANT_ID'], DEFAULT_TENANT_ID).toLowerCase(),
    grants: settings.someOf(['GX_REST_ALLOW'], GRANTS),
    gitIntegrations: integrations(settings),
    bodyLimit: settings.integer(['GX_BODY_LIMIT_BYTES'], 5_000_000, { min: 1000, max: 100_000_000 }),
    oidc: oidcConfig(settings),
    shutdownDelaySeconds: settings.integer(['GX_SHUTDOWN_DELAY_SECONDS'], 5, { min: 0, max: 600 }),
    graceSeconds: settings.integer(['GX_SHUTDOWN_GRACE_SECONDS'], 20, { min: 0, max: 3600 }),
  };
  if (!UUID.test(config.defaultTenantId)) settings.problem('GX_DEFAULT_TENANT_ID must be a uuid');
  settings.finish();
  return config;
}

function integrations(settings: SettingsReader): GitIntegration[] {
  const value = settings.json(['GX_GIT_INTEGRATIONS']) ?? [];
  const whole = Array.isArray(value) && value.every(isIntegration);
  const repos = '"repos"?: [{"id": number, "name", "owner", "url", "default_branch": text}]';
  if (!whole) settings.problem(`GX_GIT_INTEGRATIONS must be a list of {"id": uuid, "name": text, "installation_id": number, ${repos}}`);
  return whole ? (value as GitIntegration[]) : [];
}

function isIntegration(value: unknown): boolean {
  const { id, name, installation_id: installation, repos = [] } = (value ?? {}) as Record<string, unknown>;
  const own = typeof id === 'string' && UUID.test(id) && typeof name === 'string' && Number.isInteger(installation);
  return own && Array.isArray(repos) && repos.every(isRepository);
}

function isRepository(value: unknown): boolean {
  const { id, ...texts } = (value ?? {}) as Record<string, unknown>;
  return Number.isInteger(id) && ['name', 'owner', 'url', 'default_branch'].every((name) => typeof texts[name] === 'string');
}
