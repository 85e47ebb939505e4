import type { AuthEvent, AuthUser, HandlerAnswer } from '../auth/events.ts';
import type { ModuleExport } from '../gx-json/import-export.ts';

/*
 * What the server and the thread of the user's own code say to each other. The thread runs the handlers of `auth.path`.
 *
 * The server sends `start` once, and the thread answers `ready` or `broken`, with one sentence for a person. After
 * `ready`, each question gets exactly one answer with its `call_id`, in any order. While the thread runs a handler, it
 * writes the handler's `call_id` into `running`, so that the server knows which one never yields. The server then ends
 * the thread, opens another and asks the other questions again.
 */

export type UserCodeStart = {
  /** The export of `auth.path`. */
  auth: ModuleExport;
  logLevel: string;
  /** Variables of gx.json, which yield to those of the process. */
  env: Record<string, string>;
  /** One number: the `call_id` of the handler that holds the thread; 0 when none does. */
  running: Int32Array<SharedArrayBuffer>;
};

/** A request as `authenticate` sees it: without its body. */
export type SeenRequest = { method: string; url: string; headers: [string, string][] };

/** A question with its answer's type. */
export type Questions = {
  authenticate: { args: SeenRequest; answer: AuthUser };
  authorize: { args: { event: AuthEvent; value: string; user: AuthUser }; answer: HandlerAnswer };
};

export type HandlerQuestion = { [K in keyof Questions]: { ask: K } & Questions[K]['args'] }[keyof Questions];

export type ToUserCode = { kind: 'start'; start: UserCodeStart } | { kind: 'question'; call_id: number; question: HandlerQuestion };

export type FromUserCode =
  | { kind: 'ready'; handles: string[] }
  | { kind: 'broken'; sentence: string }
  | { kind: 'answer'; call_id: number; answer: AuthUser | HandlerAnswer }
  | { kind: 'refused'; call_id: number; status: number; message: string; headers: Record<string, string> };
