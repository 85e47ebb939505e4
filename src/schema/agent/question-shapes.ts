import { isObject, parseJsonOr, type Json } from '../json.ts';

/*
 * Questions with which graphs wait for people, in the shapes that people use, and the answers that each expects. The
 * studio and the doors of MCP, A2A and AG-UI read them here, so that a question has one form everywhere.
 *
 * Sources: the middleware `human_in_the_loop` of LangChain for Python 1.5 and JavaScript 1.5 (batched and per call),
 * Agent Inbox's HumanInterrupt, MCP's elicitation, and `interrupt(value, schema)` of LangGraph 1.2 and 1.7.
 */

export const DECISIONS = ['approve', 'edit', 'reject', 'respond'] as const;
export type DecisionKind = (typeof DECISIONS)[number];

/** A tool call that waits for a decision. */
export type AskedAction = {
  name: string;
  args: unknown;
  description: string;
  allowed: DecisionKind[];
};

/**
 * A question: tool calls by LangChain's human-in-the-loop (`decisions`), one call by itself (`tool_approval`), one by
 * Agent Inbox (`inbox`), a form as MCP asks for it (`form`), a value whose answer has a schema (`typed`), or anything
 * else, which takes text or JSON (`free`).
 */
export type AskedShape =
  | { kind: 'decisions'; actions: AskedAction[]; isCamel: boolean }
  | { kind: 'tool_approval'; action: AskedAction; isCamel: boolean }
  | { kind: 'inbox'; action: AskedAction }
  | { kind: 'form'; message: string; schema: Json }
  | { kind: 'typed'; value: unknown; form: TypedForm }
  | { kind: 'free'; value: unknown };

/** An interrupt as records of threads have it: its value, and the schema of its answer where the graph gives one. */
export type AskedInterrupt = {
  value: unknown;
  response_schema?: unknown;
  responseSchema?: unknown;
};

const readText = (value: unknown): string => (typeof value === 'string' ? value : '');
const readObjects = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

/** Returns the shape of a question. One that no known shape fits is answered freely. */
export function readQuestion(interrupt: AskedInterrupt): AskedShape {
  const { value } = interrupt;
  const given = interrupt.response_schema ?? interrupt.responseSchema;
  const schema = isObject(given) ? given : undefined;
  return (
    readToolApproval(value, schema) ??
    readDecisions(value) ??
    readInbox(value) ??
    readForm(value) ??
    readTyped(value, schema) ?? { kind: 'free', value }
  );
}

/** Returns the calls about which a question wants decisions; none for another question. */
export function listAskedActions(asked: AskedShape): AskedAction[] {
  if (asked.kind === 'decisions') return asked.actions;
  return asked.kind === 'inbox' || asked.kind === 'tool_approval' ? [asked.action] : [];
}

/** Returns the decisions that are named, in the order of all; all of them where none is. */
const chooseAllowed = (names: readonly unknown[]): DecisionKind[] =>
  names.length === 0 ? [...DECISIONS] : DECISIONS.filter((one) => names.includes(one));

/** Reads the question of LangChain's middleware about one call: its schema says which decisions it takes. */
function readToolApproval(value: unknown, schema: Json | undefined): AskedShape | undefined {
  if (!isObject(value) || value['type'] !== 'tool_approval') return undefined;
  const branches = schema === undefined ? [] : listBranches(schema);
  const names = branches.flatMap(({ properties }) => readConstants(properties['type']));
  // LangChain.js names the field of an edit in camel case, as it does in its batched question.
  const isCamel = branches.some(({ properties }) => 'editedAction' in properties);
  const action = {
    name: readText(value['name']),
    args: value['args'] ?? {},
    description: readText(value['description']),
    allowed: chooseAllowed(names),
  };
  return { kind: 'tool_approval', action, isCamel };
}

