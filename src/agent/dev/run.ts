import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { type AgentAccess, OPEN_ACCESS } from '../../config/agent/agent-access.ts';
import { readAgentConfig, type AgentConfig } from '../../config/agent/agent.ts';
import { LentEnvironment, readProcessEnv } from '../../config/env.ts';
import { createLog, type Log } from '../../log.ts';
import { buildAgentKey } from '../../schema/wire/agent-key.ts';
import { maskPassword } from '../db/base/pool.ts';
import { readEnvFile } from '../gx-json/env-file.ts';
import { type GraphsFile, readGraphsFile } from '../gx-json/read.ts';
import { startPostgres } from './embedded-postgres/start.ts';
import {
  type FrontDoor,
  openFirstFreeDoor,
  openFrontDoor,
  USUAL_PORT,
  listUsualPorts,
} from './front-door.ts';
import { parseDevOptions, type DevOptions, HELP, refuseForJavaScript } from './options.ts';
import { Serving } from './serving.ts';
import { watchFolders } from './watch.ts';
import { buildExampleInput } from './example-input.ts';
import { findServedGraph, formatWelcome } from './welcome.ts';
import { buildSystemAssistantId } from '../kernel/ids.ts';
import { StartError } from '../../errors.ts';
import type { DevelopmentOfPython, PythonSettings } from '../../config/agent/python.ts';
import { choosePython } from '../graphs/python.ts';

type Stage = {
  options: DevOptions;
  log: Log;
  signal: AbortSignal;
  closing: (() => Promise<void> | void)[];
};

/**
 * Runs the agent server on a developer's machine. Whatever was started is stopped again, even when a later part fails
 * to start.
 */
export async function runDev(
  args: string[],
  signal: AbortSignal,
): Promise<{ stop(): Promise<void> } | void> {
  const options = parseDevOptions(args);
  if (options === undefined) {
    process.stdout.write(HELP);
    return;
  }
  const stage: Stage = { options, log: logFor(options), signal, closing: [] };
  const stop = async (): Promise<void> => {
    for (const close of stage.closing.splice(0).toReversed()) await close();
  };
  try {
    await start(stage);
  } catch (error) {
    await stop();
    if (!signal.aborted) throw error;
  }
  return { stop };
}

async function start(stage: Stage): Promise<void> {
  const { options, log, signal, closing } = stage;
  const file = readGraphsFile(options.config);
  refuseForJavaScript(options, file);
  // A port that was asked for must be free; the usual one may be another server's.
  const door = await (options.port === undefined
    ? openFirstFreeDoor(options.host, listUsualPorts())
    : openFrontDoor({ host: options.host, port: options.port }));
  closing.push(() => door.stop());
  const uri = options.databaseUri ?? (await startEmbeddedPostgres(stage, file, door));
  const lent = new LentEnvironment();
  // It stays the same when a reload reads the settings again.
  const ownKey = buildAgentKey(randomBytes);
  const readConfig = (): AgentConfig => {
    lent.setVariables(readDotEnvFile(options.config));
    return buildConfig(options, { uri, ownKey });
  };
  const serving = new Serving({ config: readConfig, log, door, signal });
  closing.push(() => serving.stop());
  await serving.start();
  signal.throwIfAborted();
  if (options.reload) closing.push(watchSources(file, serving));
  const data =
    options.databaseUri === undefined ? path.join(file.folder, '.gx') : maskPassword(uri);
  const isElsewhere = options.port === undefined && door.port !== USUAL_PORT;
  // Handlers of auth.path decide in place of a key.
  const key = file.auth === undefined ? readConfig().access.key : undefined;
  const url = buildUrl(options, door);
  const facts = {
    url,
    key,
    input: buildExampleInput(
      await fetchInputSchema(findServedGraph(file.graphs, serving.getFaults()), { url, key }),
    ),
    graphs: file.graphs,
    faults: serving.getFaults(),
    python: describePython(readConfig().python, file),
    data,
    reload: options.reload,
    isElsewhere,
  };
  process.stdout.write(formatWelcome({ ...facts, seconds: process.uptime() }));
}

/** Milliseconds that the first lines wait for a schema. */
const SCHEMA_WITHIN = 3000;

/** Returns the schema of a graph's input; undefined where it is not known in time, or is not for everybody. */
async function fetchInputSchema(
  graphId: string | undefined,
  { url, key }: { url: string; key: string | undefined },
): Promise<unknown> {
  if (graphId === undefined) return undefined;
  const options = {
    headers: key === undefined ? {} : { 'x-api-key': key },
    signal: AbortSignal.timeout(SCHEMA_WITHIN),
  };
  try {
    const answer = await fetch(
      `${url}/assistants/${buildSystemAssistantId(graphId)}/schemas`,
      options,
    );
    return ((await answer.json()) as { input_schema?: unknown }).input_schema;
  } catch {
    return undefined;
  }
}

/** Returns the address that a browser on this machine can open. */
const buildUrl = ({ host }: DevOptions, { port }: FrontDoor): string => {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
};

