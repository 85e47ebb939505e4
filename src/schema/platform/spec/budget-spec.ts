import { Type, type Static } from 'typebox';
import { Budget } from '../../agent/budget.ts';
import { addCelRules } from '../../types.ts';

/* The budgets of a deployment. Their rules are those of `listBudgetFaults`, which agents and the REST API ask. */

const isWhole = (field: string): string =>
  `!has(self.${field}) || self.${field} == double(int(self.${field}))`;
const isSmall = (field: string): string => `!has(self.${field}) || self.${field} <= 1000000.0`;
const COUNTED = "(self.unit == 'tokens' || self.unit == 'calls')";

const CheckedBudget = addCelRules(Budget, [
  { rule: 'has(self.hard) || has(self.soft)', message: 'hard: must be there, or soft' },
  {
    rule: "self.per != 'run' || !has(self.within)",
    message: 'within: is not for budgets of runs, which end with them',
  },
  {
    rule: "self.per != 'run' || !has(self.at) || self.at != 'wait'",
    message: 'at: may be wait in budgets alone that several runs share',
  },
  ...['hard', 'soft', 'most'].flatMap((field) => [
    {
      rule: `!${COUNTED} || (${isWhole(field)})`,
      message: `${field}: must be a whole number of tokens or calls`,
    },
    {
      rule: `${COUNTED} || (${isSmall(field)})`,
      message: `${field}: must be at most 1000000 in usd and seconds`,
    },
  ]),
  {
    rule: '!has(self.soft) || !has(self.hard) || self.soft <= self.hard',
    message: 'soft: must be at most hard',
  },
  {
    rule: '!has(self.most) || !has(self.hard) || self.most >= self.hard',
    message: 'most: must be at least hard',
  },
]);

export const BudgetsSpec = addCelRules(
  Type.Array(CheckedBudget, {
    maxItems: 20,
    description:
      'Bounds of the calls of models that runs make. A change makes no revision; pods begin again with it.',
  }),
  [
    {
      rule: 'self.all(one, self.exists_one(other, other.name == one.name))',
      message: 'budgets: each name must be that of one budget alone',
    },
  ],
);
export type BudgetsSpec = Static<typeof BudgetsSpec>;
