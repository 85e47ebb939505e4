import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import { answerMeant, type AskedQuestion } from '../runs/making/asked.ts';
import { type Json, isObject } from '../../schema/json.ts';

/* A question of a graph as a form of the client, and the form as the answer that the graph goes on with. */

type Schema = ElicitRequestFormParams['requestedSchema'];

/** The form of a question that brings none. */
const ANSWER: Schema = {
  type: 'object',
  properties: {
    answer: {
      type: 'string',
      title: 'Answer',
      description: 'Text, or the JSON of an object, a list, true or false.',
    },
  },
  required: ['answer'],
};

const FIELD_TYPES = ['string', 'number', 'integer', 'boolean'];

/** Returns the form that a graph brings itself, as `message` and `requestedSchema`; forms have plain fields only. */
function readOwnForm(value: unknown): { message: string; requestedSchema: Schema } | undefined {
  if (
    !isObject(value) ||
    typeof value['message'] !== 'string' ||
    !isObject(value['requestedSchema'])
  )
    return undefined;
  const { type, properties } = value['requestedSchema'];
  const isPlain = (field: unknown): boolean =>
    isObject(field) && FIELD_TYPES.includes(field['type'] as string);
  if (type !== 'object' || !isObject(properties) || !Object.values(properties).every(isPlain))
    return undefined;
  return {
    message: value['message'],
    // Clients refuse forms that they can't show.
    requestedSchema: value['requestedSchema'] as unknown as Schema,
  };
}

/** Returns the form that the client shows to a person. */
export const buildQuestionForm = ({ value }: AskedQuestion): ElicitRequestFormParams => ({
  mode: 'form',
  ...(readOwnForm(value) ?? {
    message: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
    requestedSchema: ANSWER,
  }),
});

const NAME = /^[\w-]{1,64}$/;

/**
 * Returns the questions by the client's names for them: the `name` of a graph's own form where no other one has it,
 * or else the id.
 */
export function mapQuestionsByKey(questions: AskedQuestion[]): Map<string, AskedQuestion> {
  const names = questions.map(({ value }) =>
    isObject(value) && readOwnForm(value) !== undefined ? value['name'] : undefined,
  );
  const isUsable = (name: unknown): name is string =>
    typeof name === 'string' &&
    NAME.test(name) &&
    names.filter((other) => other === name).length === 1;
  return new Map(
    questions.map((question, index) => [
      isUsable(names[index]) ? names[index] : question.id,
      question,
    ]),
  );
}

/** A person's response to the form of each question; `missing`: the client did not bring it. */
export type Responses =
  | { kind: 'given'; answers: Map<string, unknown> }
  | { kind: 'missing' }
  | { kind: 'refused' };

/** Reads the client's responses. The answers are by the ids of the questions. */
export function readResponses(questions: AskedQuestion[], given: Json = {}): Responses {
  const answers = new Map<string, unknown>();
  for (const [key, question] of mapQuestionsByKey(questions)) {
    const response = Object.hasOwn(given, key) ? given[key] : undefined;
    if (!isObject(response)) return { kind: 'missing' };
    if (response['action'] !== 'accept') return { kind: 'refused' };
    answers.set(question.id, readFormAnswer(question, response['content']));
  }
  return { kind: 'given', answers };
}

function readFormAnswer({ value }: AskedQuestion, content: unknown): unknown {
  if (readOwnForm(value) !== undefined) return content ?? {};
  const answer = isObject(content) ? content['answer'] : content;
  return typeof answer === 'string' ? answerMeant(answer) : (answer ?? null);
}
