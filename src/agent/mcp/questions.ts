import type { ElicitRequestFormParams } from '@modelcontextprotocol/server';
import {
  buildDecidedAnswer,
  buildTypedAnswer,
  listAskedActions,
  ONLY_FIELD,
  parseFreeAnswer,
  readQuestion,
  type ActionDecision,
  type AskedAction,
  type AskedShape,
  type DecisionKind,
} from '../../schema/agent/question-shapes.ts';
import { type Json, isObject, parseJsonOr } from '../../schema/json.ts';
import type { AskedQuestion } from '../runs/making/asked.ts';

/* A question of a graph as a form of the client, and the form as the answer that the graph goes on with. */

type Schema = ElicitRequestFormParams['requestedSchema'];

/** The form of a question that brings none. */
const ANSWER: Schema = {
  type: 'object',
  properties: {
    [ONLY_FIELD]: {
      type: 'string',
      title: 'Answer',
      description: 'Text, or the JSON of an object, a list, true or false.',
    },
  },
  required: [ONLY_FIELD],
};

const FIELD_TYPES = ['string', 'number', 'integer', 'boolean'];

/** Returns a schema that clients can show: they have plain fields only, and refuse other forms. */
function findPlainSchema(asked: AskedShape): Schema | undefined {
  const schema =
    asked.kind === 'form' ? asked.schema : asked.kind === 'typed' ? asked.form.schema : {};
  const { type = asked.kind === 'typed' ? 'object' : undefined, properties } = schema;
  const isPlain = (field: unknown): boolean =>
    isObject(field) && FIELD_TYPES.includes(field['type'] as string);
  if (type !== 'object' || !isObject(properties) || !Object.values(properties).every(isPlain))
    return undefined;
  // Its fields were looked at; the package's type wants more of them than clients do.
  return { ...schema, type } as unknown as Schema;
}

/** Returns the names of the fields with which one of several calls is decided. */
const nameFields = (index: number, count: number) => {
  const suffix = count === 1 ? '' : `_${index + 1}`;
  return {
    decision: `decision${suffix}`,
    message: `message${suffix}`,
    args: `arguments${suffix}`,
  };
};

/** Returns the fields with which a person decides about calls. Clients have no lists of objects in a form. */
function buildDecisionsSchema(actions: AskedAction[]): Schema {
  const properties: Schema['properties'] = {};
  const required: string[] = [];
  for (const [index, { name, args, allowed }] of actions.entries()) {
    const fields = nameFields(index, actions.length);
    properties[fields.decision] = {
      type: 'string',
      title: `Decision about ${name}`,
      enum: allowed,
    };
    required.push(fields.decision);
    if (allowed.includes('reject') || allowed.includes('respond'))
      properties[fields.message] = {
        type: 'string',
        title: 'Message',
        description: 'The reason of a rejection, or the answer in place of the call.',
      };
    if (allowed.includes('edit'))
      properties[fields.args] = {
        type: 'string',
        title: 'Arguments',
        description: `The JSON of the arguments with which an edit calls ${name}.`,
        default: JSON.stringify(args),
      };
  }
  return { type: 'object', properties, required };
}

/** Returns the calls of a question in words: each with its description, or else its name and arguments. */
const describeActions = (actions: AskedAction[]): string =>
  actions
    .map(({ name, args, description }) => description || `${name} ${JSON.stringify(args)}`)
    .join('\n\n');

const describeValue = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 2);

/** Returns the form that the client shows to a person. */
export function buildQuestionForm(question: AskedQuestion): ElicitRequestFormParams {
  const asked = readQuestion(question);
  const actions = listAskedActions(asked);
  if (actions.length > 0)
    return {
      mode: 'form',
      message: describeActions(actions),
      requestedSchema: buildDecisionsSchema(actions),
    };
  const own = findPlainSchema(asked);
  const isOwnForm = asked.kind === 'form' && own !== undefined;
  return {
    mode: 'form',
    message: isOwnForm ? asked.message : describeValue(question.value),
    requestedSchema: own ?? ANSWER,
  };
}

const NAME = /^[\w-]{1,64}$/;

/**
 * Returns the questions by the client's names for them: the `name` of a graph's own form where no other one has it,
 * or else the id.
 */
export function mapQuestionsByKey(questions: AskedQuestion[]): Map<string, AskedQuestion> {
  const names = questions.map((question) => {
    const asked = readQuestion(question);
    return asked.kind === 'form' && isObject(question.value) && findPlainSchema(asked) !== undefined
      ? question.value['name']
      : undefined;
  });
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

/** A person's response to the form of each question; `missing`: the client did not bring it, or not as it was asked. */
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
    const read = readFormAnswer(readQuestion(question), response['content']);
    if (read === undefined) return { kind: 'missing' };
    answers.set(question.id, read.answer);
  }
  return { kind: 'given', answers };
}

/** Returns the answer that a filled form is; undefined where it decides nothing that it was asked. */
function readFormAnswer(asked: AskedShape, content: unknown): { answer: unknown } | undefined {
  const actions = listAskedActions(asked);
  const fields = isObject(content) ? content : {};
  if (actions.length > 0) {
    const decisions = actions.map((action, index) =>
      readDecision(action, fields, nameFields(index, actions.length)),
    );
    return decisions.every((one) => one !== undefined)
      ? { answer: buildDecidedAnswer(asked, decisions) }
      : undefined;
  }
  if (findPlainSchema(asked) !== undefined)
    return {
      answer: asked.kind === 'typed' ? buildTypedAnswer(asked.form, fields) : (content ?? {}),
    };
  const answer = isObject(content) ? content[ONLY_FIELD] : content;
  return { answer: typeof answer === 'string' ? parseFreeAnswer(answer) : (answer ?? null) };
}

function readDecision(
  { allowed, args: given }: AskedAction,
  content: Json,
  names: { decision: string; message: string; args: string },
): ActionDecision | undefined {
  const kind = allowed.find((one): one is DecisionKind => one === content[names.decision]);
  if (kind === undefined) return undefined;
  const message = content[names.message];
  const words = typeof message === 'string' ? { message } : {};
  if (kind !== 'edit') return { kind, ...words };
  const text = content[names.args];
  const args = typeof text === 'string' ? parseJsonOr(text, undefined) : given;
  return isObject(args) ? { kind, args } : undefined;
}
