import process from 'node:process';
import type { MessagePort } from 'node:worker_threads';
import { StartError } from '../../errors.ts';
import { createLog, printPretty } from '../../log.ts';
import type { ThreadStart } from '../../schema/wire/wall/graph-start.ts';
import type { FromThread, ToThread } from '../../schema/wire/wall/graphs.ts';
import { FromRunner, ToRunner, type RunnerQuestion } from '../../schema/wire/wall/runner.ts';
import { runUnderContext } from '../kernel/encryption-context.ts';
import type { RunnerProcess } from '../kernel/runner-process.ts';
import type { CipherAnswer, CipherCall } from '../../schema/wire/wall/cipher.ts';
import { OpenQuestions } from '../kernel/open-questions.ts';
import { openRunStorage } from '../run-storage/open.ts';
import type { Embed } from '../gx-json/embed.ts';
import { answerRunner, buildRefusedAnswer, storeStep, storeWrites } from './answers.ts';
import { RunsOfRunner } from './runs.ts';
import { toListElement } from './stored-values.ts';
import { readFileSync } from 'node:fs';
import type { Language } from '../../schema/agent/code-place.ts';
import type { JsonText } from '../../schema/wire/wall/json-text.ts';
import { AskedEmbeddings } from '../gx-json/asked-embeddings.ts';

/** Milliseconds by which the work in a runner may be late; beyond them its signs of life do not count. */
const MOST_LATE = 1500;

type Tell = (message: FromThread) => void;
type Stored = Extract<FromRunner, { kind: 'put' | 'writes' }>;
type AskedCiphers = OpenQuestions<CipherCall, CipherAnswer>;
type Deps = {
  storage: Awaited<ReturnType<typeof openRunStorage<ReturnType<typeof toListElement>>>>;
  runs: RunsOfRunner;
  ciphers: AskedCiphers;
  embeddings: RunnerEmbeddings;
  isFull: () => boolean;
  send: (message: ToRunner) => void;
  tell: Tell;
};

async function store(message: Stored, { storage, runs, send }: Deps): Promise<void> {
  const { ask_id } = message;
  try {
    const storeMessage = (): Promise<void> =>
      message.kind === 'put' ? storeStep(storage, message) : storeWrites(storage, message);
    await runs.storeInOrder(message.run_id, () => runUnderContext(message.context, storeMessage));
    if (ask_id !== undefined) send({ kind: 'saved', ask_id });
  } catch (thrown) {
    // The end of the run reports a failure that no call waits for.
    if (ask_id !== undefined) send(buildRefusedAnswer(ask_id, thrown));
  }
}

/** Answers a question. An answer about a thread holds all that was put for it before. */
async function answer(question: RunnerQuestion, { storage, runs, send }: Deps): Promise<void> {
  const threadId =
    question.kind === 'copy_thread'
      ? question.from
      : question.kind === 'read'
        ? question.thread_id
        : undefined;
  if (threadId !== undefined) await runs.waitForSteps(threadId);
  const context = question.kind === 'store' ? question.context : undefined;
  send(await runUnderContext(context, () => answerRunner(storage, question)));
}

type OfStorage = Stored | RunnerQuestion;

const OF_STORAGE = new Set<string>([
  ...(['put', 'writes', 'read', 'begin', 'store'] satisfies OfStorage['kind'][]),
  ...(['delete_thread', 'delete_runs', 'copy_thread', 'prune'] satisfies OfStorage['kind'][]),
]);

const isOfStorage = (message: FromRunner): message is OfStorage => OF_STORAGE.has(message.kind);

function handleStorageMessage(message: OfStorage, deps: Deps): void {
  if (message.kind === 'put' || message.kind === 'writes') void store(message, deps);
  else void answer(message, deps);
}

const buildMessageHandler =
  (deps: Deps, line: (text: string) => void) =>
  (message: FromRunner): void => {
    const { tell } = deps;
    if (isOfStorage(message)) return handleStorageMessage(message, deps);
    switch (message.kind) {
      case 'done':
        deps.runs.handleDone(message.run_id, message.outcome);
        return;
      case 'beat':
        if (message.late < MOST_LATE) tell({ kind: 'beat', full: message.full || deps.isFull() });
        return;
      case 'log':
        line(message.line);
        return;
      case 'result':
      case 'failed':
        if (!deps.embeddings.handleAnswer(message)) tell(message);
        return;
      case 'events':
        if (!deps.runs.isLost(message.run_id)) tell(message);
        return;
      default:
        tell(message);
    }
  };

function listenToServer(port: MessagePort, { runs, ciphers, embeddings, send }: Deps): void {
  port.on('message', (message: ToThread) => {
    switch (message.kind) {
      case 'run':
        runs.begin(message.spec);
        return;
      case 'written':
        runs.waitUntilWritten(message.wait_id);
        return;
      case 'embedded':
      case 'not_embedded':
        embeddings.handleServerAnswer(message);
        return;
      case 'ciphered':
        ciphers.resolve(message.cipher_id, message.answer);
        return;
      case 'not_ciphered':
        ciphers.reject(message.cipher_id, message);
        return;
      case 'start':
        return;
      default:
        send(message);
    }
  });
}

