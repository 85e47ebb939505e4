import { expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';

/* The budgets that deployments of a tenant share, as the chart gives them to the operator. */

const readBudgets = (budgets: unknown) =>
  readOperatorConfig({ GX_TENANT_BUDGETS: JSON.stringify(budgets) }).settings.tenantBudgets;

const month = { name: 'month', unit: 'usd', within: 'month', hard: 500.5 };

test('amounts are read as whole parts of their unit, and runs ask', () => {
  expect(readOperatorConfig({}).settings.tenantBudgets).toEqual([]);
  expect(readBudgets([month, { name: 'zero', unit: 'calls', within: 'day', hard: 0 }])).toEqual([
    { ...month, hard: 500_500_000_000, at: 'ask', tenants: undefined },
    { name: 'zero', unit: 'calls', within: 'day', hard: 0, at: 'ask', tenants: undefined },
  ]);
  expect(readBudgets([{ ...month, at: 'wait', tenants: ['ABC'] }])).toMatchObject([
    { at: 'wait', tenants: ['abc'] },
  ]);
});

test.each([
  [{}, 'must be a list'],
  [[1], '[0] must be an object'],
  [[{ ...month, name: 'No Name' }], '[0] name must be a name of small letters'],
  [[{ ...month, unit: 'seconds' }], '[0] unit must be usd, tokens or calls'],
  [[{ ...month, within: 'hour' }], '[0] within must be day, week or month'],
  [[{ ...month, hard: -1 }], '[0] hard must be a number that is not negative'],
  [[{ ...month, hard: 1e30 }], '[0] hard must be at most 1000000'],
  [[{ ...month, unit: 'calls', hard: 0.5 }], '[0] hard must be a whole number of calls'],
  [[{ ...month, hart: 1 }], '[0] hart is not a field of it; did you mean "hard"?'],
  [[{ ...month, tenants: [''] }], '[0] tenants must be a list of ids'],
  [[month, month], '[1] name is that of another budget'],
  [Array.from({ length: 9 }, (_, at) => ({ ...month, name: `n${at}` })), 'may have 8 at most'],
])('%j is refused', (budgets, words) => {
  expect(() => readBudgets(budgets)).toThrow(`GX_TENANT_BUDGETS ${words}`);
});
