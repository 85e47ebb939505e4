import { isDeepStrictEqual } from 'node:util';
import { parseJsonOr, type Json } from '../../schema/json.ts';
import {
  buildClientMessages,
  buildToolMessageId,
  mapOwnAnswers,
  type ClientMessage,
  readString,
} from './messages.ts';

/*
 * The list of messages that a client has, as the events of a run make it. Messages of agents within the agent are on it
 * and in no thread's state; they carry the agent's id.
 */

/** A message, and the agent within the agent whose it is. */
type OwnedMessage = { id: string; owner: string | undefined };

type ClientCall = { id: string; type: 'function'; function: { name: string; arguments: string } };

const getCalls = (message: ClientMessage): ClientCall[] =>
  (message['toolCalls'] ?? []) as ClientCall[];

export class ClientList {
  readonly #shown: Map<string, ClientMessage>;
  /** The ids of the messages that the client had when it asked. */
  readonly #before: ReadonlySet<string>;
  /** The calls that the client knows. It has the arguments of a closed one, and the result of an answered one. */
  readonly #calls = new Map<string, 'open' | 'closed' | 'answered'>();
  /** The ids that the client gave to its own answers, by call. */
  readonly #ownAnswers: ReadonlyMap<string, string>;

  readonly isOld: boolean;

  /** `messages`: those that the client had when it asked. */
  constructor({ messages, isOld }: { messages: ClientMessage[]; isOld: boolean }) {
    this.isOld = isOld;
    this.#shown = new Map(messages.map((message) => [message.id, message]));
    this.#before = new Set(this.#shown.keys());
    for (const message of messages)
      for (const { id } of getCalls(message)) this.#calls.set(id, 'closed');
    this.#ownAnswers = mapOwnAnswers(messages);
    for (const callId of this.#ownAnswers.keys()) this.#calls.set(callId, 'answered');
  }

  has(id: string): boolean {
    return this.#shown.has(id);
  }

  hasCall(callId: string): boolean {
    return this.#calls.has(callId);
  }

  isAnswered(callId: string): boolean {
    return this.#calls.get(callId) === 'answered';
  }

  read(): ClientMessage[] {
    return [...this.#shown.values()];
  }

  readonly getAnswerId = (callId: string): string =>
    this.#ownAnswers.get(callId) ?? buildToolMessageId(callId);

  add(message: ClientMessage): void {
    this.#shown.set(message.id, message);
  }

  addAnswer(toolCallId: string, content: string | Json[], owner: string | undefined): string {
    this.#calls.set(toolCallId, 'answered');
    const id = this.getAnswerId(toolCallId);
    this.add({ id, role: 'tool', toolCallId, content, ...buildOwnerField(owner) });
    return id;
  }

  append({ id, owner }: OwnedMessage, role: 'assistant' | 'reasoning', delta: string): void {
    const message = this.#shown.get(id) ?? { id, role, ...buildOwnerField(owner) };
    this.add({ ...message, content: readString(message['content']) + delta });
  }

  /** Adds a call to an assistant's message. */
  startCall(
    { id: messageId, owner }: OwnedMessage,
    { id, name }: { id: string; name: string },
  ): void {
    this.#calls.set(id, 'open');
    const message = this.#shown.get(messageId) ?? {
      id: messageId,
      role: 'assistant',
      ...buildOwnerField(owner),
    };
    this.add({
      ...message,
      toolCalls: [
        ...getCalls(message),
        { id, type: 'function', function: { name, arguments: '' } },
      ],
    });
  }

  appendArguments(messageId: string, callId: string, delta: string): void {
    const message = this.#shown.get(messageId);
    const call = message && getCalls(message).find(({ id }) => id === callId);
    if (call !== undefined) call.function.arguments += delta;
  }

  closeCall(callId: string): void {
    if (this.#calls.get(callId) === 'open') this.#calls.set(callId, 'closed');
  }

  /** Returns the lists that make the client's one that of a thread's state; none where it is that already. */
  findCorrections(values: unknown): ClientMessage[][] {
    const now = buildClientMessages(values, this);
    const after = now.map(readCompared);
    const isRight = this.#readOrders().every((order) =>
      isDeepStrictEqual(order.filter(isOfThread).map(readCompared), after),
    );
    return isRight ? [] : this.planSnapshots(now);
  }

  /**
   * Returns the lists that make the client's one the given one, to be sent one after the other. Clients keep the
   * messages that they have at their places and append the others, so messages at wrong places are taken out first.
   * Reasoning stays where it is.
   */
  planSnapshots(now: ClientMessage[]): ClientMessage[][] {
    const whole = this.#addOwned(now);
    const kept = Math.min(...this.#readOrders().map((order) => countInOrder(whole, order)));
    const known = whole.filter(({ id }) => this.#shown.has(id)).length;
    return kept < known ? [whole.slice(0, kept), whole] : [whole];
  }

  /** Returns the messages in each order that a client may have them in. */
  #readOrders(): ClientMessage[][] {
    return [this.read(), this.#readAnswersBehindCalls()].map((all) =>
      all.filter(({ role }) => role !== 'reasoning' && role !== 'activity'),
    );
  }

  /** Returns the messages in the order of clients that put an answer behind the message which makes the call. */
  #readAnswersBehindCalls(): ClientMessage[] {
    const ordered: ClientMessage[] = [];
    for (const message of this.read()) {
      const asked =
        message.role === 'tool' && !this.#before.has(message.id)
          ? ordered.findIndex((one) =>
              getCalls(one).some(({ id }) => id === readString(message['toolCallId'])),
            )
          : -1;
      const behind = ordered.findIndex(({ role }, at) => at > asked && role !== 'tool');
      ordered.splice(asked === -1 || behind === -1 ? ordered.length : behind, 0, message);
    }
    return ordered;
  }

  /** Puts the messages of agents within the agent behind the messages that they follow. */
  #addOwned(now: ClientMessage[]): ClientMessage[] {
    const followers = new Map<string | undefined, ClientMessage[]>();
    const ids = new Set(now.map(({ id }) => id));
    let last: string | undefined;
    for (const message of this.read()) {
      if (isOfThread(message)) last = ids.has(message.id) ? message.id : last;
      else followers.set(last, [...(followers.get(last) ?? []), message]);
    }
    const first = followers.get(undefined) ?? [];
    return [...first, ...now.flatMap((message) => [message, ...(followers.get(message.id) ?? [])])];
  }
}

const buildOwnerField = (owner: string | undefined): Json =>
  owner === undefined ? {} : { subagentRunId: owner };

const isOfThread = (message: ClientMessage): boolean => message['subagentRunId'] === undefined;

/** Returns how many of the first messages the other list has in this order. */
function countInOrder(messages: ClientMessage[], other: ClientMessage[]): number {
  const places = new Map(other.map(({ id }, at) => [id, at]));
  let last = -1;
  const wrong = messages.findIndex(({ id }) => {
    const place = places.get(id) ?? -1;
    if (place <= last) return true;
    last = place;
    return false;
  });
  return wrong === -1 ? messages.length : wrong;
}

/** Returns the fields of a message by which two lists are compared; arguments are compared by their values. */
function readCompared(message: ClientMessage): Json {
  const { id, role, content, toolCallId } = message;
  const calls = getCalls(message).map((call) => [
    call.id,
    call.function.name,
    parseJsonOr(call.function.arguments, call.function.arguments),
  ]);
  return { id, role, content: content ?? '', calls, toolCallId };
}
