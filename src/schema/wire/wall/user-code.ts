import { Type, type Static } from 'typebox';
import { buildEnumSchema } from '../../types.ts';
import { AuthEvent, AuthUser, HandlerAnswer } from './auth.ts';
import { buildJsonObjectSchema } from '../../agent/agent-types.ts';
import { CipherAnswer, CipherCall, DerivedContext } from './cipher.ts';
import { buildExchangeSchema, HeaderPairs, OwnCall, Refusal } from './exchange.ts';
import { Development } from './graph-start.ts';
import {
  CipherModule,
  buildOptionalSchema,
  buildMessageSchema,
  ModuleExport,
  Variables,
} from './forms.ts';

/*
 * The messages between the server and the side that runs the user's own code, by the rules of rules.ts. That side runs
 * the handlers of `auth.path` and `encryption.path`, and the application of `http.app`.
 *
 * The server sends `start` once, and the other side answers `ready` or `broken`, with one sentence for a person. After
 * `ready`, each question gets exactly one answer with its `call_id`, in any order, and both sides have exchanges with
 * each other (exchange.ts): the server asks the application, and the application asks the server. Questions and
 * exchanges of the server are numbered together. `ping` is answered with `pong` at once. The server knows at any time
 * which number holds the other side, and which exchange it began last: a worker thread writes both into memory that it
 * shares, and a process says them in each `pong`, which it answers even while its code never yields. The server ends a
 * side whose code never yields, opens another and asks again all that the former had not begun. A process is sent
 * `stop` before its end: it ends the lifespan of the application, and then itself. A thread never gets it.
 */

const UserCodeStart = Type.Object({
  /** The export of `auth.path`. */
  auth: buildOptionalSchema(ModuleExport),
  /** The export of `http.app`. */
  app: buildOptionalSchema(ModuleExport),
  /** The export of `encryption.path`. */
  encryption: buildOptionalSchema(CipherModule),
  /** Whether the application's own routes ask who calls. */
  guarded: Type.Boolean(),
  logLevel: Type.String(),
  logFields: buildOptionalSchema(Variables),
  prettyLog: buildOptionalSchema(Type.Boolean()),
  sendsLog: Type.Boolean(),
  env: Variables,
  development: buildOptionalSchema(Development),
});
export type UserCodeStart = Static<typeof UserCodeStart>;

/** A request as `authenticate` sees it: without its body. */
const SeenRequest = Type.Object({
  method: Type.String(),
  url: Type.String(),
  headers: HeaderPairs,
});
export type SeenRequest = Static<typeof SeenRequest>;

/** A question -> its arguments and its answer. */
const QUESTIONS = {
  authenticate: { args: SeenRequest, answer: AuthUser },
  authorize: {
    args: Type.Object({ event: AuthEvent, value: Type.String(), user: AuthUser }),
    answer: HandlerAnswer,
  },
  cipher: { args: Type.Object({ call: CipherCall }), answer: CipherAnswer },
  context: {
    args: Type.Object({
      user: AuthUser,
      metadata: buildJsonObjectSchema('The context that the request brings.'),
    }),
    answer: DerivedContext,
  },
};

export type Questions = {
  [K in keyof typeof QUESTIONS]: {
    args: Static<(typeof QUESTIONS)[K]['args']>;
    answer: Static<(typeof QUESTIONS)[K]['answer']>;
  };
};

export type HandlerQuestion = {
  [K in keyof Questions]: { ask: K } & Questions[K]['args'];
}[keyof Questions];

const questions = Object.entries(QUESTIONS).map(([ask, { args }]) =>
  Type.Object({ ask: Type.Literal(ask), ...args.properties }),
);

/** The facts that the application gets beside a request: the caller, where it is known, and the client's address. */
const ForApp = Type.Object({
  user: buildOptionalSchema(AuthUser),
  source: buildOptionalSchema(Type.String()),
  /**
   * The subprotocols that the client of a WebSocket offers; absent for any other request. The status 101 accepts it,
   * and the bodies are then its messages (socket-frames.ts). Any other answer refuses it.
   */
  socket: buildOptionalSchema(Type.Array(Type.String())),
});
export type ForApp = Static<typeof ForApp>;

/**
 * The purpose of the application's exchange with the server: the answer of the built-in routes to a request that its
 * middleware let through (`next`), the caller of a request (`caller`), or the answer to a request of its own (`call`).
 */
const ForServer = Type.Union([
  Type.Object({ want: buildEnumSchema(['next', 'caller']), exchange: Type.Integer() }),
  OwnCall,
]);
export type ForServer = Static<typeof ForServer>;

/**
 * One of the application's routes. A request of the method ('ALL' is any, 'WEBSOCKET' none but a WebSocket) whose
 * path the pattern matches concerns it. `serves` is false for middleware.
 */
const AppRoute = Type.Object({
  method: Type.String(),
  pattern: Type.String(),
  serves: Type.Boolean(),
});
export type AppRoute = Static<typeof AppRoute>;

/**
 * Facts of the application for the server. Undefined routes mean that only the application knows them. `sockets`: it
 * may accept WebSockets.
 */
const AppFacts = Type.Object({
  routes: buildOptionalSchema(Type.Array(AppRoute)),
  sockets: buildOptionalSchema(Type.Boolean()),
});
export type AppFacts = Static<typeof AppFacts>;

const call_id = Type.Integer();

export const ToUserCode = Type.Union([
  buildMessageSchema('start', { version: Type.String(), start: UserCodeStart }),
  buildMessageSchema('question', {
    call_id,
    question: Type.Unsafe<HandlerQuestion>(Type.Union(questions)),
  }),
  buildMessageSchema('ping', {}),
  buildMessageSchema('stop', {}),
  buildMessageSchema('exchange', { message: buildExchangeSchema(ForApp) }),
]);
export type ToUserCode = Static<typeof ToUserCode>;

/** How far the other side has come, by the numbers of questions and exchanges; 0 stands for none. */
const Liveness = {
  /** The one that holds it. */
  holds: Type.Optional(Type.Integer()),
  /** The last exchange that was begun. */
  begun: Type.Optional(Type.Integer()),
};

export const FromUserCode = Type.Union([
  buildMessageSchema('ready', {
    version: Type.String(),
    /** The names that handlers are registered under. */
    handles: Type.Array(Type.String()),
    app: buildOptionalSchema(AppFacts),
    /** Whether `encryption.path` encrypts, and does not only decrypt. */
    encrypts: Type.Boolean(),
    /** Whether it derives the context of a request from the caller. */
    derives: buildOptionalSchema(Type.Boolean()),
  }),
  buildMessageSchema('broken', { sentence: Type.String() }),
  buildMessageSchema('log', { line: Type.String() }),
  buildMessageSchema('pong', Liveness),
  buildMessageSchema('document', { document: Type.Record(Type.String(), Type.Unknown()) }),
  buildMessageSchema('answer', {
    call_id,
    answer: Type.Union([AuthUser, HandlerAnswer, DerivedContext, CipherAnswer]),
  }),
  buildMessageSchema('refused', { call_id, ...Refusal.properties }),
  buildMessageSchema('exchange', { message: buildExchangeSchema(ForServer) }),
]);
export type FromUserCode = Static<typeof FromUserCode>;
