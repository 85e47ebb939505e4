import type { AgentConfig } from '../../config/agent/agent.ts';
import { Unavailable, StartError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';
import { AgentKeys } from '../auth/agent-keys.ts';
import {
  buildHandlerAuthentication,
  buildOwnerCallers,
  openToAll,
  openToOwners,
  openToUser,
  type AuthenticateDeps,
  type CallerRequest,
  type Guarding,
} from '../auth/authenticate.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { buildCredentialAuthentication } from '../auth/closed.ts';
import { listUnknownHandlers } from '../auth/events.ts';
import { buildPassAuthentication, type PassRules } from '../auth/passes.ts';
import { passKeyOf } from '../../tokens/agent-pass.ts';
import { TenantKeys } from '../../tokens/tenant-keys.ts';
import { UserCache } from '../auth/user-cache.ts';
import type { GraphsFile } from '../gx-json/read.ts';
import { IssuerTokens } from '../../tokens/issuer-tokens.ts';
import { logFieldsOf, type Logging } from '../tracing/agent-log.ts';
import { UserCode } from '../user-code/host.ts';
import type { PythonSettings } from '../../config/agent/python.ts';
import {
  buildPythonPlace,
  choosePython,
  checkInterpreter,
  buildPythonRunner,
} from '../graphs/python.ts';
import { buildProcessOpener } from '../user-code/process.ts';
import type { OpenCodeRunner } from '../user-code/worker.ts';

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
  config: AgentConfig;
  file: GraphsFile;
} & Logging;

/** Decides who may call by the handlers of `auth.path`, if `code` has any, or by the configuration. */
export async function openAuthentication(
  { config, file, log }: Settings,
  opening: Promise<UserCode | undefined>,
): Promise<Authentication> {
  const { auth, settings } = file;
  const code = await opening;
  if (auth === undefined || code === undefined)
    return { ...createDefaultAuthentication(config, log), code };
  if (code.handles.size === 0)
    log.warn(
      'auth.path registers no handler with on(): every user who is let in may do everything',
    );
  const idle = listUnknownHandlers(code.handles);
  if (idle.length > 0)
    log.warn(
      { handlers: idle },
      'auth.path registers handlers for events that this server does not have; they are never asked',
    );
  const { cache } = settings.auth ?? {};
  const handlers: AuthenticateDeps = {
    authenticate: (request) => code.ask('authenticate', request),
    authorize: (question) => code.ask('authorize', question),
    handles: () => code.handles,
    cache: cache && new UserCache(cache),
  };
  const passes = settings.auth?.disable_studio_auth === false ? passRules(config, log) : undefined;
  const callerOf =
    passes === undefined
      ? buildHandlerAuthentication(handlers)
      : buildPassAuthentication(
          passes,
          buildHandlerAuthentication(handlers),
          buildStudioCaller(handlers),
        );
  return { guard: 'handlers', callerOf, callerFor: buildOwnerCallers(handlers), code };
}

/**
 * Returns the caller that a user of the platform is where handlers decide what each may do. Its name begins with a
 * word of its own, so that nobody there passes for a user of the deployment.
 */
const buildStudioCaller =
  ({ authorize, handles }: AuthenticateDeps) =>
  (user: AuthUser, { source }: CallerRequest): AgentCaller => {
    const identity = `studio:${user.identity}`;
    return {
      identity,
      source,
      guard: { user: { ...user, identity }, handles: handles(), authorize },
    };
  };

/** Returns how passes are checked; undefined for a server that has no key of its deployment. */
function passRules({ access, reports }: AgentConfig, log: Log): PassRules | undefined {
  const keyFolder = access.keyFolder ?? (access.key === undefined ? reports?.keyFolder : undefined);
  if (access.key === undefined && keyFolder === undefined) return undefined;
  let known: AgentKeys | undefined;
  const readPassKeys = (): Uint8Array[] => {
    try {
      known ??= new AgentKeys({ access: { key: access.key, keyFolder }, log });
    } catch (error) {
      throw new Unavailable(
        'The key of this deployment can not be read now, so the pass is not checked; try again.',
        { cause: error },
      );
    }
    return known.readHashes().map(passKeyOf);
  };
  return { keys: readPassKeys, deploymentId: access.tenantKeys?.deploymentId };
}

/**
 * Loads `auth.path`, `encryption.path` and `http.app`, if gx.json names any. Throws a `StartError` that says what is
 * wrong with them.
 */
export async function openUserCode({
  config,
  file,
  log,
  lines,
}: Settings): Promise<UserCode | undefined> {
  const { auth, app, encryption, env, settings } = file;
  if (auth === undefined && app === undefined && encryption === undefined) return undefined;
  const seconds = config.encryptionTimeoutSeconds;
  const within = {
    auth: config.authTimeoutSeconds * 1000,
    encryption: seconds * 1000,
    app: config.appTimeoutSeconds * 1000,
  };
  const guarded =
    settings.http?.enable_custom_route_auth === true &&
    settings.http.middleware_order !== 'auth_first';
  // The port of the debugger is that of the graphs.
  const development = config.python.development && {
    ...config.python.development,
    debugPort: undefined,
  };
  const logging = {
    logLevel: config.logLevel,
    logFields: logFieldsOf(config),
    prettyLog: config.prettyLog,
  };
  const code = new UserCode({
    start: {
      auth,
      app,
      encryption: encryption && { ...encryption, seconds },
      guarded,
      env,
      ...logging,
      development,
    },
    within,
    log,
    line: lines && ((line) => lines.addLine(line)),
    ...(file.codeLanguage === 'python' && {
      open: openPythonCode(config.python, config.prettyLog, file, log),
    }),
  });
  try {
    await code.open();
  } catch (error) {
    await code.close();
    throw error;
  }
  return code;
}

function createDefaultAuthentication(config: AgentConfig, log: Log): Omit<Authentication, 'code'> {
  const { access } = config;
  const hasKey = access.key !== undefined || access.keyFolder !== undefined;
  const openers = {
    keys: hasKey ? new AgentKeys({ access, log }) : undefined,
    tenantKeys: access.tenantKeys && new TenantKeys({ place: access.tenantKeys, log }),
    tokens:
      access.tokens &&
      new IssuerTokens({ rules: access.tokens, realm: 'agent', proxies: config.proxies, log }),
  };
  const isOpen = Object.values(openers).every((opener) => opener === undefined);
  const { roleClaim } = access.tokens ?? {};
  const others = isOpen ? openToAll : buildCredentialAuthentication({ ...openers, roleClaim });
  // An open agent looks at passes, too: somebody who may only read reaches it by one.
  const passes = passRules(config, log);
  const callerOf =
    passes === undefined ? others : buildPassAuthentication(passes, others, openToUser);
  return { guard: isOpen ? 'open' : 'key', callerOf, callerFor: openToOwners };
}

/** Returns a function that opens the user's own code in Python. Throws a `StartError` where there is no interpreter. */
function openPythonCode(
  settings: PythonSettings,
  prettyLog: boolean | undefined,
  file: GraphsFile,
  log: Log,
): OpenCodeRunner {
  const { folder } = file;
  const chosen = choosePython(settings, folder);
  if ('fault' in chosen) throw new StartError(chosen.fault);
  const runner = buildPythonRunner(buildPythonPlace(chosen.program, settings, file), {
    megabytes: undefined,
    role: 'user-code',
  });
  return buildProcessOpener({
    runner,
    faultOf: () => checkInterpreter(chosen, folder, settings.namedBy),
    prettyLog,
    log,
  });
}
