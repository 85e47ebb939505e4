import { basename } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { AgentConfig } from '../../config/agent/agent.ts';
import {
  ASSISTANT_DEFAULTS,
  parseAssistantDefaults,
  type AssistantDefaults,
} from '../../config/agent/assistant-defaults.ts';
import { listen, type ListeningServer } from '../../http/server/listen.ts';
import type { Log } from '../../log.ts';
import { collectAtRest } from '../../at-rest.ts';
import type { GraphFailures } from '../../schema/wire/wall/graphs.ts';
import { createAgentDeps, Opened } from './assemble.ts';
import { createGraphHost, decideConnectionShares } from './graph-host.ts';
import { openAuthentication, openUserCode, type Authentication } from '../front/authentication.ts';
import type { FireDeps } from '../crons/fire.ts';
import { keepSystemAssistant } from '../db/assistants/assistants.ts';
import { checkKeys, chooseWritingKey } from '../db/encryption/encryption-keys.ts';
import { applyMigrations } from '../db/migrate.ts';
import { openDatabase, type Database } from '../db/base/pool.ts';
import { waitForDatabase } from '../db/base/reach.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { buildCodec, type EncryptionModule } from '../encryption/codec-of.ts';
import { tryCipher } from '../encryption/trial.ts';
import { GateRun } from '../runs/making/gate-run.ts';
import { listServedFeatures } from './features.ts';
import type { Feature } from '../routes/feature.ts';
import { readGraphsFile, type GraphsFile } from '../gx-json/read.ts';
import { buildSystemAssistantId } from '../kernel/ids.ts';
import {
  createAgentApp,
  createAgentSockets,
  createMetricsApp,
  mountPrefix,
} from '../front/server.ts';
import type { GraphFaults } from '../graphs/graph-faults.ts';
import type { GraphHost } from '../graphs/host.ts';
import { listUntriedLanggraphs } from '../graphs/javascript-langgraph.ts';
import { choosePython, readPythonVersion } from '../graphs/python.ts';
import type { Metrics } from '../parts/metrics.ts';
import type { Logging } from '../tracing/agent-log.ts';
import type { Bundles } from '../ui/main.ts';
import { prepareUiBundles } from '../ui/bundles.ts';
import type { UserCode } from '../user-code/host.ts';
import { REPORTED_PREFIX, type ServerFacts } from '../../schema/wire/work-report.ts';
import { isOlder, readVersions } from '../kernel/versions.ts';

const FAREWELL_MILLISECONDS = 5000;
/**
 * Milliseconds after which a stopped start abandons its connections. One that is still being opened can hold up its
 * pool for ten seconds.
 */
const STOPPED_START_MILLISECONDS = 1000;

export type AgentServer = { port: number; metricsPort: number | undefined; stop(): Promise<void> };

/**
 * `extra` is served beside the features of every deployment. Without `faults`, a graph that can't be loaded fails the
 * start.
 */
type StartOptions = {
  config: AgentConfig;
  signal: AbortSignal;
  extra?: readonly Feature[];
  faults?: GraphFaults | undefined;
} & Logging;

/**
 * Starts the server of one deployment. Throws a `StartError` with one sentence for whatever prevents it, and the
 * signal's reason when it is stopped meanwhile.
 */
export async function startAgentServer(options: StartOptions): Promise<AgentServer> {
  const opened = new Opened();
  opened.add(() => options.lines?.close());
  try {
    return await start(options, opened);
  } catch (error) {
    const closed = opened.close();
    await (options.signal.aborted
      ? Promise.race([closed, wait(STOPPED_START_MILLISECONDS, undefined, { ref: false })])
      : closed);
    throw error;
  }
}

