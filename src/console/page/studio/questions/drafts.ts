import { readFormContent, readFormFields, parseJson } from '../forms/schema-fields.ts';
import { isObject } from '../../../../schema/json.ts';
import {
  buildDecidedAnswer,
  buildTypedAnswer,
  listAskedActions,
  parseFreeAnswer,
  type ActionDecision,
  type AskedAction,
  type AskedShape,
  type DecisionKind,
} from '../../../../schema/agent/question-shapes.ts';

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
  return { decisions: listAskedActions(asked).map(buildDraft), texts: {}, text: '' };
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
  if (asked.kind === 'typed') {
    const drafted = buildFormAnswer(asked.form.schema, draft);
    return 'answer' in drafted && isObject(drafted.answer)
      ? { answer: buildTypedAnswer(asked.form, drafted.answer) }
      : drafted;
  }
  const decisions = buildDecisions(draft.decisions);
  return 'faults' in decisions ? decisions : { answer: buildDecidedAnswer(asked, decisions.made) };
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
