import { Type, type Static } from 'typebox';
import { buildMapSchema } from '../types.ts';
import { MOST_TENANT_BUDGETS, TenantBudget } from './reported-usage.ts';

/*
 * The word of the operator to the gateways on the budgets that deployments of a tenant share, which agents get in the
 * answers to their reports. A gateway gets everything once, and then the tenants that change.
 */

/** Deployments of one tenant in a word. */
const MOST_DEPLOYMENTS = 20_000;

const { own: Own, ...sharedFields } = TenantBudget.properties;

/** A budget as it stands, without the part of one deployment. */
export const SharedBudget = Type.Object(sharedFields);
export type SharedBudget = Static<typeof SharedBudget>;

export const TenantWord = Type.Object({
  tenant: Type.String({ minLength: 1, maxLength: 253 }),
  budgets: Type.Array(SharedBudget, { maxItems: MOST_TENANT_BUDGETS }),
  own: buildMapSchema(Type.Array(Own, { maxItems: MOST_TENANT_BUDGETS }), {
    maxProperties: MOST_DEPLOYMENTS,
    description:
      'By `namespace/name` of each deployment of the tenant: its part of each budget, in their order.',
  }),
});
export type TenantWord = Static<typeof TenantWord>;

const Version = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const BudgetWords = Type.Object({
  from: Type.String({ minLength: 1, maxLength: 64, description: 'The process that says it.' }),
  after: Type.Optional(
    Type.Integer({
      ...Version,
      description: 'The version that this changes. Absent: it takes the place of all before.',
    }),
  ),
  version: Version,
  more: Type.Boolean({ description: 'Further tenants of the same follow.' }),
  tenants: Type.Array(TenantWord, { maxItems: 20_000 }),
});
export type BudgetWords = Static<typeof BudgetWords>;

/** The answer of a gateway: false where it does not know the version that is changed, as after a restart. */
export const BudgetWordsAnswer = Type.Object({ taken: Type.Boolean() });

/** The path at which the operator tells the budgets of tenants. */
export const BUDGETS_PATH = '/budgets';
