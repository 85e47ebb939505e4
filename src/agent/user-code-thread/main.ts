import process from 'node:process';
import { parentPort } from 'node:worker_threads';
import { register } from 'tsx/esm/api';
import { asError, Problem, StartError } from '../../errors.ts';
import { createLog, type Log } from '../../log.ts';
import { importExport, type ModuleExport } from '../gx-json/import-export.ts';
import { HOLDS, type FromUserCode, type HandlerQuestion, type ToUserCode, type UserCodeStart } from '../user-code/protocol.ts';
import { appOf, type App } from './app.ts';
import { authenticate, authorize, handlersOf, type Handlers } from './auth.ts';
import { AppServer } from './app-server.ts';

/* This thread runs the user's own code beside graphs, by the protocol of user-code/protocol.ts. */

const port = parentPort!;
const tell = (message: FromUserCode): void => port.postMessage(message);

const answerTo = (handlers: Handlers, question: HandlerQuestion): Promise<Extract<FromUserCode, { kind: 'answer' }>['answer']> =>
  question.ask === 'authenticate' ? authenticate(handlers, question) : authorize(handlers, question);

/** Returns what the client hears of whatever was thrown. The text of a fault may hold secrets; it stays in the log. */
function refusal(thrown: unknown, of: string, log: Log): Omit<Extract<FromUserCode, { kind: 'refused' }>, 'kind' | 'call_id'> {
  if (thrown instanceof Problem) return { status: thrown.status, message: thrown.message, headers: thrown.headers };
  log.error({ err: asError(thrown) }, `${of} failed`);
  return { status: 500, message: `${of} failed.`, headers: {} };
}

type Served = { handlers: Handlers; server: AppServer; running: Int32Array<SharedArrayBuffer>; log: Log };

function serve({ handlers, server, running, log }: Served): void {
  const answer = async (call_id: number, question: HandlerQuestion): Promise<void> => {
    try {
      const answering = answerTo(handlers, question);
      tell({ kind: 'answer', call_id, answer: await answering });
    } catch (thrown) {
      tell({ kind: 'refused', call_id, ...refusal(thrown, 'The handler of auth.path', log) });
    }
  };
  port.on('message', (message: ToUserCode) => {
    switch (message.kind) {
      case 'question':
        Atomics.store(running, HOLDS, message.call_id);
        void answer(message.call_id, message.question);
        Atomics.store(running, HOLDS, 0);
        return;
      case 'exchange':
        server.hear(message.message);
        return;
      case 'ping':
        tell({ kind: 'pong' });
        return;
      case 'start':
    }
  });
}

const nameOf = ({ file, exportName }: ModuleExport): string => `"${exportName}" of ${file}`;

async function handlersFrom(auth: ModuleExport | undefined): Promise<Handlers> {
  return auth === undefined ? {} : handlersOf(await importExport(auth, 'auth.path'), nameOf(auth));
}

type AppStart = Pick<UserCodeStart, 'app' | 'guarded'>;

async function appFrom({ app, guarded }: AppStart, failed: (error: Error) => void): Promise<App | undefined> {
  return app && appOf(await importExport(app, 'http.app'), { at: nameOf(app), guarded, failed });
}

async function start({ auth, logLevel, sendsLog, env, running, ...own }: UserCodeStart): Promise<void> {
  const also = sendsLog ? (line: string) => tell({ kind: 'log', line }) : undefined;
  const log = createLog({ level: logLevel, process: 'user-code-thread', also });
  for (const [name, value] of Object.entries(env)) process.env[name] ??= value;
  process.on('unhandledRejection', (thrown) => log.error({ err: asError(thrown) }, 'unhandled rejection in a handler'));
  process.on('uncaughtException', (thrown) => log.error({ err: asError(thrown) }, 'uncaught exception in a handler'));
  register();
  const server = new AppServer({
    send: (message) => tell({ kind: 'exchange', message }),
    running,
    refusal: (thrown) => refusal(thrown, 'http.app', log),
    failed: (error) => log.error({ err: error }, 'http.app failed'),
  });
  const handlers = await handlersFrom(auth);
  const app = await appFrom(own, (error) => log.error({ err: error }, 'http.app failed'));
  server.app = app;
  serve({ handlers, server, running, log });
  tell({ kind: 'ready', handles: Object.keys(handlers.callbacks ?? {}), app: app?.facts });
  const document = await app?.document().catch((error: unknown) => log.warn({ err: asError(error) }, 'http.app does not describe itself'));
  if (document) tell({ kind: 'document', document: JSON.parse(JSON.stringify(document)) as Record<string, unknown> });
}

port.once('message', (first: ToUserCode) => {
  if (first.kind !== 'start') return;
  start(first.start).catch((thrown: unknown) => {
    const error = asError(thrown);
    tell({ kind: 'broken', sentence: error instanceof StartError ? error.message : (error.stack ?? error.message) });
  });
});
