import process from 'node:process';
import { parentPort } from 'node:worker_threads';
import { register } from 'tsx/esm/api';
import { asError, Problem, StartError } from '../../errors.ts';
import { createLog, type Log } from '../../log.ts';
import { importExport } from '../gx-json/import-export.ts';
import type { FromUserCode, HandlerQuestion, ToUserCode, UserCodeStart } from '../user-code/protocol.ts';
import { authenticate, authorize, handlersOf, type Handlers } from './auth.ts';

/* This thread runs the user's own code beside graphs, by the protocol of user-code/protocol.ts. */

const port = parentPort!;
const tell = (message: FromUserCode): void => port.postMessage(message);

const answerTo = (handlers: Handlers, question: HandlerQuestion): Promise<Extract<FromUserCode, { kind: 'answer' }>['answer']> =>
  question.ask === 'authenticate' ? authenticate(handlers, question) : authorize(handlers, question);

/** Returns what the client hears of whatever was thrown. The text of a fault may hold secrets; it stays in the log. */
function refusal(thrown: unknown, log: Log): Omit<Extract<FromUserCode, { kind: 'refused' }>, 'call_id'> {
  if (thrown instanceof Problem) return { kind: 'refused', status: thrown.status, message: thrown.message, headers: thrown.headers };
  log.error({ err: asError(thrown) }, 'a handler of auth.path failed');
  return { kind: 'refused', status: 500, message: 'The handler of auth.path failed.', headers: {} };
}

function serve(handlers: Handlers, running: Int32Array<SharedArrayBuffer>, log: Log): void {
  port.on('message', (message: ToUserCode) => {
    if (message.kind !== 'question') return;
    const { call_id, question } = message;
    Atomics.store(running, 0, call_id);
    answerTo(handlers, question).then(
      (answer) => tell({ kind: 'answer', call_id, answer }),
      (thrown: unknown) => tell({ ...refusal(thrown, log), call_id }),
    );
    Atomics.store(running, 0, 0);
  });
}

async function start({ auth, logLevel, env, running }: UserCodeStart): Promise<void> {
  const log = createLog({ level: logLevel, process: 'user-code-thread' });
  for (const [name, value] of Object.entries(env)) process.env[name] ??= value;
  process.on('unhandledRejection', (thrown) => log.error({ err: asError(thrown) }, 'unhandled rejection in a handler'));
  process.on('uncaughtException', (thrown) => log.error({ err: asError(thrown) }, 'uncaught exception in a handler'));
  register();
  const handlers = handlersOf(await importExport(auth, 'auth.path'), `"${auth.exportName}" of ${auth.file}`);
  serve(handlers, running, log);
  tell({ kind: 'ready', handles: Object.keys(handlers.callbacks ?? {}) });
}

port.once('message', (first: ToUserCode) => {
  if (first.kind !== 'start') return;
  start(first.start).catch((thrown: unknown) => {
    const error = asError(thrown);
    tell({ kind: 'broken', sentence: error instanceof StartError ? error.message : (error.stack ?? error.message) });
  });
});
