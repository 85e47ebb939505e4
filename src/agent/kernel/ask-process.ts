import { fork } from 'node:child_process';
import { getPriority, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';
import { readUserCodeEnv } from '../../config/env.ts';

/** Megabytes of heap: more than the types of a large project take. */
const HEAP = 1024;
/** The niceness of the process, which yields to runs because clients wait for those. */
const PRIORITY = 10;
const LAST_WORDS = 500;

/**
 * Asks a separate process one question and returns its one answer. This suits work that takes memory, or libraries of
 * the user's project, that the server should not keep. Throws the last words of the process if it gave no answer.
 */
export async function askProcess<HandlerQuestion extends object, Answer>(
  module: URL,
  question: HandlerQuestion,
  {
    folder,
    within,
    signal,
  }: {
    /** The folder that the process works in. */
    folder: string;
    /** Milliseconds after which the process is killed. */
    within: number;
    signal: AbortSignal;
  },
): Promise<Answer> {
  const child = fork(module, {
    cwd: folder,
    env: readUserCodeEnv(),
    execArgv: [`--max-old-space-size=${HEAP}`],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    timeout: within,
    killSignal: 'SIGKILL',
    signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const words = text(child.stderr!).catch(() => '');
  child.once('message', (answer) => resolve(answer as Answer));
  child.once('error', reject);
  child.once('close', (_code, killed) => {
    void words.then((output) =>
      reject(
        new Error(
          pickError(output) ||
            (killed ? `it gave no answer within ${within / 1000} s` : 'it gave no answer'),
        ),
      ),
    );
  });
  if (child.pid !== undefined) setLowPriority(child.pid);
  child.send(question, (error) => error && reject(error));
  try {
    return await promise;
  } finally {
    child.kill('SIGKILL');
  }
}

/** Nobody may make a process less nice than itself without a privilege. One that has ended says so by its end. */
function setLowPriority(pid: number): void {
  try {
    setPriority(pid, Math.max(PRIORITY, getPriority()));
  } catch {
    // Its priority changes no answer.
  }
}

/** Returns the sentence of the error that Node printed, or else the end of the output. */
const pickError = (output: string): string =>
  /^\w*Error: .*$/m.exec(output)?.[0] ?? output.trim().slice(-LAST_WORDS);