function readDecisions(value: unknown): AskedShape | undefined {
  if (!isObject(value)) return undefined;
  const isCamel = Array.isArray(value['actionRequests']);
  const requests = readObjects(value[isCamel ? 'actionRequests' : 'action_requests']);
  if (requests.length === 0) return undefined;
  const reviews = readObjects(value[isCamel ? 'reviewConfigs' : 'review_configs']);
  const actions = requests.map((request, index) => {
    const name = readText(request['name']) || readText(request['action']);
    const review =
      reviews.find((one) => readText(one[isCamel ? 'actionName' : 'action_name']) === name) ??
      reviews[index];
    const allowed = review?.[isCamel ? 'allowedDecisions' : 'allowed_decisions'];
    return {
      name,
      args: request['args'] ?? request['arguments'] ?? {},
      description: readText(request['description']),
      allowed: chooseAllowed(Array.isArray(allowed) ? allowed : []),
    };
  });
  return { kind: 'decisions', actions, isCamel };
}

/** Names of Agent Inbox's settings, beside the decisions that they allow. */
const INBOX: Record<DecisionKind, string[]> = {
  approve: ['allow_accept', 'allowAccept'],
  edit: ['allow_edit', 'allowEdit'],
  reject: ['allow_ignore', 'allowIgnore'],
  respond: ['allow_respond', 'allowRespond'],
};

function readInbox(value: unknown): AskedShape | undefined {
  const fields = Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;
  if (!isObject(fields)) return undefined;
  const request = fields['action_request'] ?? fields['actionRequest'];
  const config = fields['config'];
  if (!isObject(request) || !isObject(config)) return undefined;
  const action = {
    name: readText(request['action']),
    args: request['args'] ?? {},
    description: readText(fields['description']),
    allowed: DECISIONS.filter((one) => INBOX[one].some((name) => config[name] === true)),
  };
  return { kind: 'inbox', action };
}

function readForm(value: unknown): AskedShape | undefined {
  if (!isObject(value) || typeof value['message'] !== 'string') return undefined;
  const schema = value['requestedSchema'] ?? value['requested_schema'];
  return isObject(schema) ? { kind: 'form', message: value['message'], schema } : undefined;
}

/**
 * The form of an answer that has a schema. `schema` describes an object of named fields. An answer that is no object is
 * its one field `answer` (`isWrapped`). Where the schema has several branches, one field tells them apart, and
 * `branches` has the fields of each of its values.
 */
export type TypedForm = {
  schema: Json;
  isWrapped: boolean;
  branches: { by: string; fieldsOf: Record<string, string[]> } | undefined;
};

/** Name of the field of an answer that is no object. */
export const ONLY_FIELD = 'answer';

function readTyped(value: unknown, schema: Json | undefined): AskedShape | undefined {
  if (schema === undefined) return undefined;
  const branches = listBranches(schema);
  if (branches.length > 1) {
    const form = mergeBranches(schema, branches);
    return form && { kind: 'typed', value, form };
  }
  const [only] = branches;
  if (only !== undefined)
    return { kind: 'typed', value, form: { schema, isWrapped: false, branches: undefined } };
  // A schema that is not an object's, but has its definitions, keeps them at the root.
  const { $defs, definitions, ...own } = schema;
  const wrapped = {
    type: 'object',
    properties: { [ONLY_FIELD]: { title: 'Answer', ...own } },
    required: [ONLY_FIELD],
    ...($defs !== undefined && { $defs }),
    ...(definitions !== undefined && { definitions }),
  };
  return {
    kind: 'typed',
    value,
    form: { schema: wrapped, isWrapped: true, branches: undefined },
  };
}

type Branch = { properties: Record<string, Json>; required: string[] };

/** Deepest reference that is followed within a schema of somebody else's. */
const DEEPEST_REFERENCE = 5;

