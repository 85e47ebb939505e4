import { readFormContent, readFormFields, parseJson } from '../forms/schema-fields.ts';
import {
  buildDecisionsAnswer,
  parseFreeAnswer,
  buildInboxAnswer,
  type AskedShape,
  type AskedAction,
  type ActionDecision,
  type DecisionKind,
} from './questions.ts';

/** An answer that a person is still writing: decisions about actions, texts of a form's fields, or one text. */
export type AnswerDraft = {
  decisions: DecisionDraft[];
  texts: Record<string, string>;
  text: string;
};

/** A decision: its kind, the arguments as JSON, and words for the agent. */
export type DecisionDraft = { kind: DecisionKind; args: string; message: string };

const buildDraft = ({ allowed, args }: AskedAction): DecisionDraft => ({
  kind: allowed[0] ?? 'approve',
  args: JSON.stringify(args, undefined, 2) ?? '{}',
  message: '',
});

/** Returns the draft with which a question begins. */
export function buildFirstDraft(asked: AskedShape): AnswerDraft {
  const actions =
    asked.kind === 'decisions' ? asked.actions : asked.kind === 'inbox' ? [asked.action] : [];
  return { decisions: actions.map(buildDraft), texts: {}, text: '' };
}

/** An answer that can be sent, or sentences about the parts that can't. */
export type DraftedAnswer = { answer: unknown } | { faults: Record<string, string> };

/** Returns the answer that a draft amounts to. */
export function buildDraftedAnswer(asked: AskedShape, draft: AnswerDraft): DraftedAnswer {
  if (asked.kind === 'free')
    return draft.text.trim() === ''
      ? { faults: { text: 'Write an answer.' } }
      : { answer: parseFreeAnswer(draft.text) };
  if (asked.kind === 'form') return buildFormAnswer(asked.schema, draft);
  const decisions = buildDecisions(draft.decisions);
  if ('faults' in decisions) return decisions;
  if (asked.kind === 'decisions') return { answer: buildDecisionsAnswer(asked, decisions.made) };
  const [made] = decisions.made;
  return made === undefined
    ? { faults: { text: 'Decide.' } }
    : { answer: buildInboxAnswer(asked.action, made) };
}

function buildFormAnswer(
  schema: Record<string, unknown>,
  { texts, text }: AnswerDraft,
): DraftedAnswer {
  const fields = readFormFields(schema);
  if (fields === undefined) {
    const read = parseJson(text);
    return 'fault' in read ? { faults: { text: read.fault } } : { answer: read.value };
  }
  const content = readFormContent(fields, texts);
  return 'faults' in content ? content : { answer: content.value };
}

function buildDecisions(
  drafts: readonly DecisionDraft[],
): { made: ActionDecision[] } | { faults: Record<string, string> } {
  const faults: Record<string, string> = {};
  const made = drafts.map(({ kind, args, message }, index): ActionDecision => {
    if (kind === 'respond' && message.trim() === '') faults[index] = 'Write an answer.';
    if (kind !== 'edit') return { kind, message };
    const read = parseJson(args);
    if ('fault' in read) faults[index] = read.fault;
    return { kind, args: 'value' in read ? read.value : undefined };
  });
  return Object.keys(faults).length > 0 ? { faults } : { made };
}
