import { isDeepStrictEqual } from 'node:util';
import { parseJsonOr, type Json } from '../../schema/json.ts';
import {
  buildClientMessage,
  buildToolMessageId,
  readMessages,
  type ClientMessage,
  readString,
} from './messages.ts';

/* The list of messages that a client has, as the events of a run make it. */

type ClientCall = { id: string; type: 'function'; function: { name: string; arguments: string } };

const getCalls = (message: ClientMessage): ClientCall[] =>
  (message['toolCalls'] ?? []) as ClientCall[];

export class ClientList {
  readonly #shown: Map<string, ClientMessage>;
  /** The calls that the client knows. It has the arguments of a closed one, and the result of an answered one. */
  readonly #calls = new Map<string, 'open' | 'closed' | 'answered'>();
  /** The ids that the client gave to its own answers, by call. */
  readonly #ownAnswers = new Map<string, string>();

  /** `messages`: those that the client had when it asked. */
  constructor(messages: ClientMessage[]) {
    this.#shown = new Map(messages.map((message) => [message.id, message]));
    for (const message of messages)
      for (const { id } of getCalls(message)) this.#calls.set(id, 'closed');
    for (const message of messages.filter(({ role }) => role === 'tool')) {
      this.#ownAnswers.set(readString(message['toolCallId']), message.id);
      this.#calls.set(readString(message['toolCallId']), 'answered');
    }
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

  getAnswerId(callId: string): string {
    return this.#ownAnswers.get(callId) ?? buildToolMessageId(callId);
  }

  add(message: ClientMessage): void {
    this.#shown.set(message.id, message);
  }

  addAnswer(toolCallId: string, content: string): string {
    this.#calls.set(toolCallId, 'answered');
    const id = this.getAnswerId(toolCallId);
    this.add({ id, role: 'tool', toolCallId, content });
    return id;
  }

  append(id: string, role: 'assistant' | 'reasoning', delta: string): void {
    const message = this.#shown.get(id) ?? { id, role };
    this.add({ ...message, content: readString(message['content']) + delta });
  }

  /** Adds a call to an assistant's message; to none where nothing tells which one makes it. */
  startCall(messageId: string | undefined, { id, name }: { id: string; name: string }): void {
    this.#calls.set(id, 'open');
    if (messageId === undefined) return;
    const message = this.#shown.get(messageId) ?? { id: messageId, role: 'assistant' };
    this.add({
      ...message,
      toolCalls: [
        ...getCalls(message),
        { id, type: 'function', function: { name, arguments: '' } },
      ],
    });
  }

  appendArguments(messageId: string | undefined, callId: string, delta: string): void {
    const message = messageId === undefined ? undefined : this.#shown.get(messageId);
    const call = message && getCalls(message).find(({ id }) => id === callId);
    if (call !== undefined) call.function.arguments += delta;
  }

  closeCall(callId: string): void {
    if (this.#calls.get(callId) === 'open') this.#calls.set(callId, 'closed');
  }

  /** Returns the list that the thread's state makes; undefined where the client has it. Reasoning stays where it is. */
  findCorrection(values: unknown): ClientMessage[] | undefined {
    const now = readMessages(values).flatMap(
      (message) => buildClientMessage(message, (callId) => this.getAnswerId(callId)) ?? [],
    );
    const before = this.read().filter(({ role }) => role !== 'reasoning' && role !== 'activity');
    return isDeepStrictEqual(before.map(readCompared), now.map(readCompared)) ? undefined : now;
  }
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
