import type { AgUiResume } from '../../schema/agent/ag-ui.ts';
import { isObject, type Json } from '../../schema/json.ts';
import { listInterruptQuestions, type AskedQuestion } from '../runs/making/asked.ts';
import {
  buildDecidedAnswer,
  listAskedActions,
  readQuestion,
} from '../../schema/agent/question-shapes.ts';
import { findOpenCalls } from './messages.ts';

/* Questions that a thread waits at, as interrupts of AG-UI, and the answers to them as a command of LangGraph. */

/** Stands in the id of an interrupt for a graph that stopped before or behind a node, without a question. */
const BREAKPOINT = 'breakpoint:';

const findText = (...values: unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && value !== '');

/** The answer to a question of that middleware: one decision for each action. */
const buildDecisionsSchema = (count: number): Json => ({
  type: 'object',
  required: ['decisions'],
  properties: {
    decisions: {
      type: 'array',
      minItems: count,
      maxItems: count,
      items: {
        type: 'object',
        required: ['type'],
        properties: {
          type: { enum: ['approve', 'edit', 'reject', 'respond'] },
          message: { type: 'string' },
          edited_action: { type: 'object' },
        },
      },
    },
  },
});

function buildInterrupt(question: AskedQuestion, messages: Json[]): Json {
  const { id, value } = question;
  const fields = isObject(value) ? value : {};
  const asked = readQuestion(question);
  const actions = listAskedActions(asked);
  const [only] = actions;
  const calls = findOpenCalls(messages).filter(({ name }) => name === only?.name);
  const descriptions = actions.map(({ description }) => description).filter((text) => text !== '');
  const message = findText(
    fields['message'],
    fields['question'],
    typeof value === 'string' ? value : undefined,
    descriptions.join('\n\n'),
  );
  const toolCallId = findText(
    fields['toolCallId'],
    fields['tool_call_id'],
    actions.length === 1 && calls.length === 1 ? calls[0]!.id : undefined,
  );
  const given = question.response_schema ?? fields['responseSchema'] ?? fields['response_schema'];
  const responseSchema = isObject(given)
    ? given
    : asked.kind === 'decisions'
      ? buildDecisionsSchema(actions.length)
      : undefined;
  const expiresAt = findText(fields['expiresAt'], fields['expires_at']);
  return {
    id,
    reason: findText(fields['reason']) ?? 'langgraph:interrupt',
    ...(message !== undefined && { message }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(responseSchema !== undefined && { responseSchema }),
    ...(expiresAt !== undefined && { expiresAt }),
    metadata: { langgraph: { raw: value } },
  };
}

/**
 * Returns the questions of a thread that was interrupted. `next`: the nodes that come next; a thread without a question
 * waits before the first of them.
 */
export function buildInterrupts(
  interrupts: Json,
  { messages, next }: { messages: Json[]; next: string[] },
): Json[] {
  const questions = listInterruptQuestions(interrupts);
  if (questions.length > 0) return questions.map((question) => buildInterrupt(question, messages));
  const node = next[0] ?? 'next';
  return [
    {
      id: BREAKPOINT + node,
      reason: 'langgraph:breakpoint',
      message: `The graph stopped before ${node}.`,
    },
  ];
}

/** Returns whether one of the entries lets a graph go on that waits before the first of the next nodes. */
export const isBreakpointAnswered = (entries: readonly AgUiResume[], next: string[]): boolean =>
  entries.some(({ interruptId }) => interruptId === BREAKPOINT + (next[0] ?? 'next'));

/**
 * Returns the command that answers the questions of a thread; undefined where no entry is for one of them. Entries for
 * other questions are passed over, as the protocol asks.
 */
export function buildAnswers(
  entries: readonly AgUiResume[],
  interrupts: Json,
): { resume: Json } | undefined {
  const questions = new Map(listInterruptQuestions(interrupts).map((one) => [one.id, one]));
  const answers = entries
    .filter(({ interruptId }) => questions.has(interruptId))
    .map(({ interruptId, status, payload }): [string, unknown] => [
      interruptId,
      status === 'resolved'
        ? (payload ?? null)
        : buildRefusal(interruptId, questions.get(interruptId)),
    ]);
  return answers.length === 0 ? undefined : { resume: Object.fromEntries(answers) };
}

/** Returns the answer of somebody who does not want to answer: a refusal of each action, or that of the bridge. */
function buildRefusal(interruptId: string, question: AskedQuestion | undefined): unknown {
  const asked = readQuestion(question ?? { value: null });
  const actions = listAskedActions(asked);
  if (actions.length > 0) {
    const message = 'The user cancelled this action.';
    return buildDecidedAnswer(
      asked,
      actions.map(() => ({ kind: 'reject', message })),
    );
  }
  return { __agui_cancelled__: true, interrupt_id: interruptId };
}
