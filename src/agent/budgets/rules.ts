import { createHash } from 'node:crypto';
import {
  findAmountFault,
  UNIT_PARTS,
  type Budget,
  type BudgetUnit,
  type RunBudget,
} from '../../schema/agent/budget.ts';
import type { AskedCall, CallRefusal } from '../../schema/wire/wall/admission.ts';
import type { Json } from '../../schema/json.ts';
import { TENANT_KEY, type TenantBudget } from '../../schema/wire/reported-usage.ts';
import type { TokenCounts } from '../../schema/wire/wall/model-call.ts';

/* The decisions of budgets: which of them bound a run, the most that a call may take, and the words of questions. */

/** Whole parts of each unit: billionths of a dollar, tokens, calls, milliseconds. */
export type Amounts = Record<BudgetUnit, number>;

export const NO_AMOUNTS: Amounts = { usd: 0, tokens: 0, calls: 0, seconds: 0 };

/** Who wrote a budget: the owner of the deployment, the author of its graphs, or who made the run. */
export type BudgetSource = 'spec' | 'gx.json' | 'run';

/** A budget as it bounds one run. Amounts are parts of its unit. */
export type Bound = {
  /** Its source and its name. */
  key: string;
  name: string;
  per: Budget['per'] | 'tenant';
  /** Whose budget it is: the id of the thread or the assistant, or the name of the user. */
  scope: string;
  unit: BudgetUnit;
  hard: number | undefined;
  soft: number | undefined;
  most: number | undefined;
  fails: boolean;
  /** Whether new runs stay in the queue once it is spent. */
  waits: boolean;
  countsUnpriced: boolean;
  within: NonNullable<Budget['within']> | undefined;
  timezone: string;
};

/** The graph, the thread, the assistant and the user of a run. */
export type BoundRun = {
  graph_id: string;
  thread_id: string;
  assistant_id: string | null;
  user_id: string | null;
};

/** The budgets of the owner and of the author, and those that deployments share. */
export type GivenBudgets = {
  owner: readonly Budget[];
  author: readonly Budget[];
  tenants: readonly TenantBudget[];
};

/** Returns the bounds of a run. */
export function listBounds(
  { owner, author, tenants }: GivenBudgets,
  caller: RunBudget | undefined,
  run: BoundRun,
): Bound[] {
  const named = [
    ...owner.map((budget) => ({ source: 'spec' as const, budget })),
    ...author.map((budget) => ({ source: 'gx.json' as const, budget })),
  ];
  const asked = Object.entries(caller ?? {}).map(([unit, hard]) => ({
    source: 'run' as const,
    budget: { name: unit, per: 'run', unit: unit as BudgetUnit, hard } satisfies Budget,
  }));
  const own = [...named, ...asked]
    .filter(({ budget }) => isCounted(budget, run))
    .map(({ source, budget }) => toBound(source, budget, run));
  return [...own, ...tenants.map(toTenantBound)];
}

const toTenantBound = ({ name, unit, within, at, hard }: TenantBudget): Bound => ({
  key: `${TENANT_KEY}${name}`,
  name,
  per: 'tenant',
  scope: '',
  unit,
  hard,
  soft: undefined,
  most: undefined,
  fails: at === 'fail',
  waits: at === 'wait',
  countsUnpriced: false,
  within,
  timezone: 'UTC',
});

/** Returns the budget as a bound of a run. */
export function toBound(source: BudgetSource, budget: Budget, run: BoundRun): Bound {
  const { name, per, unit, at = 'ask', unpriced = 'ask', within, timezone = 'UTC' } = budget;
  const toParts = (amount: number | undefined): number | undefined =>
    amount === undefined ? undefined : Math.round(amount * UNIT_PARTS[unit]);
  return {
    key: `${source}/${name}`,
    name,
    per,
    scope: chooseScope(per, run),
    unit,
    hard: toParts(budget.hard),
    soft: toParts(budget.soft),
    most: toParts(budget.most),
    fails: at === 'fail',
    waits: at === 'wait',
    countsUnpriced: unpriced === 'count',
    within,
    timezone,
  };
}

function chooseScope(per: Budget['per'], run: BoundRun): string {
  switch (per) {
    case 'run':
    case 'thread':
      return run.thread_id;
    case 'assistant':
      return run.assistant_id ?? '';
    // Runs of nobody share one, so that runs which nobody looks after are bounded, too.
    case 'user':
      return run.user_id ?? '';
    default:
      return '';
  }
}

