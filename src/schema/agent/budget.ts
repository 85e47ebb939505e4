import { Type, type Static } from 'typebox';
import { isTimeZone } from '../time-zone.ts';
import { buildClosedSchema, buildEnumSchema, buildOptionalFields } from '../types.ts';

/* Budgets: bounds of the calls of models that runs make. */

/** Each unit, with the parts that a database counts in it: billionths of a dollar, and milliseconds. */
export const UNIT_PARTS = { usd: 1_000_000_000, tokens: 1, calls: 1, seconds: 1000 } as const;
export type BudgetUnit = keyof typeof UNIT_PARTS;
const UNITS = Object.keys(UNIT_PARTS) as BudgetUnit[];

/** The owners of budgets: each run, thread, assistant or user, or the deployment as a whole. */
export const BUDGET_OWNERS = ['run', 'thread', 'assistant', 'user', 'deployment'] as const;
export const BUDGET_WINDOWS = ['hour', 'day', 'week', 'month'] as const;

/** The form of the name of a budget. */
export const BUDGET_NAME = '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$';

/** No bound is larger, so that sums of its parts are integers of a database and of JavaScript. */
const LARGEST_AMOUNT = 1_000_000;
const LARGEST_COUNT = 1_000_000_000_000;

const buildAmountSchema = (description: string) =>
  Type.Number({ minimum: 0, maximum: LARGEST_COUNT, description });

const Patterns = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  minItems: 1,
  maxItems: 100,
});

export const Budget = buildClosedSchema(
  {
    name: Type.String({
      pattern: BUDGET_NAME,
      maxLength: 63,
      description: 'The name of the budget, by which it is raised.',
    }),
    per: buildEnumSchema(BUDGET_OWNERS, {
      description:
        'The owner of a budget of its own. A run is all that follows an input, answers to its questions included.',
    }),
    unit: buildEnumSchema(UNITS, {
      description:
        'US dollars, tokens (of prompts without those of caches, and of answers), calls of models, or seconds in which runs are under way.',
    }),
    ...buildOptionalFields({
      hard: buildAmountSchema('No call of a model begins that would exceed it.'),
      soft: buildAmountSchema('Passing it is logged, once in each window.'),
      within: buildEnumSchema(BUDGET_WINDOWS, {
        description:
          'The window after which it begins again. Without one it is for good. Runs have none.',
      }),
      timezone: Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'The time zone of its windows, such as Europe/Berlin. Default: UTC.',
      }),
      at: buildEnumSchema(['ask', 'fail', 'wait'], {
        description:
          'ask, the default: the thread waits for an answer. fail: the run fails, and new ones are refused. wait: as ask, and new runs stay in the queue. It is not for budgets of runs.',
      }),
      most: buildAmountSchema('The highest bound that an answer may raise it to.'),
      raisers: buildEnumSchema(['write', 'admin'], {
        description:
          "Who may raise it: everybody who may make runs, or, by default, the deployment's own keys.",
      }),
      unpriced: buildEnumSchema(['ask', 'count'], {
        description:
          'Whether a model without a price is asked about, the default, or counts as one that costs nothing.',
      }),
      only: buildClosedSchema(
        buildOptionalFields({ graphs: Patterns, assistants: Patterns, users: Patterns }),
        { description: 'Patterns of the runs that it counts; `*` is any text.' },
      ),
    }),
  },
  { description: 'A bound of the calls of models.' },
);
export type Budget = Static<typeof Budget>;

export const BudgetList = Type.Array(Budget, { maxItems: 20 });

/** The budget that a request gives its run. */
export const RunBudget = buildClosedSchema(
  buildOptionalFields({
    usd: Type.Number({ minimum: 0, maximum: LARGEST_AMOUNT, description: 'US dollars.' }),
    tokens: Type.Integer({ minimum: 0, maximum: LARGEST_COUNT, description: 'Tokens.' }),
    calls: Type.Integer({ minimum: 0, maximum: LARGEST_COUNT, description: 'Calls of models.' }),
    seconds: Type.Number({
      minimum: 0,
      maximum: LARGEST_AMOUNT,
      description: 'Seconds under way.',
    }),
  }),
  {
    description:
      'Bounds of the calls of models of this run, beside those of its deployment. The run that reaches one waits for an answer, which raises it or ends the run.',
  },
);
export type RunBudget = Static<typeof RunBudget>;

/** Returns the fault of a budget, and its field; undefined where there is none. */
function findBudgetFault(budget: Budget): { field: string; msg: string } | undefined {
  const { per, unit, within, timezone, at, hard, soft, most } = budget;
  if (hard === undefined && soft === undefined)
    return { field: 'hard', msg: 'must be there, or `soft`' };
  if (per === 'run' && within !== undefined)
    return { field: 'within', msg: 'is not for budgets of runs, which end with them' };
  if (per === 'run' && at === 'wait')
    return { field: 'at', msg: 'may be wait in budgets alone that several runs share' };
  if (timezone !== undefined && !isTimeZone(timezone))
    return { field: 'timezone', msg: 'must be the name of a time zone, such as Europe/Berlin' };
  for (const field of ['hard', 'soft', 'most'] as const) {
    const msg = findAmountFault(budget[field], unit);
    if (msg !== undefined) return { field, msg };
  }
  if (soft !== undefined && soft > (hard ?? soft))
    return { field: 'soft', msg: 'must be at most `hard`' };
  if (most !== undefined && most < (hard ?? most))
    return { field: 'most', msg: 'must be at least `hard`' };
  return undefined;
}

/** Returns the fault of an amount of a unit. */
export function findAmountFault(amount: number | undefined, unit: BudgetUnit): string | undefined {
  if (amount === undefined) return undefined;
  const isCounted = unit === 'tokens' || unit === 'calls';
  if (isCounted && !Number.isInteger(amount)) return `must be a whole number of ${unit}`;
  const largest = isCounted ? LARGEST_COUNT : LARGEST_AMOUNT;
  return amount > largest ? `must be at most ${largest}` : undefined;
}

/** Returns the faults of budgets, each with its place. */
export function listBudgetFaults(
  budgets: readonly Budget[],
): { at: number; field: string; msg: string }[] {
  return budgets.flatMap((budget, at) => {
    const isNamedTwice = budgets.findIndex(({ name }) => name === budget.name) < at;
    if (isNamedTwice) return [{ at, field: 'name', msg: 'is that of another budget' }];
    const fault = findBudgetFault(budget);
    return fault === undefined ? [] : [{ at, ...fault }];
  });
}
