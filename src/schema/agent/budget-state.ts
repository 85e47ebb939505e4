import { Type, type Static } from 'typebox';
import { buildDateTimeSchema, buildEnumSchema, buildNullableSchema } from '../types.ts';
import { buildLimitSchema } from './agent-types.ts';
import { Budget, BUDGET_OWNERS } from './budget.ts';

/* The sums of budgets, as clients see them. */

const Amount = Type.Number({ minimum: 0 });

export const BudgetScope = Type.Object({
  scope: Type.String({
    description: 'The thread, the assistant or the user; empty for the deployment, and for nobody.',
  }),
  since: buildNullableSchema(buildDateTimeSchema('The beginning of the window.')),
  resets_at: buildNullableSchema(buildDateTimeSchema('The end of the window.')),
  spent: Amount,
  held: Type.Number({ minimum: 0, description: 'The most that calls under way may take.' }),
  bound: buildNullableSchema(Type.Number({ description: 'The hard bound, as it was raised.' })),
  waiting: Type.Integer({ minimum: 0, description: 'Threads that wait for it.' }),
  queued: Type.Integer({ minimum: 0, description: 'Runs that it keeps in the queue.' }),
});
export type BudgetScope = Static<typeof BudgetScope>;

/** A budget with the present windows of those that have spent most of it. */
export const BudgetState = Type.Object({
  ...Budget.properties,
  per: buildEnumSchema([...BUDGET_OWNERS, 'tenant'], {
    description: 'As above; `tenant`: the deployments of a tenant have one together.',
  }),
  source: Type.String({ description: '`spec` of the deployment, `gx.json`, or `platform`.' }),
  scopes: Type.Array(BudgetScope),
});
export type BudgetState = Static<typeof BudgetState>;

export const BudgetsQuery = Type.Object({
  scope: Type.Optional(Type.String({ maxLength: 4096, description: 'Only this one.' })),
  limit: buildLimitSchema(100),
});

export const BoundToRaise = Type.Object(
  {
    scope: Type.String({ maxLength: 4096, default: '' }),
    to: Type.Number({ minimum: 0, description: 'The new bound of the present window.' }),
    from: Type.Optional(
      Type.Number({
        minimum: 0,
        description: 'The bound that it takes the place of, if it must be this.',
      }),
    ),
  },
  { additionalProperties: false },
);