function resolveReference(given: unknown, whole: Json, depth = 0): Json {
  if (!isObject(given) || depth > DEEPEST_REFERENCE) return {};
  const [, place, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(readText(given['$ref'])) ?? [];
  if (place === undefined || name === undefined) return given;
  const named = whole[place];
  return isObject(named) && Object.hasOwn(named, name)
    ? resolveReference(named[name], whole, depth + 1)
    : {};
}

/** Returns the objects that a schema describes: each of its branches, itself, or none. */
function listBranches(schema: Json): Branch[] {
  const either = [schema['oneOf'], schema['anyOf']].find(Array.isArray) as unknown[] | undefined;
  const branches = (either ?? [schema]).map((one): Branch | undefined => {
    const branch = resolveReference(one, schema);
    const properties = branch['properties'];
    if (!isObject(properties)) return undefined;
    const resolved = Object.entries(properties).map(
      ([name, property]) => [name, resolveReference(property, schema)] as const,
    );
    const required = Array.isArray(branch['required']) ? branch['required'] : [];
    return {
      properties: Object.fromEntries(resolved),
      required: required.filter((name) => typeof name === 'string'),
    };
  });
  return branches.every((one) => one !== undefined) ? branches : [];
}

function readConstants(property: Json | undefined): string[] {
  const values = Array.isArray(property?.['enum']) ? property['enum'] : [property?.['const']];
  return values.filter((value) => typeof value === 'string');
}

/** Returns one form of several branches, which a field with a constant in each tells apart; else undefined. */
function mergeBranches(schema: Json, branches: Branch[]): TypedForm | undefined {
  const [first, ...others] = branches;
  const by = Object.keys(first!.properties).find((name) =>
    branches.every(({ properties }) => readConstants(properties[name]).length === 1),
  );
  if (by === undefined) return undefined;
  const nameOf = ({ properties }: Branch): string => readConstants(properties[by])[0]!;
  const required = first!.required.filter((name) =>
    others.every((branch) => branch.required.includes(name)),
  );
  const { $defs, definitions } = schema;
  return {
    schema: {
      type: 'object',
      properties: {
        ...Object.assign({}, ...branches.toReversed().map(({ properties }) => properties)),
        [by]: {
          type: 'string',
          title: readText(first!.properties[by]?.['title']) || by,
          enum: branches.map(nameOf),
        },
      },
      required: [...new Set([by, ...required])],
      ...($defs !== undefined && { $defs }),
      ...(definitions !== undefined && { definitions }),
    },
    isWrapped: false,
    branches: {
      by,
      fieldsOf: Object.fromEntries(
        branches.map((branch) => [nameOf(branch), Object.keys(branch.properties)]),
      ),
    },
  };
}

/** Returns the answer that the content of a typed form is: without the fields of other branches, or its only field. */
export function buildTypedAnswer({ isWrapped, branches }: TypedForm, content: Json): unknown {
  if (isWrapped) return content[ONLY_FIELD];
  if (branches === undefined) return content;
  const fields = branches.fieldsOf[readText(content[branches.by])] ?? Object.keys(content);
  return Object.fromEntries(Object.entries(content).filter(([name]) => fields.includes(name)));
}

export type ActionDecision = { kind: DecisionKind; args?: unknown; message?: string };

/** Returns the answer to a question about calls: a decision for each of them, in their order. */
export function buildDecidedAnswer(
  asked: AskedShape,
  decisions: readonly ActionDecision[],
): unknown {
  switch (asked.kind) {
    case 'decisions':
      return {
        decisions: decisions.map((decision, index) =>
          buildDecision(asked.actions[index]?.name ?? '', decision, asked.isCamel),
        ),
      };
    case 'tool_approval':
      return buildDecision(asked.action.name, decisions[0] ?? { kind: 'reject' }, asked.isCamel);
    case 'inbox':
      return buildInboxAnswer(asked.action, decisions[0] ?? { kind: 'reject' });
    default:
      throw new TypeError(`a question of the kind ${asked.kind} takes no decisions`);
  }
}

function buildDecision(
  name: string,
  { kind, args, message = '' }: ActionDecision,
  isCamel: boolean,
): Json {
  if (kind === 'approve') return { type: kind };
  if (kind === 'edit')
    return { type: kind, [isCamel ? 'editedAction' : 'edited_action']: { name, args } };
  return { type: kind, ...((kind === 'respond' || message !== '') && { message }) };
}

/** Returns the answer that Agent Inbox would give, which is a list of one. */
function buildInboxAnswer(
  { name, args: given }: AskedAction,
  { kind, args, message = '' }: ActionDecision,
): Json[] {
  if (kind === 'approve') return [{ type: 'accept', args: null }];
  if (kind === 'edit') return [{ type: 'edit', args: { action: name, args: args ?? given } }];
  return kind === 'reject'
    ? [{ type: 'ignore', args: null }]
    : [{ type: 'response', args: message }];
}

/**
 * Returns an answer in free words: people write into one field a value that a graph may want as JSON, so an object, a
 * list, true or false is that, and all else is the text.
 */
export const parseFreeAnswer = (text: string): unknown =>
  /^\s*(?:[[{]|(?:true|false)\s*$)/.test(text) ? parseJsonOr(text, text) : text;