async function startEmbeddedPostgres(
  { options, log, signal, closing }: Stage,
  { folder }: GraphsFile,
  door: FrontDoor,
): Promise<string> {
  const home = path.join(folder, '.gx');
  mkdirSync(home, { recursive: true });
  writeFileSync(path.join(home, '.gitignore'), '*\n');
  const owner = `the dev server at ${buildUrl(options, door)}`;
  const postgres = await startPostgres({
    folder: path.join(home, 'postgres'),
    owner,
    durable: true,
    reset: options.reset,
    signal,
  });
  if (options.reset) log.info('the data of earlier starts is forgotten');
  let stopping = false;
  closing.push(() => {
    stopping = true;
    return postgres.stop();
  });
  const watchOver = async (): Promise<void> => {
    await postgres.ended;
    if (!stopping) giveUp(log, path.join(home, 'postgres', 'log'));
  };
  void watchOver();
  return postgres.uri;
}

/** Ends `dev`, because nothing works without Postgres. Everything still running is stopped in order, as by Ctrl-C. */
function giveUp(log: Log, file: string): void {
  log.fatal({ file }, 'Postgres ended by itself; its log says why');
  process.exitCode = 1;
  process.kill(process.pid, 'SIGTERM');
}

/**
 * Returns the settings, which each reload reads again, as the server reads gx.json. The port is the one behind the
 * door.
 */
function buildConfig(
  { config, host, python, logJson }: DevOptions,
  { uri, ownKey }: { uri: string; ownKey: string },
): AgentConfig {
  const env = {
    // A run that a reload or Ctrl-C cuts off goes on from its last step, so nothing is gained by waiting for it.
    GX_JOB_SHUTDOWN_GRACE_PERIOD_SECS: '0',
    ...readProcessEnv(),
    DATABASE_URI: uri,
    // --database-uri chooses another database than the embedded one.
    POSTGRES_URI_CUSTOM: undefined,
    GX_SERVER_HOST: '127.0.0.1',
    GX_SERVER_PORT: '0',
    GX_METRICS_PORT: undefined,
  };
  const settings = readAgentConfig(env, ['--config', config]);
  const loopback = host === 'localhost' || host === '::1' || host.startsWith('127.');
  const own = {
    access: chooseAccess(settings.access, { loopback, ownKey }),
    webhooks: { ...settings.webhooks, loopback: true },
    localPages: { loopback },
    prettyLog: !logJson,
    python: buildPythonSettings(settings.python, python),
  };
  return { ...settings, ...own };
}

/**
 * Returns who may call. A key that is meant for the deployment keeps nobody out of his own machine. Other machines need
 * a key, so there is always one for them.
 */
function chooseAccess(
  access: AgentAccess,
  { loopback, ownKey }: { loopback: boolean; ownKey: string },
): AgentAccess {
  if (loopback) return OPEN_ACCESS;
  return Object.values(access).every((opener) => opener === undefined)
    ? { ...access, key: ownKey }
    : access;
}

function watchSources(file: GraphsFile, serving: Serving): () => void {
  const outside = file.graphs
    // A module of Python has a name in place of a path.
    .filter((graph) => path.isAbsolute(graph.file))
    .map((graph) => path.dirname(graph.file))
    .concat(file.importFolders)
    .filter((folder) => path.relative(file.folder, folder).startsWith('..'));
  const watcher = watchFolders([...new Set([file.folder, ...outside])], (changed) =>
    serving.runReload(path.relative(file.folder, changed)),
  );
  return () => watcher.stop();
}

function logFor({ logJson }: DevOptions): Log {
  const level = readProcessEnv()['GX_LOG_LEVEL'] ?? 'info';
  return createLog({ level, process: 'dev', pretty: !logJson });
}

/**
 * Returns the variables of the `.env` beside gx.json, unless gx.json itself says something of the environment.
 * Deployments get their secrets in another way, so gx.json need not name a file that only developers have.
 */
export function readDotEnvFile(config: string): Record<string, string> {
  const { folder, settings, hasPython } = readGraphsFile(config);
  const file = path.join(folder, '.env');
  if (settings.env !== undefined || !existsSync(file)) return {};
  try {
    return readEnvFile(file, { python: hasPython });
  } catch (error) {
    throw new StartError(`${file} can't be read: ${(error as Error).message}.`, { cause: error });
  }
}

/** Milliseconds for which code may hold the event loop before the log tells of it. */
const BLOCKING = 100;

function buildPythonSettings(
  settings: PythonSettings,
  { interpreter, debugPort, allowBlocking }: DevOptions['python'],
): PythonSettings {
  // Code that stands at a breakpoint holds the loop, too.
  const isWatched = !allowBlocking && debugPort === undefined;
  const development: DevelopmentOfPython = {
    ...(isWatched && { blockingMilliseconds: BLOCKING }),
    ...(debugPort !== undefined && { debugPort }),
  };
  return {
    ...settings,
    ...(interpreter !== undefined && { interpreter, namedBy: '--python' }),
    development,
  };
}

/** Returns which interpreter runs graphs in Python, and why; undefined where there are none, or no interpreter. */
function describePython(
  settings: PythonSettings,
  { graphs, folder }: GraphsFile,
): string | undefined {
  if (!graphs.some(({ language }) => language === 'python')) return undefined;
  const chosen = choosePython(settings, folder);
  return 'fault' in chosen ? undefined : `${chosen.program} (${chosen.because})`;
}
