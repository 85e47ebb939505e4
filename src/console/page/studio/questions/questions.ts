import { isObject, parseJsonOr } from '../../../../schema/json.ts';
import { toItems, toText, type Fields } from '../agent-answers.ts';

/* Questions with which graphs wait for people, in the shapes that people use, and the answers that each expects. */

const toFields = (value: unknown): Fields | undefined => (isObject(value) ? value : undefined);

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
 * A question: tool calls by LangChain's human-in-the-loop (`decisions`), one by Agent Inbox (`inbox`), a form as MCP
 * asks for it (`form`), or anything else, which takes text or JSON (`free`).
 */
export type AskedShape =
  | { kind: 'decisions'; actions: AskedAction[]; isCamel: boolean }
  | { kind: 'inbox'; action: AskedAction }
  | { kind: 'form'; message: string; schema: Fields }
  | { kind: 'free'; value: unknown };

export type ThreadQuestion = { id: string; asked: AskedShape };

/** Returns the question of an interrupt's value. */
export function readQuestion(value: unknown): AskedShape {
  return readDecisions(value) ?? readInbox(value) ?? readForm(value) ?? { kind: 'free', value };
}

/** Returns the questions of a state's interrupts. Without an id a question can't be answered by it, and has none. */
export const listThreadQuestions = (interrupts: unknown): ThreadQuestion[] =>
  toItems(interrupts)
    .map(toFields)
    .filter((one) => one !== undefined)
    .map((one) => ({
      id: toText(one['id']) || toText(one['interrupt_id']),
      asked: readQuestion(one['value']),
    }));

const readAllowed = (names: unknown): DecisionKind[] => {
  const given = toItems(names);
  return given.length === 0 ? [...DECISIONS] : DECISIONS.filter((one) => given.includes(one));
};

function readDecisions(value: unknown): AskedShape | undefined {
  const fields = toFields(value);
  const isCamel = fields !== undefined && Array.isArray(fields['actionRequests']);
  const requests = toItems(fields?.[isCamel ? 'actionRequests' : 'action_requests'])
    .map(toFields)
    .filter((one) => one !== undefined);
  if (requests.length === 0) return undefined;
  const reviews = toItems(fields?.[isCamel ? 'reviewConfigs' : 'review_configs']).map(toFields);
  const actions = requests.map((request, index) => {
    const name = toText(request['name']) || toText(request['action']);
    const named =
      reviews.find((one) => toText(one?.[isCamel ? 'actionName' : 'action_name']) === name) ??
      reviews[index];
    const allowed = readAllowed(named?.[isCamel ? 'allowedDecisions' : 'allowed_decisions']);
    return {
      name,
      args: request['args'] ?? request['arguments'] ?? {},
      description: toText(request['description']),
      allowed,
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
  const fields = toFields(Array.isArray(value) && value.length === 1 ? value[0] : value);
  const request = toFields(fields?.['action_request'] ?? fields?.['actionRequest']);
  const config = toFields(fields?.['config']);
  if (request === undefined || config === undefined) return undefined;
  const allowed = DECISIONS.filter((one) => INBOX[one].some((name) => config[name] === true));
  const description = toText(fields?.['description']);
  return {
    kind: 'inbox',
    action: { name: toText(request['action']), args: request['args'] ?? {}, description, allowed },
  };
}

function readForm(value: unknown): AskedShape | undefined {
  const fields = toFields(value);
  const schema = toFields(fields?.['requestedSchema'] ?? fields?.['requested_schema']);
  if (schema === undefined || typeof fields?.['message'] !== 'string') return undefined;
  return { kind: 'form', message: fields['message'], schema };
}

export type ActionDecision = { kind: DecisionKind; args?: unknown; message?: string };

/** Returns the answer to LangChain's human-in-the-loop: a decision for each action, in their order. */
export function buildDecisionsAnswer(
  { actions, isCamel }: { actions: readonly AskedAction[]; isCamel: boolean },
  decisions: readonly ActionDecision[],
) {
  return {
    decisions: decisions.map(({ kind, args, message = '' }, index) => {
      if (kind === 'approve') return { type: kind };
      if (kind === 'edit')
        return {
          type: kind,
          [isCamel ? 'editedAction' : 'edited_action']: { name: actions[index]?.name ?? '', args },
        };
      return { type: kind, ...((kind === 'respond' || message !== '') && { message }) };
    }),
  };
}

/** Returns the answer that Agent Inbox would give, which is a list of one. */
export function buildInboxAnswer(
  { name, args: given }: AskedAction,
  { kind, args, message = '' }: ActionDecision,
) {
  if (kind === 'approve') return [{ type: 'accept', args: null }];
  if (kind === 'edit') return [{ type: 'edit', args: { action: name, args: args ?? given } }];
  return kind === 'reject'
    ? [{ type: 'ignore', args: null }]
    : [{ type: 'response', args: message }];
}

/** Returns an answer in free words: the JSON of an object, a list, true or false as that, all else as the text. */
export function parseFreeAnswer(text: string): unknown {
  return /^\s*(?:[[{]|(?:true|false)\s*$)/.test(text) ? parseJsonOr(text, text) : text;
}

/**
 * Returns the answers as a run takes them: by the ids of the questions, so that each reaches its own. Questions without
 * an id are answered one at a time.
 */
export const resumeWith = (answers: readonly { id: string; answer: unknown }[]): unknown =>
  answers.every(({ id }) => id !== '')
    ? Object.fromEntries(answers.map(({ id, answer }) => [id, answer]))
    : answers[0]?.answer;
