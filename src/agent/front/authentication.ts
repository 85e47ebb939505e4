import type { AgentConfig } from '../../config/agent.ts';
import type { Log } from '../../log.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import { AgentKeys } from '../auth/agent-keys.ts';
import {
  byHandlers,
  byOwner,
  openToAll,
  openToOwners,
  type AuthenticateDeps,
  type CallerRequest,
  type Guarding,
} from '../auth/authenticate.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { byCredentials } from '../auth/closed.ts';
import { namesWithoutEvent } from '../auth/events.ts';
import { TenantKeys } from '../../tokens/tenant-keys.ts';
import { UserCache } from '../auth/user-cache.ts';
import type { GraphsFile } from '../gx-json/read.ts';
import { IssuerTokens } from '../../tokens/issuer-tokens.ts';
import { logFieldsOf, type Logging } from '../tracing/agent-log.ts';
import { UserCode } from '../user-code/host.ts';
import { openPythonCode } from './python-code.ts';

/** Identifies callers by their credentials in a request. Throws the refusal of a caller without access. */
export type Authentication = {
  guard: Guarding;
  callerOf: (request: CallerRequest) => Promise<AgentCaller> | AgentCaller;
  /** Returns a caller that stands for a user who was let in before. Throws where it may do nothing. */
  callerFor: (owner: AuthUser | null) => AgentCaller;
  /** The thread or process of `auth.path`, `encryption.path` and `http.app`; undefined without any. */
  code: UserCode | undefined;
};

type Settings = {
  config: Pick<
    AgentConfig,
    'access' | 'authTimeoutSeconds' | 'encryptionTimeoutSeconds' | 'appTimeoutSeconds' | 'logLevel' | 'deployment' | 'revision' | 'python'
  >;
  file: Pick<GraphsFile, 'auth' | 'app' | 'encryption' | 'codeLanguage' | 'env' | 'folder' | 'settings'>;
} & Logging;

/** Decides who may call by the handlers of `auth.path`, if `code` has any, or by the configuration. */
export async function openAuthentication({ config, file, log }: Settings, opening: Promise<UserCode | undefined>): Promise<Authentication> {
  const { auth, settings } = file;
  const code = await opening;
  if (auth === undefined || code === undefined) return { ...withoutHandlers(config, log), code };
  if (code.handles.size === 0) log.warn('auth.path registers no handler with on(): every user who is let in may do everything');
  const idle = namesWithoutEvent(code.handles);
  if (idle.length > 0)
    log.warn({ handlers: idle }, 'auth.path registers handlers for events that this server does not have; they are never asked');
  const { cache } = settings.auth ?? {};
  const handlers: AuthenticateDeps = {
    authenticate: (request) => code.ask('authenticate', request),
    authorize: (question) => code.ask('authorize', question),
    handles: () => code.handles,
    cache: cache && new UserCache(cache),
  };
  return { guard: 'handlers', callerOf: byHandlers(handlers), callerFor: byOwner(handlers), code };
}

/**
 * Loads `auth.path`, `encryption.path` and `http.app`, if gx.json names any. Throws a `StartError` that says what is
 * wrong with them.
 */
export async function openUserCode({ config, file, log, lines }: Settings): Promise<UserCode | undefined> {
  const { auth, app, encryption, env, settings } = file;
  if (auth === undefined && app === undefined && encryption === undefined) return undefined;
  const seconds = config.encryptionTimeoutSeconds;
  const within = { auth: config.authTimeoutSeconds * 1000, encryption: seconds * 1000, app: config.appTimeoutSeconds * 1000 };
  const guarded = settings.http?.enable_custom_route_auth === true && settings.http.middleware_order !== 'auth_first';
  // The port of the debugger is that of the graphs.
  const development = config.python.development && { ...config.python.development, debugPort: undefined };
  const logging = { logLevel: config.logLevel, logFields: logFieldsOf(config) };
  const code = new UserCode({
    start: { auth, app, encryption: encryption && { ...encryption, seconds }, guarded, env, ...logging, development },
    within,
    log,
    line: lines && ((line) => lines.line(line)),
    ...(file.codeLanguage === 'python' && { open: openPythonCode({ settings: config.python, file, log }) }),
  });
  try {
    await code.open();
  } catch (error) {
    await code.close();
    throw error;
  }
  return code;
}

function withoutHandlers({ access }: Pick<AgentConfig, 'access'>, log: Log): Omit<Authentication, 'code'> {
  const hasKey = access.key !== undefined || access.keyFolder !== undefined;
  const openers = {
    keys: hasKey ? new AgentKeys({ access, log }) : undefined,
    tenantKeys: access.tenantKeys && new TenantKeys({ place: access.tenantKeys, log }),
    tokens: access.tokens && new IssuerTokens({ rules: access.tokens, realm: 'agent', log }),
  };
  const isOpen = Object.values(openers).every((opener) => opener === undefined);
  const { roleClaim } = access.tokens ?? {};
  const who = isOpen
    ? ({ guard: 'open', callerOf: openToAll } as const)
    : ({ guard: 'key', callerOf: byCredentials({ ...openers, roleClaim }) } as const);
  return { ...who, callerFor: openToOwners };
}
