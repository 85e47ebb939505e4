import type { AuthEvent, AuthUser, HandlerAnswer } from '../auth/events.ts';
import type { CipherCall } from '../encryption/custom.ts';
import type { ExchangeMessage, OwnCall } from '../exchange/messages.ts';
import type { ModuleExport } from '../gx-json/import-export.ts';
import type { Liveness } from './liveness.ts';

/*
 * What the server and the thread of the user's own code say to each other. The thread runs the handlers of `auth.path`
 * and `encryption.path`, and the application of `http.app`.
 *
 * The server sends `start` once, and the thread answers `ready` or `broken`, with one sentence for a person. After
 * `ready`, each question gets exactly one answer with its `call_id`, in any order, and both sides have exchanges with
 * each other (exchange/messages.ts): the server asks the application, and the application asks the server. Questions
 * and exchanges of the server are numbered together. `ping` is answered with `pong` at once. The server knows at any
 * time which number holds the other side, and which exchange it began last (liveness.ts): a worker thread writes both
 * into memory that it shares, and a process says them in each `pong`, which it answers even while its code never yields.
 * The server ends a side whose code never yields, opens another and asks again what the former had not begun.
 */

export type UserCodeStart = {
  /** The export of `auth.path`. */
  auth: ModuleExport | undefined;
  /** The export of `http.app`. */
  app: ModuleExport | undefined;
  /** The export of `encryption.path`, and how many seconds its handlers may take. */
  encryption: (ModuleExport & { seconds: number }) | undefined;
  /** Whether the application's own routes ask who calls. */
  guarded: boolean;
  logLevel: string;
  /** Whether the thread sends the lines of its log. */
  sendsLog: boolean;
  /** Variables of gx.json, which yield to those of the process. */
  env: Record<string, string>;
};

/** A request as `authenticate` sees it: without its body. */
export type SeenRequest = { method: string; url: string; headers: [string, string][] };

/** A question with its answer's type. */
export type Questions = {
  authenticate: { args: SeenRequest; answer: AuthUser };
  authorize: { args: { event: AuthEvent; value: string; user: AuthUser }; answer: HandlerAnswer };
  cipher: { args: { call: CipherCall }; answer: string | Uint8Array };
};

/** Returns whose handler answers the question, for a sentence. */
export const handlerOf = (ask: keyof Questions | undefined): string =>
  `The handler of ${ask === undefined ? 'http.app' : ask === 'cipher' ? 'encryption.path' : 'auth.path'}`;

export type HandlerQuestion = { [K in keyof Questions]: { ask: K } & Questions[K]['args'] }[keyof Questions];

/** What the server tells the application of a request beside the request itself. */
export type ForApp = { user: AuthUser | undefined };

/**
 * What the application wants of the server: the answer of the built-in routes to a request that its middleware let
 * through (`next`), the caller of a request (`caller`), or the answer to a request of its own (`call`).
 */
export type ForServer = { want: 'next' | 'caller'; exchange: number } | OwnCall;

/**
 * One of the application's routes. A request of the method ('ALL' is any) whose path the pattern matches concerns it.
 * `serves` is false for middleware.
 */
export type AppRoute = { method: string; pattern: string; serves: boolean };

/** What the server must know of the application. Undefined routes mean that only the application knows them. */
export type AppFacts = { routes: AppRoute[] | undefined };

export type ToUserCode =
  | { kind: 'start'; start: UserCodeStart }
  | { kind: 'question'; call_id: number; question: HandlerQuestion }
  | { kind: 'ping' }
  | { kind: 'exchange'; message: ExchangeMessage<ForApp> };

/** What the thread has loaded: the names of its handlers, and whether `encryption.path` encrypts or only decrypts. */
export type LoadedCode = { handles: string[]; app: AppFacts | undefined; encrypts: boolean };

export type FromUserCode =
  | ({ kind: 'ready' } & LoadedCode)
  | { kind: 'broken'; sentence: string }
  | { kind: 'log'; line: string }
  | ({ kind: 'pong' } & Partial<Liveness>)
  | { kind: 'document'; document: Record<string, unknown> }
  | { kind: 'answer'; call_id: number; answer: Questions[keyof Questions]['answer'] }
  | { kind: 'refused'; call_id: number; status: number; message: string; headers: Record<string, string> }
  | { kind: 'exchange'; message: ExchangeMessage<ForServer> };