function isCounted({ only = {} }: Budget, run: BoundRun): boolean {
  const { graphs, assistants, users } = only;
  return (
    isMatched(graphs, run.graph_id) &&
    isMatched(assistants, run.assistant_id ?? '') &&
    isMatched(users, run.user_id ?? '')
  );
}

const isMatched = (patterns: string[] | undefined, text: string): boolean =>
  patterns === undefined || patterns.some((pattern) => isPatternOf(pattern, text));

/** Returns whether a pattern, whose `*` is any text, stands for a text. It takes time in proportion to both. */
function isPatternOf(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}

/** The most that a call may take, as far as that is known before it begins. */
export type CallEstimate = {
  amounts: Amounts;
  /** Whether it takes no more: its answer is limited, and it has a price. */
  isCertain: boolean;
  /** The model, where nobody knows its price. */
  unpriced: string | undefined;
};

/** Characters of a token in the languages that have the shortest ones of those that most prompts are in. */
const TOKEN_CHARACTERS = 3;
/** Tokens of an answer that nobody has limited. */
const USUAL_OUTPUT = 4096;

type PriceOf = (call: {
  provider: string | undefined;
  model: string | undefined;
  tokens: TokenCounts;
}) => number | undefined;

/** Returns the most that a call may take. `priceOf` returns billionths of a dollar. */
export function estimateCall(
  { characters, most_output, provider, model }: AskedCall,
  priceOf: PriceOf,
): CallEstimate {
  const input = Math.ceil(characters / TOKEN_CHARACTERS);
  const output = most_output ?? USUAL_OUTPUT;
  const nano = priceOf({ provider, model, tokens: { input, output } });
  return {
    amounts: { usd: nano ?? 0, tokens: input + output, calls: 1, seconds: 0 },
    isCertain: most_output !== undefined,
    unpriced: nano === undefined ? (model ?? 'unknown') : undefined,
  };
}

/** A call that has ended, as it is counted. */
export type EndedCall = {
  status: 'ok' | 'error' | 'cut';
  cached?: boolean | undefined;
  tokens?: TokenCounts | undefined;
  milliseconds: number;
  cost: { nano: number } | undefined;
};

/**
 * Returns the amounts of a call. Those of one that reports no tokens are the estimate, because unknown is not zero; one
 * that has failed has none.
 */
export function measureCall(
  { status, cached, tokens, cost }: EndedCall,
  estimate: CallEstimate | undefined,
): Amounts {
  if (cached === true) return NO_AMOUNTS;
  if (tokens === undefined && status === 'error') return { ...NO_AMOUNTS, calls: 1 };
  const expected = estimate?.amounts ?? NO_AMOUNTS;
  const used = tokens && Math.max(0, tokens.input - (tokens.cache_read ?? 0)) + tokens.output;
  return {
    usd: cost?.nano ?? (tokens === undefined ? expected.usd : 0),
    tokens: used ?? expected.tokens,
    calls: 1,
    seconds: 0,
  };
}

export const addAmounts = (one: Amounts, other: Amounts, sign = 1): Amounts => ({
  usd: one.usd + sign * other.usd,
  tokens: one.tokens + sign * other.tokens,
  calls: one.calls + sign * other.calls,
  seconds: one.seconds + sign * other.seconds,
});

/** The spent amount of a budget, and the most that calls under way may take. */
export type Spending = { spent: number; held: number; hard: number };

/**
 * Returns whether a call may begin. One whose cost nobody knows before may exceed the bound where it is the only one:
 * else a bound that is smaller than such a call could never be used.
 */
export const isWithinBound = (
  { spent, held, hard }: Spending,
  { amount, isCertain }: { amount: number; isCertain: boolean },
): boolean =>
  (isCertain && amount === 0) ||
  spent + held + amount <= hard ||
  (!isCertain && held === 0 && spent < hard);

/** The question of a budget that is spent, or of a model without a price. */
export type BudgetQuestion = {
  key: string;
  scope: string;
  /** The beginning of its window; null for one without windows. */
  since: string | null;
  /** The end of its window. */
  resetsAt: string | null;
  spent: number;
  hard: number;
  unpriced?: string | undefined;
};

