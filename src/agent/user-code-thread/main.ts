import process from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { register } from 'tsx/esm/api';
import { asError, Problem } from '../../errors.ts';
import { createLog, type Log } from '../../log.ts';
import type { ModuleExport } from '../../schema/wire/wall/forms.ts';
import { WALL_VERSION } from '../../schema/wire/wall/rules.ts';
import type { FromUserCode, HandlerQuestion, Questions, ToUserCode, UserCodeStart } from '../../schema/wire/wall/user-code.ts';
import { userCipher, type UserCipher } from '../encryption/user-module.ts';
import { importExport } from '../gx-json/import-export.ts';
import { serveConsole } from '../kernel/prints.ts';
import { logStrays, startWhenAsked } from '../kernel/worker-start.ts';
import { SharedLiveness, type Liveness } from '../user-code/liveness.ts';
import { appOf, type App } from './app.ts';
import { authenticate, authorize, handlersOf, type Handlers } from './auth.ts';
import { AppServer } from './app-server.ts';

/* This thread runs the user's own code beside graphs, by the protocol of schema/wire/wall/user-code.ts. */

const port = parentPort!;
const tell = (message: FromUserCode): void => port.postMessage(message);

type Answering = { handlers: Handlers; module: UserCipher | undefined };

async function answerTo({ handlers, module }: Answering, question: HandlerQuestion): Promise<Questions[keyof Questions]['answer']> {
  if (question.ask === 'authenticate') return authenticate(handlers, question);
  if (question.ask === 'authorize') return authorize(handlers, question);
  return question.ask === 'context' ? module!.derive!(question) : module!.cipher(question.call);
}

/** Returns the client's answer for a thrown value. The text of a fault may hold secrets; it stays in the log. */
function refusal(thrown: unknown, of: string, log: Log): Omit<Extract<FromUserCode, { kind: 'refused' }>, 'kind' | 'call_id'> {
  if (thrown instanceof Problem) return { status: thrown.status, message: thrown.message, headers: thrown.headers };
  log.error({ err: asError(thrown) }, `${of} failed`);
  return { status: 500, message: `${of} failed.`, headers: {} };
}

function serve({ server, liveness, log, ...answering }: Answering & { server: AppServer; liveness: Liveness; log: Log }): void {
  const answer = async (call_id: number, question: HandlerQuestion): Promise<void> => {
    try {
      tell({ kind: 'answer', call_id, answer: await answerTo(answering, question) });
    } catch (thrown) {
      const of = question.ask === 'cipher' || question.ask === 'context' ? 'encryption.path' : 'auth.path';
      tell({ kind: 'refused', call_id, ...refusal(thrown, `The handler of ${of}`, log) });
    }
  };
  port.on('message', (message: ToUserCode) => {
    switch (message.kind) {
      case 'question':
        liveness.holds = message.call_id;
        void answer(message.call_id, message.question);
        liveness.holds = 0;
        return;
      case 'exchange':
        server.hear(message.message);
        return;
      case 'ping':
        tell({ kind: 'pong' });
        return;
      case 'start':
      case 'stop':
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

async function cipherFrom(encryption: UserCodeStart['encryption'], log: Log): Promise<UserCipher | undefined> {
  if (encryption === undefined) return undefined;
  const { seconds } = encryption;
  return userCipher(await importExport(encryption, 'encryption.path'), { at: nameOf(encryption), seconds, log });
}

async function start({ auth, encryption, logLevel, logFields, prettyLog: pretty, sendsLog, env, ...own }: UserCodeStart): Promise<void> {
  const also = sendsLog ? (line: string) => tell({ kind: 'log', line }) : undefined;
  const log = createLog({ level: logLevel, process: 'user-code-thread', fields: logFields, pretty, also });
  for (const [name, value] of Object.entries(env)) process.env[name] ??= value;
  logStrays(log, 'a handler');
  if (pretty === true) serveConsole(log, globalThis.console, { always: true });
  register();
  const liveness = new SharedLiveness(workerData as SharedArrayBuffer);
  const server = new AppServer({
    send: (message) => tell({ kind: 'exchange', message }),
    liveness,
    refusal: (thrown) => refusal(thrown, 'http.app', log),
    failed: (error) => log.error({ err: error }, 'http.app failed'),
  });
  const handlers = await handlersFrom(auth);
  const module = await cipherFrom(encryption, log);
  const app = await appFrom(own, (error) => log.error({ err: error }, 'http.app failed'));
  server.app = app;
  serve({ handlers, module, server, liveness, log });
  const loaded = {
    handles: Object.keys(handlers.callbacks ?? {}),
    app: app?.facts,
    encrypts: module?.encrypts === true,
    derives: module?.derive !== undefined,
  };
  tell({ kind: 'ready', version: WALL_VERSION, ...loaded });
  const document = await app?.document((error) => log.warn({ err: error }, 'http.app does not describe itself'));
  if (document) tell({ kind: 'document', document: JSON.parse(JSON.stringify(document)) as Record<string, unknown> });
}

startWhenAsked(port, start);
