import { Type } from 'typebox';
import { Conflict, Forbidden, Invalid, NotFound } from '../../errors.ts';
import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import {
  BoundToRaise,
  BudgetsQuery,
  BudgetState,
  BudgetScope,
} from '../../schema/agent/budget-state.ts';
import { UNIT_PARTS, type Budget } from '../../schema/agent/budget.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { findRaiseFault } from '../budgets/rules.ts';
import { listAccounts, raiseBound, type AccountState } from '../db/budgets/accounts.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { buildAgentRoutes, describeAnswer, refusedToUsers } from './route.ts';

const route = buildAgentRoutes<[AgentDeps]>('budgets');

/** Budgets are everybody's. Throws `Forbidden` for callers whom `auth.path` guards. */
function requireOwner({ guard }: AgentCaller): void {
  if (guard !== undefined)
    throw new Forbidden("The budgets of all callers are for the deployment's own keys.");
}

function toScope(
  { scope, since, ends_at, spent, held, raised, waiting }: AccountState,
  { unit, hard }: Budget,
): BudgetScope {
  const parts = UNIT_PARTS[unit];
  return {
    scope,
    since,
    resets_at: ends_at,
    spent: spent / parts,
    held: held / parts,
    bound: hard === undefined ? null : Math.max(hard, (raised ?? 0) / parts),
    waiting,
  };
}

export const budgetRoutes = bindRoutes([
  route.get('/budgets', {
    id: 'list_budgets',
    summary: 'List the budgets of the deployment, with the sums of their present windows',
    access: 'read',
    query: BudgetsQuery,
    answers: { 200: describeAnswer('Budgets.', Type.Array(BudgetState)), ...refusedToUsers },
    handler: async ({ query, caller }, { db, bounds }) => {
      requireOwner(caller);
      const states = bounds.budgets.all.map(async ({ source, budget }) => {
        const accounts = await listAccounts(db, `${source}/${budget.name}`, {
          scope: query.scope,
          limit: query.limit,
        });
        return { ...budget, source, scopes: accounts.map((account) => toScope(account, budget)) };
      });
      return answerJson(await Promise.all(states));
    },
  }),
  route.post('/budgets/{name}/raise', {
    id: 'raise_budget',
    summary: 'Raise the bound of a budget for its present window; threads that wait for it go on',
    access: 'write',
    params: Type.Object({ name: Type.String({ maxLength: 63 }) }),
    body: BoundToRaise,
    answers: {
      200: describeAnswer('The sums of the window.', BudgetScope),
      ...refusedToUsers,
      409: { description: 'Somebody else has raised it since.' },
    },
    handler: async ({ params, body, caller }, { db, bounds, log }) => {
      requireOwner(caller);
      const found = bounds.budgets.all.find(({ budget }) => budget.name === params.name);
      if (found === undefined) throw new NotFound(`There is no budget "${params.name}".`);
      const { source, budget } = found;
      const key = `${source}/${budget.name}`;
      const { scope, to, from } = body;
      const [account] = await listAccounts(db, key, { scope, limit: 1 });
      if (account === undefined || budget.hard === undefined)
        throw new NotFound('Nothing is spent of this budget in its present window.');
      const parts = UNIT_PARTS[budget.unit];
      const hard = Math.round(budget.hard * parts);
      const before = Math.max(hard, account.raised ?? 0);
      if (from !== undefined && Math.round(from * parts) !== before) throw new Conflict(RAISED);
      const fault = findRaiseFault(to, { unit: budget.unit, hard: before, most: budget.most });
      if (fault !== undefined)
        throw new Invalid([{ loc: ['body', 'to'], msg: fault, type: 'value_error' }]);
      const bound = Math.round(to * parts);
      const { since } = account;
      const raise = { key: { budget: key, scope, since }, from: before, to: bound, hard };
      if (!(await raiseBound(db, raise))) throw new Conflict(RAISED);
      log.info(
        { budget: key, scope, by: caller.identity, from: before / parts, to },
        'budget raised',
      );
      return answerJson(toScope({ ...account, raised: bound }, budget));
    },
  }),
]);

const RAISED = 'The budget was raised meanwhile.';
