import { toError, Problem, Unavailable } from '../../errors.ts';
import type { TextSocket } from '../../http/server/websocket.ts';
import type { Log } from '../../log.ts';
import type { Command } from '../../schema/agent/event-streaming.ts';
import type { AgentCall } from '../auth/caller.ts';
import { createId } from '../kernel/ids.ts';
import type { Readers } from '../runs/reading/readers.ts';
import { parseEventName } from '../stream/event-name.ts';
import { isEventSelected, type EventFilter } from '../stream/protocol/filter.ts';
import type { Batch } from '../stream/protocol/follow.ts';
import { formatProtocolEvent } from '../stream/protocol/wire-form.ts';
import {
  CommandError,
  buildCommandFailure,
  resumeGap,
  buildCommandSuccess,
  type CommandAnswer,
} from './answers.ts';
import { answerCommand, isRunStart, type CommandDeps } from './commands.ts';
import { parseCommand, parseEventFilter } from './command-form.ts';
import { loadVisibility, type Visibility } from './visibility.ts';
import type { Json } from '../../schema/json.ts';

export type SessionDeps = CommandDeps & {
  readers: Readers;
  log: Log;
};

type Session = {
  threadId: string;
  request: AgentCall;
  socket: TextSocket;
  /** Counts a run that the client is about to start. Throws a 429 for one too many. */
  starts: () => void;
};

/** Subscriptions of a connection. Each event is compared with all of them. */
const MOST_SUBSCRIPTIONS = 100;
/** Commands of a connection whose answers are not with the client yet. */
const MOST_UNDER_WAY = 100;
const ENDED = 1001;
const TOO_MUCH = 1008;
const FAILED = 1011;

/**
 * One client's connection to a thread: commands come in, and answers and events go out. All subscriptions share one
 * reader, so that an event that several of them want goes out once. A new subscription first gets the events that the
 * reader has passed.
 */
export class SocketSession {
  readonly #deps: SessionDeps;
  readonly #session: Session;
  readonly #filters = new Map<string, EventFilter>();
  /** The number of the last event that the reader has passed. */
  #at = 0;
  #reading = false;
  #underWay = 0;
  #subscribing = 0;

  constructor(deps: SessionDeps, session: Session) {
    this.#deps = deps;
    this.#session = session;
  }

  receive(text: string): void {
    if (this.#underWay >= MOST_UNDER_WAY)
      return this.#session.socket.close(
        TOO_MUCH,
        `More than ${MOST_UNDER_WAY} commands wait for their answers.`,
      );
    this.#underWay += 1;
    void this.#answer(text)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => (this.#underWay -= 1));
  }

  async #answer(text: string): Promise<void> {
    const command = parseCommand(text);
    if (command === undefined) {
      const message = 'Protocol commands must be JSON with an integer id and a string method.';
      return this.#send(buildCommandFailure(null, { code: 'invalid_argument', message }));
    }
    try {
      await this.#runCommand(command);
    } catch (error) {
      await this.#send(buildCommandFailure(command.id, this.#toCommandError(error)));
    }
  }

  async #runCommand(command: Command): Promise<void> {
    const params = command.params ?? {};
    switch (command.method) {
      case 'subscription.subscribe':
        if (this.#filters.size + this.#subscribing >= MOST_SUBSCRIPTIONS)
          throw new CommandError(
            'invalid_argument',
            `A connection has at most ${MOST_SUBSCRIPTIONS} subscriptions.`,
          );
        this.#subscribing += 1;
        return this.#subscribe(command.id, params).finally(() => (this.#subscribing -= 1));
      case 'subscription.unsubscribe':
        return this.#removeSubscription(command.id, params);
      case 'subscription.reconnect':
        return this.#send(
          buildCommandSuccess(command.id, {
            restored: this.#hasAll(params['subscriptions']),
            missed_events: 0,
          }),
        );
      default:
        if (isRunStart(command)) this.#session.starts();
        return this.#send(await answerCommand(this.#deps, command, this.#session));
    }
  }

  async #subscribe(id: number, params: Json): Promise<void> {
    const { since, ...filter } = parseEventFilter(params);
    const { threadId, request } = this.#session;
    const seen = await loadVisibility(this.#deps.db, request.caller, threadId);
    const subscription = createId();
    const stored = await this.#deps.readers.countStoredEvents(threadId, { ...filter, since });
    // Somebody else may have made the thread since it was looked at.
    const replayed_events = stored > 0 && (await seen.isSeen()) ? stored : 0;
    await this.#send(buildCommandSuccess(id, { subscription_id: subscription, replayed_events }));
    if (!this.#reading) {
      this.#reading = true;
      this.#filters.set(subscription, filter);
      void this.#read(since, seen).catch((error: unknown) => this.#fail(error));
      return;
    }
    // Events that the reader passes meanwhile are replayed, too. The subscription begins where both are at one number.
    for (let from = since; from < this.#at;) {
      const upTo = this.#at;
      const batches = seen.shown(
        this.#deps.readers.loadProtocolRange(threadId, { since: from, upTo }),
      );
      for await (const batch of batches) await this.#pass(batch, [filter]);
      from = upTo;
    }
    this.#filters.set(subscription, filter);
  }

  async #removeSubscription(id: number, { subscription_id }: Json): Promise<void> {
    if (!this.#filters.delete(String(subscription_id)))
      throw new CommandError(
        'no_such_subscription',
        `Unknown subscription: ${String(subscription_id)}`,
      );
    await this.#send(buildCommandSuccess(id, {}));
  }

  #hasAll(subscriptions: unknown): boolean {
    return (
      Array.isArray(subscriptions) && subscriptions.every((id) => this.#filters.has(String(id)))
    );
  }

  /** Reads the thread until the client leaves or the server stops. */
  async #read(since: number, seen: Visibility): Promise<void> {
    const { threadId, request, socket } = this.#session;
    const followed = this.#deps.readers.followThreadToCome(threadId, request.signal);
    for await (const batch of seen.shown(
      this.#deps.readers.followProtocolEvents(followed, since),
    )) {
      if ('events' in batch) this.#at = batch.events.at(-1)?.thread_seq ?? this.#at;
      await this.#pass(batch, [...this.#filters.values()]);
    }
    socket.close(ENDED);
  }

  async #pass(batch: Batch, filters: EventFilter[]): Promise<void> {
    if ('gap' in batch) return this.#send(buildCommandFailure(null, resumeGap(batch.gap)));
    let sent: Promise<void> | undefined;
    for (const event of batch.events) {
      const place = parseEventName(event.event);
      if (filters.some((filter) => isEventSelected(filter, place)))
        sent = this.#session.socket.send(formatProtocolEvent(event, place.method));
    }
    await sent;
  }

  #send(answer: CommandAnswer): Promise<void> {
    return this.#session.socket.send(JSON.stringify(answer));
  }

  /** Returns the error as an answer, because a socket has no status of its own for each request. */
  #toCommandError(error: unknown): CommandError {
    if (error instanceof CommandError) return error;
    if (error instanceof Problem)
      return new CommandError(
        error instanceof Unavailable ? 'unknown_error' : 'invalid_argument',
        error.message,
      );
    this.#deps.log.error(
      { err: toError(error), thread_id: this.#session.threadId },
      'command failed',
    );
    return new CommandError('unknown_error', 'Internal Server Error');
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#session.request.signal.aborted) return;
    await this.#send(buildCommandFailure(null, this.#toCommandError(error)));
    this.#session.socket.close(FAILED);
  }
}
