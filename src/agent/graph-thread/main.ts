import { flushCompileCache } from 'node:module';
import process from 'node:process';
import { getHeapStatistics } from 'node:v8';
import { parentPort } from 'node:worker_threads';
import { register } from 'tsx/esm/api';
import { toError, NotFound } from '../../errors.ts';
import { createLog, type Log } from '../../log.ts';
import { serveConsole } from '../kernel/prints.ts';
import { collectAtRest } from '../../at-rest.ts';
import type { ThreadStart } from '../../schema/wire/wall/graph-start.ts';
import type { FromThread, ToThread } from '../../schema/wire/wall/graphs.ts';
import { BEAT_MILLISECONDS, WALL_VERSION } from '../../schema/wire/wall/rules.ts';
import { bindFetchBy } from '../exchange/fetch.ts';
import { AskedEmbeddings } from '../gx-json/asked-embeddings.ts';
import { loadEmbed, type Embed } from '../gx-json/embed.ts';
import type { CipherAnswer, CipherCall } from '../../schema/wire/wall/cipher.ts';
import { runUnderContext } from '../kernel/encryption-context.ts';
import { OpenQuestions } from '../kernel/open-questions.ts';
import { logStrays, startWhenAsked } from '../kernel/worker-start.ts';
import { openRunStorage } from '../run-storage/open.ts';
import { answerCall, type AnswerDeps } from './answers.ts';
import { Element } from './checkpoints/element.ts';
import { findLoader } from './checkpoints/own-loader.ts';
import { Saver } from './checkpoints/saver.ts';
import { serveEnvironment } from './environment.ts';
import { getCurrentNode, createRunLogging, serveLogger } from './graph-log.ts';
import { loadGraphs, type MakeGraph } from './load.ts';
import { passTraces, type TracePassing } from './passed-trace.ts';
import { cacheRandomBytes } from './random.ts';
import { Running } from './running.ts';
import { GraphStore } from './store.ts';

/* This thread runs users' graphs, by the protocol of schema/wire/wall/graphs.ts. It decides nothing about runs. */

/**
 * The shares of a processor's time between two beats, and of the heap, above which another thread should take new work.
 */
const BUSY = 0.9;
const HEAP_IN_USE = 0.5;

const port = parentPort!;
const sendToServer = (message: FromThread): void => port.postMessage(message);

function serve(running: Running, deps: AnswerDeps, log: Log): void {
  const logFailure = (thrown: unknown, status: number): void =>
    log[status === 500 ? 'error' : 'debug']({ err: toError(thrown), status }, 'call failed');
  port.on('message', (message: ToThread) => {
    switch (message.kind) {
      case 'run':
        void running.run(message.spec);
        return;
      case 'abort':
        running.abort(message.run_id, message.goes_on);
        return;
      case 'drain':
        running.drain(message.run_id);
        return;
      case 'hear':
        running.startEvents(message.run_id);
        return;
      case 'written':
        running.waitUntilWritten(message.wait_id);
        return;
      case 'admitted':
      case 'not_admitted':
        running.handleAdmission(message);
        return;
      case 'call':
        void runUnderContext(message.context, () => answerCall(message, deps, logFailure)).then(
          sendToServer,
        );
        return;
      default:
      // Who has asked hears the answers.
    }
  });
}

function serveFetch(headersNow: TracePassing['headersNow']): void {
  const hear = bindFetchBy((message) => sendToServer({ kind: 'exchange', message }), headersNow);
  port.on('message', (message: ToThread) => {
    if (message.kind === 'exchange') hear(message.message);
  });
}

/** Has the server embed texts, where the embedding is in another language. */
function embedAtServer(): Embed {
  const asked = new AskedEmbeddings((embed_id, texts) =>
    sendToServer({ kind: 'embed', embed_id, texts }),
  );
  port.on('message', (message: ToThread) => {
    if (message.kind === 'embedded') asked.resolve(message.embed_id, message.json);
    else if (message.kind === 'not_embedded') asked.reject(message.embed_id, message);
  });
  return (texts) => asked.embed(texts);
}

