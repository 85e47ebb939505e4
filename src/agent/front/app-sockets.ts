import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { toError, Forbidden, Problem } from '../../errors.ts';
import { CLIENT_LEFT } from '../../http/server/client-left.ts';
import type { FromPage, Trusts } from '../../http/callers/client.ts';
import {
  resolveRequestClient,
  listHeaderPairs,
  filterMessageHeaders,
} from '../../http/server/in-process.ts';
import type {
  AcceptedSocket,
  MessagesHeard,
  MessageSocket,
  OtherSockets,
  RefusedSocket,
} from '../../http/server/other-sockets.ts';
import { mergeSocketKey } from '../../http/callers/shown-key.ts';
import type { Log } from '../../log.ts';
import { SocketFrames, encodeSocketFrame } from '../../schema/wire/wall/socket-frames.ts';
import type { CallerRequest } from '../auth/authenticate.ts';
import type { AgentCaller } from '../auth/caller.ts';
import type { Callers } from '../auth/callers.ts';
import { openToLook } from '../auth/passes.ts';
import type { IncomingBody } from '../exchange/bodies.ts';
import type { Replied } from '../exchange/exchanges.ts';
import type { UserCode } from '../user-code/host.ts';
import { buildAppRouteFinder } from './app-concerns.ts';
import { stripPathPrefix } from './calls-inside.ts';
import { ClientMessages } from './client-messages.ts';
import { readBoundedBytes } from '../../http/bodies/bounded-bytes.ts';

export type AppSocketSettings = {
  code: UserCode;
  /** The prefix of the server's paths, which the application does not know. */
  prefix: string;
  /** Whether the application's own routes ask who calls. */
  guarded: boolean;
  callerOf: (request: CallerRequest) => Promise<AgentCaller> | AgentCaller;
  callers: Callers;
  trusts: Trusts;
  permits: (origin: string, request: FromPage) => boolean;
  /** Bytes of the longest message, in both directions. */
  messageBytes: number;
  checksAgainEvery: (caller: AgentCaller) => number;
  used: () => void;
  log: Log;
};

/** Bytes of the longest answer instead of a connection. */
const LONGEST_REFUSAL = 1024 * 1024;
/** Milliseconds in which the application may hear of a client that has left, and end. */
const FAREWELL = 5000;
const TOO_BIG = 1009;
const FAILED = 1011;
const ACCEPTED = 101;

/** The WebSockets of `http.app`, as far as it has any: those in Python. */
export class AppSockets implements OtherSockets {
  readonly #settings: AppSocketSettings;
  #concerns: ReturnType<typeof buildAppRouteFinder> | undefined;

  constructor(settings: AppSocketSettings) {
    this.#settings = settings;
  }

  canServe(path: string): boolean {
    return this.#resolvePath(path) !== undefined;
  }