async function start(
  { config, log, lines, signal, extra = [], faults }: StartOptions,
  opened: Opened,
): Promise<AgentServer> {
  const file = readGraphsFile(config.configPath, config.sections, config.langsmithProject);
  logIneffective(file, config, log);
  const defaults = readAssistantDefaults({ config, log }, file);
  const { early, module } = await loadEncryption({ config, file, log, lines }, opened);
  const { db, preparing } = await openDatabases({ config, file, log, signal, module }, opened);
  const { host, loading, bundling, opening } = loadUsersParts(
    { config, file, log, lines, signal, faults, early, module },
    opened,
  );
  const keyId = await prepareDatabase(preparing, { keys: config.encryption, module }, log);
  const resolveCaller: FireDeps['callerFor'] = async (owner) => (await opening).callerFor(owner);
  const parts = { config, db, preparing, keyId, host, file, callerFor: resolveCaller, log, lines };
  const deps = await createAgentDeps(
    { ...parts, bundles: await bundling, graphFaults: () => faults?.reported() ?? [] },
    opened,
  );
  await loading.then((failures) => faults?.found(failures, deps.graphs));
  const { guard, callerOf, code } = await opening;
  await ensureSystemAssistants(preparing, file, defaults);
  await preparing.close();
  signal.throwIfAborted();
  const { settings } = file;
  const features = [...listServedFeatures({ http: settings.http ?? {}, config }), ...extra];
  const serving = { config, settings, features, callerOf };
  const { deployment, revision, tracing } = config;
  const info = { ...readVersions(), deployment, revision, traceLink: tracing?.link };
  const { app, custom, metrics } = createAgentApp(deps, { ...serving, guard, code, info });
  const listener = await listen(app, config);
  const measured = await serveMetrics(metrics, config, log);
  opened.add(() => measured?.stop(0));
  const sockets = createAgentSockets(deps, listener.server, { ...serving, guard, custom, code });
  deps.keeper.start();
  deps.pump.start();
  const stopping = new AbortController();
  for (const feature of features) feature.work?.(deps, stopping.signal);
  const prefix = mountPrefix(config, settings);
  const gate = new GateRun(deps);
  const server = buildServerFacts(config.revision, { version: info.version, guard, prefix });
  void deps.reports?.run({ server, gate: (asked) => gate.look(asked) }, stopping.signal);
  collectAtRest();
  const facts = {
    server_version: info.version,
    mount_prefix: prefix || undefined,
    port: listener.port,
    graphs: deps.graphs,
  };
  // `worker` is the name under which this process holds its runs.
  // A developer's terminal says the same in other words, and with the port that is open to him.
  const level = config.prettyLog === true ? 'debug' : 'info';
  log[level](
    { ...facts, slots: config.jobs.slots, guard, worker: deps.signals.processId },
    'agent server ready',
  );
  const stop = async (): Promise<void> => {
    log[level]({ running: deps.executor.count }, 'agent server stopping');
    listener.sendAway();
    await drain(deps, listener, {
      grace: config.jobs.graceSeconds * 1000,
      delay: config.shutdownDelaySeconds * 1000,
    });
    deps.keeper.stop();
    stopping.abort();
    await deps.reports?.leave();
    deps.readers.endAllHere();
    sockets.close();
    await Promise.race([
      deps.readers.waitUntilStored(),
      wait(FAREWELL_MILLISECONDS, undefined, { ref: false }),
    ]);
    await listener.stop(2000);
    // A database that is gone does not answer, and the process must not wait for it.
    await Promise.race([opened.close(), wait(FAREWELL_MILLISECONDS, undefined, { ref: false })]);
  };
  return { port: listener.port, metricsPort: measured?.port, stop };
}

/** Serves the metrics at a port of their own. Where another container of the pod has it, they alone are missing. */
async function serveMetrics(
  metrics: Metrics,
  { host, metricsPort }: AgentConfig,
  log: Log,
): Promise<ListeningServer | undefined> {
  if (metricsPort === undefined) return undefined;
  try {
    return await listen(createMetricsApp(metrics, log), {
      host,
      port: metricsPort,
      portSettings: 'GX_METRICS_PORT',
    });
  } catch (error) {
    log.error(
      { err: error, port: metricsPort },
      'the metrics are not served, because their port is taken',
    );
    return undefined;
  }
}

