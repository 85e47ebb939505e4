import { Type, type Static } from 'typebox';
import { GatewayKeys } from './gateway-key.ts';
import { TenantBudgets } from './reported-usage.ts';
import { RolloutPlan } from './rollout-plan.ts';

/** The answer of a gateway to a report. Earlier versions say less, and agents pass over further fields. */
export const ReportAnswer = Type.Object({
  gateway_keys: GatewayKeys,
  rollout: Type.Optional(RolloutPlan),
  budgets: Type.Optional(TenantBudgets),
});
export type ReportAnswer = Static<typeof ReportAnswer>;