/** Has the server encrypt and decrypt values, where its module is in another language. */
function createServerCipher(): (call: CipherCall) => Promise<CipherAnswer> {
  const asked = new OpenQuestions<CipherCall, CipherAnswer>((cipher_id, question) =>
    sendToServer({ kind: 'cipher', cipher_id, call: question }),
  );
  port.on('message', (message: ToThread) => {
    if (message.kind === 'ciphered') asked.resolve(message.cipher_id, message.answer);
    else if (message.kind === 'not_ciphered') asked.reject(message.cipher_id, message);
  });
  return (question) => asked.ask(question);
}

/**
 * Logs the errors that a graph leaves behind (of a timer, or a promise that nobody waits for), which must end neither
 * its neighbours nor their thread.
 */
function keepThreadAlive(log: Log): void {
  logStrays(log, 'a graph');
  process.exit = (code): never => {
    throw new Error(
      `process.exit(${code ?? ''}) was called: a graph ends by returning or throwing.`,
    );
  };
}

/**
 * Returns the thread's processor time so far. Before Node 22.19 it is the loop's time, which includes waiting for a
 * processor.
 */
function measureProcessorTime(): number {
  if (typeof process.threadCpuUsage !== 'function')
    return performance.eventLoopUtilization().active;
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/**
 * Says that the thread lives, and whether it can take more. Waiting (for a model, the database, a processor that others
 * use) does not count as work.
 */
function startHeartbeat(): void {
  let before = { at: performance.now(), used: measureProcessorTime() };
  const sendBeat = (): void => {
    const now = { at: performance.now(), used: measureProcessorTime() };
    const share = (now.used - before.used) / (now.at - before.at);
    before = now;
    const { used_heap_size: heap, heap_size_limit: limit } = getHeapStatistics();
    sendToServer({ kind: 'beat', full: share > BUSY || heap > limit * HEAP_IN_USE });
  };
  setInterval(sendBeat, BEAT_MILLISECONDS);
}

async function start({
  graphs: sources,
  partial,
  logLevel,
  logFields,
  prettyLog: pretty,
  env,
  spanContents,
  sendsLog,
  allowedModules,
  ...storing
}: ThreadStart): Promise<void> {
  const also = sendsLog ? (line: string): void => sendToServer({ kind: 'log', line }) : undefined;
  const { duringRun, idsNow } = createRunLogging();
  const log = createLog({
    level: logLevel,
    process: 'graph-thread',
    fields: logFields,
    fieldsNow: idsNow,
    pretty,
    also,
  });
  // The user's code reads its settings there. `env` of gx.json yields to the real environment.
  serveEnvironment(env);
  keepThreadAlive(log);
  cacheRandomBytes();
  const passing = passTraces();
  serveFetch(passing.headersNow);
  // Modules of graphs may ask for the logger while they load.
  serveLogger(log);
  serveConsole(log, globalThis.console, {
    always: pretty === true,
    idsNow,
    nodeNow: getCurrentNode,
  });
  register();
  const embed =
    storing.index &&
    (storing.index.language === 'javascript' ? await loadEmbed(storing.index) : embedAtServer());
  const toElement = (stored: unknown): Element => new Element(stored);
  const { steps, items } = await openRunStorage(storing, {
    name: 'gx-graph-thread',
    elementOf: toElement,
    embed,
    cipher: createServerCipher(),
    log,
  });
  const { graphs, failures } = await loadGraphs(sources, { partial, log });
  const getGraphFile = (graphId: string): string =>
    sources.find((source) => source.graphId === graphId)!.file;
  const allowed = allowedModules && {
    ids: allowedModules,
    load: await findLoader(sources.map(({ file }) => file)),
  };
  const deps = {
    graphOf: (graphId: string): MakeGraph =>
      graphs.get(graphId)?.make ??
      (() => Promise.reject(new NotFound(`Graph "${graphId}" is not part of this revision.`))),
    fileOf: getGraphFile,
    saver: new Saver(steps, { allowed }),
    store: new GraphStore(items),
  };
  serve(
    new Running({ ...deps, spanContents, tell: sendToServer, duringRun, passing }),
    { ...deps, reader: new Saver(steps, { form: 'records', allowed }), embed },
    log,
  );
  startHeartbeat();
  collectAtRest();
  flushCompileCache();
  const nodes = Object.fromEntries(
    [...graphs].map(([graphId, { nodes: names }]) => [graphId, names ?? null]),
  );
  sendToServer({ kind: 'ready', version: WALL_VERSION, nodes, ...(partial && { failures }) });
}

startWhenAsked(port, start);
