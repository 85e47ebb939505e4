import { Forbidden, Invalid } from '../../../errors.ts';
import { UNIT_PARTS, type BudgetUnit } from '../../../schema/agent/budget.ts';
import type { RunCreate, RunKwargs } from '../../../schema/agent/run.ts';
import { isObject, type Json } from '../../../schema/json.ts';
import { TENANT_KEY } from '../../../schema/wire/reported-usage.ts';
import type { AgentCaller } from '../../auth/caller.ts';
import type { RunBudgets } from '../../budgets/budgets.ts';
import { findRaiseFault } from '../../budgets/rules.ts';
import type { BoundRaise } from '../../db/budgets/accounts.ts';
import { loadChain, type AskedBudget } from '../../db/budgets/chains.ts';
import type { Db } from '../../db/base/pool.ts';
import { loadThreadQuestions } from '../../db/threads/threads.ts';
import type { StrictAnswer } from '../../kernel/strict-resume.ts';
import type { PermittedRequest, PlannedContext, RequestDeps } from './request.ts';

/* The answers to questions of budgets, which runs bring, and which no graph ever gets. */

/** A run that comes to a thread whose budgets count: its request without the answer, and the answer's meaning. */
export type BudgetedRun = {
  body: RunCreate;
  kwargs: Pick<RunKwargs, 'budget_chain' | 'budget_answer'>;
  /** The budget that other runs share, and that the answer raises. */
  raise?: BoundRaise | undefined;
  answering?: StrictAnswer;
};

const QUESTION_ID = /^[0-9a-f]{32}$/i;

/** Refuses a run whose budget is spent, and takes the answer to a budget's question out of its request. */
export async function applyBudgets(
  deps: RequestDeps,
  { body, ownThreadId: threadId, call: { caller } }: PermittedRequest,
  { graph_id, assistant_id, has_budget_chain }: PlannedContext,
): Promise<BudgetedRun> {
  const user_id = caller.guard?.user.identity ?? null;
  await deps.bounds.budgets.refuseSpent({ graph_id, thread_id: threadId, assistant_id, user_id });
  if (has_budget_chain !== true) return { body, kwargs: {} };
  return takeBudgetAnswer(deps, body, { threadId, caller });
}

/**
 * Takes the answer to a budget's question out of a request. The run then goes on from its last step without input.
 * Throws `Invalid` for an answer that raises nothing, and `Forbidden` for one of a caller who may not raise.
 */
async function takeBudgetAnswer(
  deps: RequestDeps,
  body: RunCreate,
  { threadId, caller }: { threadId: string; caller: AgentCaller },
): Promise<BudgetedRun> {
  const command = body.command ?? {};
  const parts = [command['resume'], command['update'], command['goto']];
  const goesOn = (body.input ?? null) === null || parts.some((part) => (part ?? null) !== null);
  if (!goesOn) return { body, kwargs: { budget_chain: 'ends' } };
  const unchanged = { body, kwargs: { budget_chain: 'goes_on' } } as const;
  const resume = command['resume'] ?? null;
  const chain = resume === null ? undefined : await loadChain(deps.db, threadId);
  if (chain?.asked === undefined) return unchanged;
  const { asked, state } = chain;
  const answer = await findAnswer(deps.db, { resume, asked, threadId });
  if (answer === undefined) return unchanged;
  const isPriced = state.asks_unpriced !== true;
  const { decision, to } = readAnswer(answer, { isPriced });
  const answering = { ids: [asked.question_id] };
  if (decision === 'stop')
    return {
      body: { ...body, input: null, command: null },
      kwargs: { budget_chain: 'goes_on', budget_answer: { decision } },
      answering,
    };
  const raise = decideRaise(deps.bounds.budgets, { asked, to, caller, isPriced });
  return {
    body: { ...body, input: null, command: dropAnswer(command, asked.question_id) },
    kwargs: {
      budget_chain: 'goes_on',
      budget_answer: {
        decision,
        ...(state.asks_unpriced === true && { unpriced: true }),
        ...(raise?.of === 'run' && { key: asked.budget, to: raise.to }),
      },
    },
    ...(raise?.of === 'others' && { raise: raise.raise }),
    answering,
  };
}