/** Returns the facts that are reported of this server. A server outside of the platform is of no revision. */
function buildServerFacts(
  revision: string | undefined,
  {
    version,
    guard,
    prefix,
  }: { prefix: string; version: string; guard: 'key' | 'open' | 'handlers' },
): ServerFacts | undefined {
  if (revision === undefined) return undefined;
  return {
    revision,
    version,
    guard,
    ...(new RegExp(REPORTED_PREFIX).test(prefix) && { mount_prefix: prefix }),
  };
}

type Encrypting = { module: EncryptionModule | undefined };

/**
 * Loads the user's code before the database is opened where it encrypts values. Else it is loaded while the database is
 * prepared.
 */
async function loadEncryption(
  options: Pick<LoadOptions, 'config' | 'file' | 'log' | 'lines'>,
  opened: Opened,
): Promise<Encrypting & { early: UserCode | undefined }> {
  if (options.file.encryption === undefined) return { early: undefined, module: undefined };
  const early = (await openUserCode(options))!;
  opened.add(() => early.close());
  return {
    early,
    module: { encrypts: early.module.encrypts, cipher: (call) => early.ask('cipher', { call }) },
  };
}

function logIneffective(
  { path, folder, settings, graphs, passedOver }: GraphsFile,
  { python }: AgentConfig,
  log: Log,
): void {
  const chosen = choosePython(python, folder);
  const runs = 'fault' in chosen ? undefined : readPythonVersion(chosen.program);
  for (const { name, instead } of passedOver)
    // As with Node, an older version than the one that runs asks for nothing that is missing.
    if (
      name !== 'python_version' ||
      runs === undefined ||
      isOlder(runs, settings.python_version ?? '')
    )
      log.warn(
        {
          file: path,
          name,
          instead,
          // A file of variables that is not there is the commonest case, and its sentence needs no other beside it.
          says: `${basename(path)}: ${name === 'env' ? instead : `"${name}" has no effect here: ${instead}`}`,
        },
        'a name of the configuration has no effect here',
      );
  for (const langgraph of listUntriedLanggraphs(graphs))
    log.warn({ langgraph, says: langgraph }, 'graphs run with a LangGraph that is not tested here');
}

/**
 * Opens the server's pool once the database answers, and the one that prepares it. The start writes even to a database
 * whose volume is full: it has room for that, and this server can still read it.
 */
async function openDatabases(
  { config, file, log, signal, module }: StartOptions & Encrypting & { file: GraphsFile },
  opened: Opened,
): Promise<{ db: Database; preparing: Database }> {
  const { database, encryption } = config;
  const common = { ...database, name: 'gx-agent-server', codec: buildCodec(encryption, module) };
  const db = openDatabase(
    { ...common, poolSize: decideConnectionShares({ config, file }).server },
    log,
  );
  opened.add(() => db.close());
  await waitForDatabase(db, database.uri, database.waitSeconds, log, signal);
  const preparing = openDatabase({ ...common, poolSize: 1, insists: true }, log);
  opened.add(() => preparing.close());
  return { db, preparing };
}

type UsersParts = {
  host: GraphHost;
  loading: Promise<GraphFailures>;
  bundling: Promise<Bundles>;
  opening: Promise<Authentication>;
};

/** Brings the database up to date, and makes sure that its values can be read. Returns the key that encrypts. */
async function prepareDatabase(
  preparing: Database,
  encrypting: { keys: StartOptions['config']['encryption'] } & Encrypting,
  log: Log,
): Promise<string | undefined> {
  await applyMigrations(preparing);
  // A module that is refused must leave no sign of having encrypted something.
  if (encrypting.module?.encrypts === true) await tryCipher(encrypting.module.cipher);
  await checkKeys(preparing, encrypting, log);
  return chooseWritingKey(encrypting);
}

