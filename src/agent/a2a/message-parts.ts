import type { Message } from '@a2a-js/sdk';
import { Problem, Rejected } from '../../errors.ts';
import { answerMeant, type AskedQuestion } from '../runs/asked.ts';
import type { Takes } from './agent-card.ts';

/* A message of the protocol as the input of a graph, or as the answer to what a graph asks. */

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

const unsupported = (message: string): never => {
  throw new Problem(415, message);
};

type Read = { texts: string[]; data: unknown[] };

/** Reads the parts. Throws a 415 for one that is neither text nor data. */
function readParts({ parts }: Pick<Message, 'parts'>): Read {
  const read: Read = { texts: [], data: [] };
  for (const [at, { content }] of parts.entries()) {
    if (content?.$case === 'text') read.texts.push(content.value);
    else if (content?.$case === 'data') read.data.push(content.value);
    else unsupported(`message.parts.${at}: this agent takes parts of text and data, and no files.`);
  }
  return read;
}

/** Returns a graph's input: data is merged into it, and text is a message of the user. */
export function graphInputOf(message: Pick<Message, 'parts' | 'messageId'>, takes: Takes): Json {
  const { texts, data } = readParts(message);
  if (takes === 'data' && texts.length > 0) unsupported('This agent takes no text: send its input as a data part (application/json).');
  if (!data.every(isObject)) unsupported('A data part must hold a JSON object, which is merged into the input of the agent.');
  const input: Json = Object.assign({}, ...(data as Json[]));
  if (texts.length === 0) return input;
  const before = input['messages'] ?? [];
  if (!Array.isArray(before)) throw new Rejected('message.parts: "messages" of a data part must be a list.');
  const content = texts.length === 1 ? texts[0] : texts.map((text) => ({ type: 'text', text }));
  return { ...input, messages: [...before, { role: 'user', content, id: message.messageId }] };
}

/**
 * Returns what a run that waits goes on with, by the ids of its questions. One question is answered by a text, or by
 * one data part; several by a data part with an answer for each id.
 */
export function answersIn(message: Pick<Message, 'parts'>, questions: AskedQuestion[]): Json {
  const { texts, data } = readParts(message);
  const ids = questions.map(({ id }) => id);
  if (data.length > 1 || (data.length === 1 && texts.length > 0))
    throw new Rejected('message.parts: an answer is either text or one data part.');
  const [given] = data;
  if (ids.length === 1) return { [ids[0]!]: data.length === 1 ? given : answerMeant(texts.join('\n')) };
  if (!isObject(given) || !ids.every((id) => Object.hasOwn(given, id)))
    throw new Rejected(`message.parts: the task asks several questions: send one data part with an answer for each of ${ids.join(', ')}.`);
  return Object.fromEntries(ids.map((id) => [id, given[id]]));
}