/**
 * Returns the answer to the question of a budget: the one that names it, or one that names none where no other waits.
 * Undefined where the answers are for other questions.
 */
async function findAnswer(
  db: Db,
  { resume, asked, threadId }: { resume: unknown; asked: AskedBudget; threadId: string },
): Promise<unknown> {
  const { question_id: id } = asked;
  const names = isObject(resume) ? Object.keys(resume) : [];
  if (isObject(resume) && Object.hasOwn(resume, id)) return resume[id];
  if (names.length > 0 && names.every((name) => QUESTION_ID.test(name))) return undefined;
  const [thread] = await loadThreadQuestions(db, [threadId]);
  const waiting = Object.values(thread?.interrupts ?? {}).flatMap((some) =>
    some.flatMap((question) => question.id ?? []),
  );
  if (!waiting.includes(id)) return undefined;
  if (waiting.every((one) => one === id)) return resume;
  throw buildRefusalAt([], 'must name the questions that it answers, because several wait');
}

function readAnswer(
  answer: unknown,
  { isPriced }: { isPriced: boolean },
): { decision: 'raise' | 'stop'; to: number | undefined } {
  const { decision, to } = isObject(answer) ? answer : { decision: undefined, to: undefined };
  if (decision !== 'raise' && decision !== 'stop')
    throw buildRefusalAt(['decision'], 'must be "raise" or "stop": a budget asks');
  if (decision === 'stop' || (!isPriced && to === undefined)) return { decision, to: undefined };
  if (typeof to !== 'number' || !Number.isFinite(to))
    throw buildRefusalAt(['to'], 'must be the new bound, a number');
  return { decision, to };
}

type RaiseAsked = {
  asked: AskedBudget;
  to: number | undefined;
  caller: AgentCaller;
  /** False where the question is about a model without a price. */
  isPriced: boolean;
};
type Raise = { of: 'run'; to: number } | { of: 'others'; raise: BoundRaise };

/** Returns the budget's new bound. Undefined where it bounds nothing any more, or no bound was asked for. */
function decideRaise(
  budgets: RunBudgets,
  { asked, to, caller, isPriced }: RaiseAsked,
): Raise | undefined {
  const { budget: key, scope, since, hard } = asked;
  const found = budgets.findByKey(key);
  const isOwn = key.startsWith('run/');
  const isTenants = key.startsWith(TENANT_KEY);
  if (isTenants && (isPriced || to !== undefined))
    throw new Forbidden('This budget is raised by those who run the platform.');
  if (!isOwn && found?.budget.raisers !== 'write' && caller.guard !== undefined)
    throw new Forbidden("This budget is raised by the deployment's own keys.");
  if (to === undefined || (found === undefined && !isOwn)) return undefined;
  const unit = found?.budget.unit ?? (key.slice('run/'.length) as BudgetUnit);
  const fault = findRaiseFault(to, { unit, hard, most: found?.budget.most });
  if (fault !== undefined) throw buildRefusalAt(['to'], fault);
  const bound = Math.round(to * UNIT_PARTS[unit]);
  if (isOwn || found?.budget.per === 'run') return { of: 'run', to: bound };
  const configured = Math.round((found?.budget.hard ?? 0) * UNIT_PARTS[unit]);
  return {
    of: 'others',
    raise: { key: { budget: key, scope, since }, from: hard, to: bound, hard: configured },
  };
}

/** Returns the command without the answer; null where nothing is left of it. */
function dropAnswer(
  { resume, ...rest }: NonNullable<RunCreate['command']>,
  id: string,
): Json | null {
  const { [id]: _answer, ...others } = isObject(resume) ? resume : {};
  const isNamed = isObject(resume) && Object.hasOwn(resume, id);
  const left = isNamed && Object.keys(others).length > 0 ? { resume: others } : {};
  const command = { ...rest, ...left };
  return Object.values(command).some((part) => (part ?? null) !== null) ? command : null;
}

const buildRefusalAt = (field: string[], msg: string): Invalid =>
  new Invalid([{ loc: ['body', 'command', 'resume', ...field], msg, type: 'value_error' }]);
