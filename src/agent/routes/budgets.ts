import { Type, type Static } from 'typebox';
import { Conflict, Forbidden, Invalid, NotFound, toError } from '../../errors.ts';
import { answerJson, bindRoutes } from '../../http/routes/route.ts';
import {
  BoundToRaise,
  BudgetsQuery,
  BudgetState,
  BudgetScope,
} from '../../schema/agent/budget-state.ts';
import { UNIT_PARTS, type Budget } from '../../schema/agent/budget.ts';
import { TENANT_KEY, type TenantBudget } from '../../schema/wire/reported-usage.ts';
import type { AgentCaller } from '../auth/caller.ts';
import { findRaiseFault } from '../budgets/rules.ts';
import { listAccounts, raiseBound, type AccountState } from '../db/budgets/accounts.ts';
import type { Db } from '../db/base/pool.ts';
import type { AgentDeps } from '../parts/deps.ts';
import { releaseNow } from '../runs/making/release.ts';
import { buildAgentRoutes, describeAnswer, refusedToUsers } from './route.ts';

const route = buildAgentRoutes<[AgentDeps]>('budgets');

/** Budgets are everybody's. Throws `Forbidden` for callers whom `auth.path` guards. */
function requireOwner({ guard }: AgentCaller): void {
  if (guard !== undefined)
    throw new Forbidden("The budgets of all callers are for the deployment's own keys.");
}

function toScope(
  { scope, since, ends_at, spent, held, raised, waiting, queued }: AccountState,
  { unit, hard }: Pick<Budget, 'unit' | 'hard'>,
  isExternal = false,
): BudgetScope {
  const parts = UNIT_PARTS[unit];
  const to = raised === null ? undefined : raised / parts;
  return {
    scope,
    since,
    resets_at: ends_at,
    spent: spent / parts,
    held: held / parts,
    bound: hard === undefined ? null : isExternal ? (to ?? hard) : Math.max(hard, to ?? 0),
    waiting,
    queued,
  };
}

/** Returns a budget of the platform: the part of it that this deployment may spend in its window. */
async function describeTenantBudget(
  db: Db,
  { name, unit, within, at, hard: parts }: TenantBudget,
  { scope, limit }: Static<typeof BudgetsQuery>,
): Promise<BudgetState> {
  const hard = parts / UNIT_PARTS[unit];
  const accounts = await listAccounts(db, `${TENANT_KEY}${name}`, { scope, limit });
  const scopes = accounts.map((account) => toScope(account, { unit, hard }, true));
  return { name, per: 'tenant', unit, within, at, hard, source: 'platform', scopes };
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
      const external = bounds.budgets.tenants.map((budget) =>
        describeTenantBudget(db, budget, query),
      );
      return answerJson(await Promise.all([...states, ...external]));
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
    handler: async ({ params, body, caller }, deps) => {
      const { db, bounds, log } = deps;
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
      // Where no worker is left, nobody else looks.
      void releaseNow(deps).catch((error: unknown) =>
        log.debug({ err: toError(error) }, 'threads that wait for a budget go on later'),
      );
      return answerJson(toScope({ ...account, raised: bound }, budget));
    },
  }),
]);

const RAISED = 'The budget was raised meanwhile.';
