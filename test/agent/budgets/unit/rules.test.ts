import { expect, test } from 'vitest';
import {
  buildQuestionId,
  estimateCall,
  findRaiseFault,
  isWithinBound,
  listBounds,
  measureCall,
  NO_AMOUNTS,
} from '../../../../src/agent/budgets/rules.ts';
import { listBudgetFaults, type Budget } from '../../../../src/schema/agent/budget.ts';

/* The decisions of budgets: whom they bound, the most that a call may take, and which bounds are faulty. */

const RUN = { graph_id: 'agent', thread_id: 't', assistant_id: 'a', user_id: 'ann@example.com' };
const DAY: Budget = { name: 'day', per: 'user', unit: 'usd', within: 'day', hard: 0.1 };

const listNames = (only: Budget['only'], run: typeof RUN | object = {}): string[] =>
  listBounds({ owner: [{ ...DAY, ...(only && { only }) }], author: [], tenants: [] }, undefined, {
    ...RUN,
    ...run,
  }).map(({ key }) => key);

test.each([
  [{ users: ['*@example.com'] }, true],
  [{ users: ['ann*'] }, true],
  [{ users: ['a*@*.com'] }, true],
  [{ users: ['bob', 'ann@example.com'] }, true],
  [{ users: ['*@example.org'] }, false],
  [{ users: ['ann@example.com*ann@example.com'] }, false],
  [{ users: ['*'], graphs: ['other'] }, false],
  [{ graphs: ['ag*'], assistants: ['a'] }, true],
])('a budget only of %j counts the run: %s', (only, isCounted) => {
  expect(listNames(only)).toEqual(isCounted ? ['spec/day'] : []);
});

test('a pattern that fits in many ways takes no long time', () => {
  const began = performance.now();
  expect(listNames({ users: [`${'a*'.repeat(120)}b`] }, { user_id: 'a'.repeat(4000) })).toEqual([]);
  expect(performance.now() - began).toBeLessThan(100);
});

test('each source has names of its own, and callers without a name share the budget of one user', () => {
  const bounds = listBounds(
    { owner: [DAY], author: [{ ...DAY, hard: 5 }], tenants: [] },
    { calls: 3 },
    {
      ...RUN,
      user_id: null,
    },
  );
  expect(bounds.map(({ key, scope, hard }) => [key, scope, hard])).toEqual([
    ['spec/day', '', 100_000_000],
    ['gx.json/day', '', 5_000_000_000],
    ['run/calls', 't', 3],
  ]);
});

test('the most that a call takes follows from its prompt, its limit and its price', () => {
  const priceOf = ({ tokens }: { tokens: { input: number; output: number } }): number =>
    tokens.input * 2 + tokens.output * 10;
  expect(estimateCall({ id: '1', characters: 10, most_output: 100 }, priceOf)).toEqual({
    amounts: { usd: 1008, tokens: 104, calls: 1, seconds: 0 },
    isCertain: true,
    unpriced: undefined,
  });
  expect(estimateCall({ id: '1', characters: 0, model: 'm' }, () => undefined)).toMatchObject({
    amounts: { usd: 0, tokens: 4096 },
    isCertain: false,
    unpriced: 'm',
  });
});

test('a call that reports no tokens has taken the estimate, and a failed one nothing but a call', () => {
  const estimate = {
    amounts: { usd: 7, tokens: 9, calls: 1, seconds: 0 },
    isCertain: true,
    unpriced: undefined,
  };
  const ended = { milliseconds: 1, cost: undefined };
  expect(measureCall({ ...ended, status: 'cut' }, estimate)).toEqual(estimate.amounts);
  expect(measureCall({ ...ended, status: 'error' }, estimate)).toEqual({ ...NO_AMOUNTS, calls: 1 });
  expect(measureCall({ ...ended, status: 'ok', cached: true }, estimate)).toEqual(NO_AMOUNTS);
  const tokens = { input: 100, output: 5, cache_read: 90 };
  expect(
    measureCall({ ...ended, status: 'ok', tokens, cost: { nano: 3 } }, estimate),
  ).toMatchObject({ usd: 3, tokens: 15 });
});

test.each([
  [{ spent: 90, held: 0, hard: 100 }, { amount: 10, isCertain: true }, true],
  [{ spent: 90, held: 0, hard: 100 }, { amount: 11, isCertain: true }, false],
  [{ spent: 80, held: 10, hard: 100 }, { amount: 11, isCertain: false }, false],
  // Nobody knows before, and nothing else is under way.
  [{ spent: 99, held: 0, hard: 100 }, { amount: 11, isCertain: false }, true],
  [{ spent: 100, held: 0, hard: 100 }, { amount: 0, isCertain: false }, true],
  [{ spent: 0, held: 0, hard: 0 }, { amount: 1, isCertain: true }, false],
  [{ spent: 500, held: 0, hard: 100 }, { amount: 0, isCertain: true }, true],
])('of %j, a call of %j begins: %s', (spending, call, begins) => {
  expect(isWithinBound(spending, call)).toBe(begins);
});

test('a question has an id of the form that LangGraph gives its own, another one for each bound', () => {
  const question = {
    key: 'spec/day',
    scope: 'ann',
    since: null,
    resetsAt: null,
    spent: 1,
    hard: 2,
  };
  const id = buildQuestionId(question, 't');
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  expect(buildQuestionId({ ...question, spent: 2 }, 't')).toBe(id);
  expect(buildQuestionId({ ...question, hard: 3 }, 't')).not.toBe(id);
});

test.each([
  [0.1, 'must be more than 0.1, the bound so far'],
  [6, 'must be at most 5'],
  [1e7, 'must be at most 1000000'],
  [2, undefined],
])('a raise to %d is answered with %s', (to, fault) => {
  expect(findRaiseFault(to, { unit: 'usd', hard: 100_000_000, most: 5 })).toBe(fault);
});

test.each([
  [{}, undefined],
  [{ hard: undefined }, 'hard'],
  [{ per: 'run' }, 'within'],
  [{ unit: 'calls' }, 'hard'],
  [{ hard: 1e9 }, 'hard'],
  [{ soft: 1 }, 'soft'],
  [{ most: 0.05 }, 'most'],
  [{ timezone: 'Mars/Olympus' }, 'timezone'],
] as const)('a budget with %j has its fault at %s', (more, field) => {
  const { hard, ...rest } = { ...DAY, ...more };
  const budget = { ...rest, ...(hard !== undefined && { hard }) };
  expect(listBudgetFaults([budget]).map((fault) => fault.field)).toEqual(
    field === undefined ? [] : [field],
  );
});

test('a budget of runs can not keep them in the queue', () => {
  const budget: Budget = { name: 'run', per: 'run', unit: 'calls', hard: 1, at: 'wait' };
  expect(listBudgetFaults([budget])).toEqual([
    { at: 0, field: 'at', msg: 'may be wait in budgets alone that several runs share' },
  ]);
});

test('two budgets of one name are refused', () => {
  expect(listBudgetFaults([DAY, DAY])).toEqual([
    { at: 1, field: 'name', msg: 'is that of another budget' },
  ]);
});