/** Opens the storage, and serves the runner until it ends. */
export async function serveRunner(
  child: RunnerProcess<ToRunner, FromRunner>,
  {
    given,
    port,
    ended,
  }: {
    given: ThreadStart;
    /** The server's end of this thread. */
    port: MessagePort;
    ended: () => void;
  },
): Promise<void> {
  const sendToServer: Tell = (message) => port.postMessage(message);
  const also = given.sendsLog
    ? (line: string): void => sendToServer({ kind: 'log', line })
    : undefined;
  const log = createLog({
    level: given.logLevel,
    process: 'process-runner',
    fields: given.logFields,
    pretty: given.prettyLog,
    also,
  });
  const embeddings = new RunnerEmbeddings({
    language: given.index?.language,
    send: (message) => send(message),
    tell: sendToServer,
  });
  const embed: Embed = (texts) => embeddings.embed(texts);
  const ciphers: AskedCiphers = new OpenQuestions((cipher_id, call) =>
    sendToServer({ kind: 'cipher', cipher_id, call }),
  );
  const askCipher = (call: CipherCall): Promise<CipherAnswer> => ciphers.ask(call);
  const storage = await openRunStorage(given, {
    name: 'gx-process-runner',
    elementOf: toListElement,
    embed,
    cipher: askCipher,
    log,
  });
  const printLine = (text: string): void => {
    if (given.prettyLog === true) printPretty(text);
    else process.stdout.write(`${text}\n`);
    also?.(text);
  };
  const send = (message: ToRunner): void => child.send(message);
  const runs = new RunsOfRunner({ steps: storage.steps, send, tell: sendToServer });
  const deps = {
    storage,
    runs,
    ciphers,
    embeddings,
    isFull: () => memory.full,
    send,
    tell: sendToServer,
  };
  const heard = buildMessageHandler(deps, printLine);
  let isReady = false;
  const receive = (message: FromRunner): void => {
    if (message.kind === 'ready') isReady = true;
    heard(message);
  };
  const memory = new MemoryWatch({
    pid: child.pid,
    megabytes: given.runner?.megabytes,
    exceeded: (sentence) => child.kill(sentence),
  });
  listenToServer(port, deps);
  child.listen({ messages: { to: ToRunner, from: FromRunner }, hear: receive, log });
  const sentence = await child.ended;
  memory.stop();
  ended();
  if (!isReady) throw new StartError(sentence);
  await deps.runs.end();
  // The server hears it as the crash of this thread.
  setImmediate(() => {
    throw new StartError(sentence);
  });
}

/** Milliseconds between two looks: a process that takes a gigabyte a second passes its limit by 250 MB. */
const LOOK_EVERY = 250;

/** The share of its limit above which a runner should get no new work. */
const FULL = 0.75;

type Watched = { pid: number; megabytes: number | undefined; exceeded: (sentence: string) => void };

/**
 * Watches the memory of a runner, which has no limit of its own. Processes that it starts itself do not count. Where
 * there is no /proc, nothing is watched.
 */
class MemoryWatch {
  readonly #watched: Watched;
  readonly #timer: NodeJS.Timeout | undefined;
  #taken = 0;

  constructor(watched: Watched) {
    this.#watched = watched;
    if (watched.megabytes !== undefined)
      this.#timer = setInterval(() => this.#look(watched.megabytes!), LOOK_EVERY);
  }

  get full(): boolean {
    const { megabytes } = this.#watched;
    return megabytes !== undefined && this.#taken > megabytes * FULL;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(limit: number): void {
    const { pid, exceeded } = this.#watched;
    this.#taken = readMegabytes(pid) ?? 0;
    if (this.#taken <= limit) return;
    this.stop();
    const taken = `The runner took ${Math.round(this.#taken)} MB of memory, and may take ${limit}`;
    exceeded(`${taken}: it is ended. GX_PYTHON_MEMORY_MB allows more.`);
  }
}

/** Returns the memory of a process that is in the machine's; undefined where that is not known. */
function readMegabytes(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(
      readFileSync(`/proc/${pid}/status`, 'latin1'),
    )?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
  } catch {
    return undefined;
  }
}

/** Makes texts into vectors for the store: in the runner where the embedding is in Python, else at the server. */
class RunnerEmbeddings {
  readonly #isHere: boolean;
  readonly #asked: AskedEmbeddings;

  constructor({
    language,
    send,
    tell,
  }: {
    language: Language | undefined;
    send: (message: ToRunner) => void;
    tell: (message: FromThread) => void;
  }) {
    this.#isHere = language === 'python';
    this.#asked = new AskedEmbeddings((id, texts) => {
      // The server counts its own calls from one upwards.
      if (this.#isHere) send({ kind: 'call', call_id: -id, operation: 'embed', args: { texts } });
      else tell({ kind: 'embed', embed_id: id, texts });
    });
  }

  embed(texts: string[]): Promise<number[][]> {
    return this.#asked.embed(texts);
  }

  /** Takes the runner's answer to a call. Returns false for a call of the server. */
  handleAnswer(given: Extract<FromRunner, { call_id: number }>): boolean {
    if (given.call_id > 0) return false;
    if (given.kind === 'result')
      this.#asked.resolve(-given.call_id, given.json as JsonText<number[][]>);
    else this.#asked.reject(-given.call_id, given);
    return true;
  }

  handleServerAnswer(given: Extract<ToThread, { embed_id: number }>): void {
    if (given.kind === 'embedded') this.#asked.resolve(given.embed_id, given.json);
    else this.#asked.reject(given.embed_id, given);
  }
}