  /** Returns the path as the application knows it, if connections there may be its own. */
  #resolvePath(url: string): string | undefined {
    const { code, prefix } = this.#settings;
    const path = stripPathPrefix(prefix, url);
    if (path === undefined || code.app?.sockets !== true) return undefined;
    this.#concerns ??= buildAppRouteFinder(code);
    return this.#concerns('WEBSOCKET', path)?.serves === true ? path : undefined;
  }

  async ask(
    request: IncomingMessage,
    signal: AbortSignal,
  ): Promise<AcceptedSocket | RefusedSocket> {
    const { callers, guarded, callerOf, trusts, permits, checksAgainEvery } = this.#settings;
    const { headers, url = '/' } = request;
    const client = resolveRequestClient(request, trusts);
    if (headers.origin !== undefined && !permits(headers.origin, { headers, ...client }))
      throw new Forbidden(`Pages of ${headers.origin} may not connect.`);
    const asked = {
      headers: mergeSocketKey(headers),
      access: 'read',
      source: client.source,
      method: 'GET',
      url,
    } as const;
    const caller = guarded ? await callerOf(asked) : undefined;
    const holder = caller ?? openToLook(headers, client);
    const leave = callers.acquireStream(holder);
    try {
      const messages = new ClientMessages();
      const gone = new AbortController();
      const either = AbortSignal.any([signal, gone.signal]);
      const answer = await this.#requestUpgrade(request, {
        caller,
        source: client.source,
        messages,
        signal: either,
      });
      if (answer.head.status !== ACCEPTED) return await readRefusal(answer).finally(leave);
      if (holder.byPass !== true) this.#settings.used();
      const end = (): void => gone.abort(CLIENT_LEFT);
      const accepted = new AppConnection({ answer, messages, leave, end, ...this.#settings });
      const abortConnection = (): void => {
        leave();
        end();
      };
      const checks = caller && { again: () => callerOf(asked), every: checksAgainEvery(caller) };
      return {
        ...readAcceptance(answer.head.headers),
        connect: (socket) => accepted.connect(socket),
        abandon: abortConnection,
        checks,
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  #requestUpgrade(
    request: IncomingMessage,
    asked: {
      caller: AgentCaller | undefined;
      source: string;
      messages: ClientMessages;
      signal: AbortSignal;
    },
  ): Promise<Replied> {
    const { code } = this.#settings;
    const { caller, source, messages: body, signal } = asked;
    const { pathname, search } = new URL(request.url ?? '/', 'http://any');
    const { host = '' } = request.headers;
    const address = `ws://${URL.canParse(`ws://${host}`) ? host : 'localhost'}${this.#resolvePath(pathname)}${search}`;
    const head = {
      method: 'GET',
      url: address,
      headers: filterMessageHeaders(listHeaderPairs(request)),
    };
    const purpose = {
      user: caller?.guard?.user,
      source,
      socket: readSubprotocols(request.headers),
    };
    return code.fetch({ head, purpose, body, signal }, () => undefined);
  }
}

const readSubprotocols = (headers: IncomingHttpHeaders): string[] =>
  (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));

const PROTOCOL = 'sec-websocket-protocol';

function readAcceptance(pairs: [string, string][]): Pick<AcceptedSocket, 'protocol' | 'headers'> {
  const own = pairs.filter(([name]) => !name.toLowerCase().startsWith('sec-websocket-'));
  return { protocol: pairs.find(([name]) => name.toLowerCase() === PROTOCOL)?.[1], headers: own };
}

async function readRefusal({ head, body }: Replied): Promise<RefusedSocket> {
  const bytes = await readBoundedBytes(body ?? [], LONGEST_REFUSAL);
  if (bytes === undefined)
    throw new Problem(
      502,
      `http.app refused the connection with more than ${LONGEST_REFUSAL} bytes.`,
    );
  return { status: head.status, headers: head.headers, body: bytes };
}

type Connection = AppSocketSettings & {
  answer: Replied;
  messages: ClientMessages;
  leave: () => void;
  end: () => void;
};

class AppConnection {
  readonly #connection: Connection;
  /** The application has ended it. */
  #isOver = false;
  /** The client has ended it. */
  #isClosed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  connect(socket: MessageSocket): MessagesHeard {
    const { messages, answer, leave } = this.#connection;
    messages.attachClient(socket);
    void this.#passOn(answer.body, socket);
    return {
      message: (data, isText) =>
        messages.push(encodeSocketFrame({ form: isText ? 'text' : 'bytes', data })),
      closed: (code, reason) => {
        this.#isClosed = true;
        leave();
        messages.push(encodeSocketFrame({ form: 'close', code, reason }));
        messages.end();
        if (!this.#isOver) setTimeout(() => this.#connection.end(), FAREWELL).unref();
      },
    };
  }

  /** Passes the application's messages to the client. Never throws. */
  async #passOn(body: IncomingBody | undefined, socket: MessageSocket): Promise<void> {
    const { messageBytes, end, log } = this.#connection;
    const frames = new SocketFrames(messageBytes);
    try {
      for (let piece = await body?.read(); piece !== undefined; piece = await body?.read()) {
        for (const message of frames.push(piece)) {
          if (message.form === 'close') socket.close(message.code, message.reason);
          else await socket.send(message.data, message.form === 'text');
        }
        // An application that only writes waits from here on, until it has had the time to hear of the end.
        if (this.#isClosed) return;
      }
    } catch (error) {
      body?.cancel();
      const isTooLong = error instanceof RangeError;
      log.warn({ err: toError(error) }, 'a connection of http.app broke off');
      socket.close(isTooLong ? TOO_BIG : FAILED, isTooLong ? error.message : 'http.app failed.');
    }
    this.#isOver = true;
    // The application may end without a close, as its process may.
    socket.close(FAILED, 'http.app failed.');
    end();
  }
}
