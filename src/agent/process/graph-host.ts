import type { AgentConfig } from '../../config/agent/agent.ts';
import { StartError } from '../../errors.ts';
import type { Language } from '../../schema/agent/code-place.ts';
import type { GraphSource, ThreadStart } from '../../schema/wire/wall/graph-start.ts';
import { shareOut, splitShares, type LanguageShares } from '../db/base/shares.ts';
import { readExpirySettings } from '../gx-json/expiry.ts';
import type { GraphsFile } from '../gx-json/read.ts';
import { HostByLanguage, type GraphHost, type PythonGraphs } from '../graphs/host.ts';
import { LanguageHost, type HostSettings } from '../graphs/language-host.ts';
import { decidePythonMemory, decideThreadLimits } from '../graphs/memory.ts';
import { openProcess } from '../graphs/process.ts';
import {
  buildPythonPlace,
  choosePython,
  checkInterpreter,
  buildPythonRunner,
} from '../graphs/python.ts';
import type { AnswersAsked } from '../graphs/asked.ts';
import type { EncryptionModule } from '../encryption/codec-of.ts';
import { logFieldsOf, type Logging } from '../tracing/agent-log.ts';

/**
 * `partial`: the graphs that can be loaded are served without the others. `asked` is the module of `encryption.path`
 * where graph threads can't run it, because it is in another language.
 */
type HostOptions = Logging & { partial: boolean; asked: EncryptionModule | undefined };
type Of = { config: AgentConfig; file: GraphsFile };

/** Returns the host of the graphs: one of worker threads, and one of processes where graphs are in Python. */
export function createGraphHost(
  config: AgentConfig,
  file: GraphsFile,
  options: HostOptions,
): GraphHost {
  const shares = decideConnectionShares({ config, file });
  const { javascript, python } = groupByLanguage({ config, file });
  const needed = listNeededLanguages({ config, file });
  const asked: AnswersAsked = {
    embed: (texts) => host.call('embed', { texts }),
    cipher: options.asked?.cipher,
  };
  const createHost = (
    graphs: GraphSource[],
    threads: number,
    runner?: ThreadStart['runner'],
  ): LanguageHost => {
    const settings = buildHostSettings({ config, file, poolSize: shares.perThread }, options, {
      graphs,
      runner,
    });
    const togetherOnce = runner !== undefined && config.runner === undefined;
    return new LanguageHost({
      ...settings,
      asked,
      threads,
      togetherOnce,
      ...(runner && { open: openProcess }),
    });
  };
  const open = (): GraphHost => {
    if (config.runner !== undefined)
      return createHost(file.graphs, shares.javascript, { command: config.runner });
    const ofJavaScript = needed.has('javascript')
      ? createHost(javascript, shares.javascript)
      : undefined;
    if (ofJavaScript !== undefined && !needed.has('python')) return ofJavaScript;
    const ofPython = createPythonGraphs(config, file, python, (runner) =>
      createHost(python, shares.python, runner),
    );
    const embeds = file.index?.language ?? 'javascript';
    return new HostByLanguage({
      javascript: ofJavaScript,
      python: ofPython,
      partial: options.partial,
      embeds,
    });
  };
  const host = open();
  return host;
}

function listNeededLanguages({ config, file }: Of): ReadonlySet<Language> {
  if (config.runner !== undefined) return new Set(['javascript']);
  const embedding = file.index === undefined ? [] : [file.index.language];
  return new Set([...file.graphs.map(({ language }) => language), ...embedding]);
}

function groupByLanguage({
  config,
  file: { graphs },
}: Of): Record<GraphSource['language'], GraphSource[]> {
  // A runner that was asked for runs all of them.
  if (config.runner !== undefined) return { javascript: graphs, python: [] };
  const filterGraphs = (wanted: GraphSource['language']): GraphSource[] =>
    graphs.filter(({ language }) => language === wanted);
  return { javascript: filterGraphs('javascript'), python: filterGraphs('python') };
}

function createPythonGraphs(
  config: AgentConfig,
  file: GraphsFile,
  graphs: GraphSource[],
  hostOf: (runner: ThreadStart['runner']) => LanguageHost,
): PythonGraphs {
  const { folder } = file;
  const settings = config.python;
  const ids = graphs.map(({ graphId }) => graphId);
  const chosen = choosePython(settings, folder);
  if ('fault' in chosen)
    return { graphs: ids, host: chosen, faultOf: () => Promise.resolve(undefined) };
  const megabytes = decidePythonMemory(settings, {
    isAlone: !listNeededLanguages({ config, file }).has('javascript'),
  });
  return {
    graphs: ids,
    host: hostOf(
      buildPythonRunner(buildPythonPlace(chosen.program, settings, file), { megabytes }),
    ),
    faultOf: () => checkInterpreter(chosen, folder, settings.namedBy),
  };
}

const listNamedClasses = (classes: string[][] | boolean | undefined): string[][] | undefined =>
  typeof classes === 'boolean' ? undefined : classes;

function buildHostSettings(
  { config, file, poolSize }: { config: AgentConfig; file: GraphsFile; poolSize: number },
  { partial, asked, log, lines }: HostOptions,
  of: Pick<ThreadStart, 'graphs' | 'runner'>,
): HostSettings {
  const serde = file.settings.checkpointer?.serde;
  return {
    start: {
      ...of,
      partial,
      index: file.index,
      isolatedLoops: config.python.isolatedLoops ? Math.max(1, config.jobs.slots) : undefined,
      storeLife: readExpirySettings(file.settings).store,
      allowedModules: listNamedClasses(serde?.allowed_json_modules),
      serde,
      development: config.python.development,
      database: { ...config.database, poolSize },
      encryption: config.encryption,
      ...(asked === undefined
        ? {
            encryptionModule: file.encryption && {
              ...file.encryption,
              seconds: config.encryptionTimeoutSeconds,
            },
          }
        : { askedCipher: { encrypts: asked.encrypts } }),
      logLevel: config.logLevel,
      logFields: logFieldsOf(config),
      prettyLog: config.prettyLog,
      env: file.env,
      spanContents: config.tracing?.contents,
      sendsLog: lines !== undefined,
    },
    ...decideThreadLimits(config.jobs),
    // A process that executes runs must start each at once; one that only answers requests rarely needs a graph thread.
    keep: config.jobs.slots > 0 ? 1 : 0,
    log,
    line: lines && ((line) => lines.addLine(line)),
  };
}

/**
 * Returns how the process shares out its connections between its own pool and its graph threads. Throws a `StartError`
 * where they are not enough for threads of both languages.
 */
export function decideConnectionShares({ config, file }: Of): LanguageShares {
  const needed = listNeededLanguages({ config, file });
  const wanted = {
    javascript: needed.has('javascript') ? decideThreadLimits(config.jobs).threads : 0,
    python: needed.has('python') ? config.python.processes : 0,
  };
  const shares = splitShares(
    shareOut({ ...config.database, threads: wanted.javascript + wanted.python }),
    wanted,
  );
  if (shares !== undefined) return shares;
  throw new StartError(
    `GX_POSTGRES_MAX_CONNECTIONS is ${config.database.connections}, and graphs in two languages need 7: raise it, or deploy them apart.`,
  );
}