/** Returns the id of the question, by LangGraph's form of ids. */
export const buildQuestionId = (
  { key, scope, since, hard, unpriced }: BudgetQuestion,
  threadId: string,
): string =>
  createHash('sha256')
    .update(JSON.stringify([key, scope, since, hard, unpriced ?? null, threadId]))
    .digest('hex')
    .slice(0, 32);

/** Returns the words for the spent part of a bound, such as `$0.09 of $0.10` or `9 of 10 calls`. */
function describeSpent(spent: number, hard: number, unit: BudgetUnit): string {
  const [one, other] = [spent, hard].map((parts) => parts / UNIT_PARTS[unit]) as [number, number];
  if (unit === 'usd') return `${formatPrice(one)} of ${formatPrice(other)}`;
  return unit === 'seconds'
    ? `${one.toFixed(1)} of ${other} seconds`
    : `${one} of ${other} ${unit}`;
}

const formatPrice = (amount: number): string =>
  `$${amount.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6, useGrouping: false })}`;

const OWNER_WORDS = {
  run: 'this run',
  thread: 'this thread',
  assistant: 'this assistant',
  user: 'this user',
  deployment: 'this deployment',
  tenant: 'the deployments of this tenant',
} as const;

/** Returns the sentence that says why a call may not begin. */
export function describeBudgetRefusal(
  { name, per, unit, within }: Bound,
  { spent, hard, unpriced, resetsAt }: BudgetQuestion,
): string {
  if (unpriced !== undefined)
    return `The budget "${name}" is in US dollars, and the model "${unpriced}" has no price.`;
  const until = resetsAt === null ? '' : ` A new ${within ?? 'window'} begins at ${resetsAt}.`;
  return `The budget "${name}" of ${OWNER_WORDS[per]} is spent: ${describeSpent(spent, hard, unit)}.${until}`;
}

/** The answer to the question of a budget that nobody can raise here. */
const STOPS = {
  decision: {
    type: 'string',
    enum: ['stop'],
    description:
      'End the run here. Without an answer it continues when the platform allows more, or in the next window.',
  },
};

const buildAnswerProperties = ({ unit, most }: Bound, { spent }: BudgetQuestion): Json => ({
  decision: {
    type: 'string',
    enum: ['raise', 'stop'],
    description: 'Raise the budget and go on, or end the run here.',
  },
  to: {
    type: 'number',
    description: `The new bound in ${unit}, where it is raised.`,
    minimum: spent / UNIT_PARTS[unit],
    ...(most !== undefined && { maximum: most / UNIT_PARTS[unit] }),
  },
});

/** Returns the refusal of a call: a question, or the error of a run that can't wait. */
export function buildRefusal(
  bound: Bound,
  question: BudgetQuestion,
  { threadId, canWait }: { threadId: string; canWait: boolean },
): CallRefusal {
  const message = describeBudgetRefusal(bound, question);
  if (bound.fails || !canWait) return { error: { error: 'BudgetExceeded', message } };
  const { name, per, unit } = bound;
  const toAmount = (parts: number): number => parts / UNIT_PARTS[unit];
  const value = {
    message,
    requestedSchema: {
      type: 'object',
      properties:
        per === 'tenant' && question.unpriced === undefined
          ? STOPS
          : buildAnswerProperties(bound, question),
      required: ['decision'],
    },
    gx: {
      budget: name,
      per,
      unit,
      spent: toAmount(question.spent),
      hard: toAmount(question.hard),
      since: question.since,
      resets_at: question.resetsAt,
      ...(question.unpriced !== undefined && { unpriced: question.unpriced }),
    },
  };
  return { question: { id: buildQuestionId(question, threadId), value } };
}

/** Returns the fault of a new bound. `hard` is the bound so far, in parts of the unit. */
export function findRaiseFault(
  to: number,
  { unit, hard, most }: { unit: BudgetUnit; hard: number; most: number | undefined },
): string | undefined {
  const fault = findAmountFault(to, unit);
  if (fault !== undefined) return fault;
  if (Math.round(to * UNIT_PARTS[unit]) <= hard)
    return `must be more than ${hard / UNIT_PARTS[unit]}, the bound so far`;
  return most !== undefined && to > most ? `must be at most ${most}` : undefined;
}
