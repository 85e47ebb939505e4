import process from 'node:process';
import { parentPort, workerData } from 'node:worker_threads';
import { register } from 'tsx/esm/api';
import { toError, Problem } from '../../errors.ts';
import { createLog, type Log } from '../../log.ts';
import type { ModuleExport } from '../../schema/wire/wall/forms.ts';
import { WALL_VERSION } from '../../schema/wire/wall/rules.ts';
import type {
  FromUserCode,
  HandlerQuestion,
  Questions,
  ToUserCode,
  UserCodeStart,
} from '../../schema/wire/wall/user-code.ts';
import { buildUserCipher, type UserCipher } from '../encryption/user-module.ts';
import { importExport } from '../gx-json/import-export.ts';
import { serveConsole } from '../kernel/prints.ts';
import { logStrays, startWhenAsked } from '../kernel/worker-start.ts';
import { SharedLiveness, type Liveness } from '../user-code/liveness.ts';
import { buildApp, type App } from './app.ts';
import { authenticate, authorize, requireAuthHandlers, type Handlers } from './auth.ts';
import { AppServer } from './app-server.ts';

/* This thread runs the user's own code beside graphs, by the protocol of schema/wire/wall/user-code.ts. */

const port = parentPort!;
const sendToServer = (message: FromUserCode): void => port.postMessage(message);

type Answering = { handlers: Handlers; module: UserCipher | undefined };

async function answerQuestion(
  { handlers, module }: Answering,
  question: HandlerQuestion,
): Promise<Questions[keyof Questions]['answer']> {
  if (question.ask === 'authenticate') return authenticate(handlers, question);
  if (question.ask === 'authorize') return authorize(handlers, question);
  return question.ask === 'context' ? module!.derive!(question) : module!.cipher(question.call);
}

/** Returns the client's answer for a thrown value. The text of a fault may hold secrets; it stays in the log. */
function buildRefusal(
  thrown: unknown,
  of: string,
  log: Log,
): Omit<Extract<FromUserCode, { kind: 'refused' }>, 'kind' | 'call_id'> {
  if (thrown instanceof Problem)
    return { status: thrown.status, message: thrown.message, headers: thrown.headers };
  log.error({ err: toError(thrown) }, `${of} failed`);
  return { status: 500, message: `${of} failed.`, headers: {} };
}

function serve({
  server,
  liveness,
  log,
  ...answering
}: Answering & { server: AppServer; liveness: Liveness; log: Log }): void {
  const answer = async (call_id: number, question: HandlerQuestion): Promise<void> => {
    try {
      sendToServer({ kind: 'answer', call_id, answer: await answerQuestion(answering, question) });
    } catch (thrown) {
      const of =
        question.ask === 'cipher' || question.ask === 'context' ? 'encryption.path' : 'auth.path';
      sendToServer({
        kind: 'refused',
        call_id,
        ...buildRefusal(thrown, `The handler of ${of}`, log),
      });
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
        server.handleMessage(message.message);
        return;
      case 'ping':
        sendToServer({ kind: 'pong' });
        return;
      case 'start':
      case 'stop':
    }
  });
}

const formatName = ({ file, exportName }: ModuleExport): string => `"${exportName}" of ${file}`;

async function importHandlers(auth: ModuleExport | undefined): Promise<Handlers> {
  return auth === undefined
    ? {}
    : requireAuthHandlers(await importExport(auth, 'auth.path'), formatName(auth));
}

async function importApp(
  { app, guarded }: Pick<UserCodeStart, 'app' | 'guarded'>,
  failed: (error: Error) => void,
): Promise<App | undefined> {
  return (
    app && buildApp(await importExport(app, 'http.app'), { at: formatName(app), guarded, failed })
  );
}

async function importCipher(
  encryption: UserCodeStart['encryption'],
  log: Log,
): Promise<UserCipher | undefined> {
  if (encryption === undefined) return undefined;
  const { seconds } = encryption;
  return buildUserCipher(await importExport(encryption, 'encryption.path'), {
    at: formatName(encryption),
    seconds,
    log,
  });
}

async function start({
  auth,
  encryption,
  logLevel,
  logFields,
  prettyLog: pretty,
  sendsLog,
  env,
  ...own
}: UserCodeStart): Promise<void> {
  const also = sendsLog ? (line: string) => sendToServer({ kind: 'log', line }) : undefined;
  const log = createLog({
    level: logLevel,
    process: 'user-code-thread',
    fields: logFields,
    pretty,
    also,
  });
  for (const [name, value] of Object.entries(env)) process.env[name] ??= value;
  logStrays(log, 'a handler');
  if (pretty === true) serveConsole(log, globalThis.console, { always: true });
  register();
  const liveness = new SharedLiveness(workerData as SharedArrayBuffer);
  const server = new AppServer({
    send: (message) => sendToServer({ kind: 'exchange', message }),
    liveness,
    refusal: (thrown) => buildRefusal(thrown, 'http.app', log),
    failed: (error) => log.error({ err: error }, 'http.app failed'),
  });
  const handlers = await importHandlers(auth);
  const module = await importCipher(encryption, log);
  const app = await importApp(own, (error) => log.error({ err: error }, 'http.app failed'));
  server.app = app;
  serve({ handlers, module, server, liveness, log });
  const loaded = {
    handles: Object.keys(handlers.callbacks ?? {}),
    app: app?.facts,
    encrypts: module?.encrypts === true,
    derives: module?.derive !== undefined,
  };
  sendToServer({ kind: 'ready', version: WALL_VERSION, ...loaded });
  const document = await app?.document((error) =>
    log.warn({ err: error }, 'http.app does not describe itself'),
  );
  if (document)
    sendToServer({
      kind: 'document',
      document: JSON.parse(JSON.stringify(document)) as Record<string, unknown>,
    });
}

startWhenAsked(port, start);