/** `early` is the user's code that was loaded before the database was opened. */
type LoadOptions = StartOptions & Encrypting & { file: GraphsFile; early: UserCode | undefined };

/**
 * Begins to load the user's parts: graphs, the components that they show, the handlers that guard them. That takes
 * as long as preparing the database, so both happen at once.
 */
function loadUsersParts(options: LoadOptions, opened: Opened): UsersParts {
  const { config, file, log, lines, signal, faults, early, module } = options;
  const asked = file.codeLanguage === 'python' ? module : undefined;
  const host = createGraphHost(config, file, { partial: faults !== undefined, asked, log, lines });
  opened.add(() => host.close());
  const code =
    early === undefined ? openUserCode({ config, file, log, lines }) : Promise.resolve(early);
  const parts = {
    host,
    loading: host.open(),
    bundling: prepareUiBundles(file, config.buildFolder, faults !== undefined, log, signal),
    opening: openAuthentication({ config, file, log }, code),
  };
  opened.add(() =>
    code.then(
      (loaded) => loaded?.close(),
      () => undefined,
    ),
  );
  // A waiter for a part hears of its failure; a failure that comes earlier must not end the process.
  for (const part of [parts.loading, parts.bundling, parts.opening]) part.catch(() => undefined);
  return parts;
}

/** Milliseconds. */
type DrainTimes = { grace: number; delay: number };
/**
 * Takes no new runs. Those under way may finish in the first half of the grace. In the second half each goes on
 * elsewhere as soon as its step has ended, and the runs left at the end are cut off and handed back. The server accepts
 * requests during the delay. A client that waits for a run elsewhere gets its end within the grace.
 */
async function drain(
  { pump, executor, readers }: AgentDeps,
  { unanswered, mayBeAsked }: ListeningServer,
  times: DrainTimes,
): Promise<void> {
  const { grace, delay } = times;
  const until = Date.now() + grace;
  const half = setTimeout(() => executor.drain(), grace / 2);
  await Promise.all([wait(delay), pump.stop().then(() => executor.waitUntilIdle(grace))]);
  clearTimeout(half);
  while (
    Date.now() < until &&
    (unanswered() > 0 || readers.listFollowedHere().length > 0 || mayBeAsked())
  )
    await wait(20);
  for (const id of executor.listAttempts().keys()) executor.stop(id, 'shutdown');
  await executor.waitUntilIdle(5000);
}

/** Returns the defaults of the graphs' own assistants, from the environment or else from `env` of gx.json. */
function readAssistantDefaults(
  { config, log }: { config: AgentConfig; log: Log },
  { graphs, env }: GraphsFile,
): Map<string, AssistantDefaults> {
  const defaults = parseAssistantDefaults(config.assistantDefaults ?? env[ASSISTANT_DEFAULTS]);
  // A revision may leave out a graph that the deployment's settings still name.
  const unknown = [...defaults.keys()].filter(
    (name) => !graphs.some(({ graphId }) => graphId === name),
  );
  if (unknown.length > 0)
    log.warn(
      { graphs: unknown },
      `${ASSISTANT_DEFAULTS} names graphs that this server does not have`,
    );
  return defaults;
}

/** Makes each graph's own assistant, and keeps it at its defaults until a client changes it. */
async function ensureSystemAssistants(
  db: Database,
  { graphs }: GraphsFile,
  defaults: Map<string, AssistantDefaults>,
): Promise<void> {
  for (const { graphId, description } of graphs)
    await keepSystemAssistant(db, {
      assistant_id: buildSystemAssistantId(graphId),
      graph_id: graphId,
      name: graphId,
      description,
      ...(defaults.get(graphId) ?? { config: {}, context: {} }),
      metadata: { created_by: 'system' },
    });
}
