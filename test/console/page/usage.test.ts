import { expect, test } from 'vitest';
import {
  describeUnpriced,
  listUnreportedModels,
  fillDays,
  formatCost,
  formatCsv,
  readUsageRows,
  sumRows,
  takeTop,
} from '../../../src/console/page/usage/usage-rows.ts';
import { AgentUsageReader } from '../../../src/console/page/usage/agent-usage.ts';

/* The usage of models on the page, from answers that anybody's code gives. */

const { signal } = new AbortController();

const row = (group: string, calls: number, cost: number | null, more: object = {}) => ({
  model: group,
  calls,
  unreported: 0,
  unpriced: cost === null ? calls : 0,
  input: 10 * calls,
  output: calls,
  cost_usd: cost,
  ...more,
});
const read = (...rows: unknown[]) => readUsageRows(rows, 'model');

test('an unknown price is a dash, and sums have what is known', () => {
  const rows = read(row('a', 2, 1.5), row('b', 3, null));
  expect(rows.map(({ cost }) => formatCost(cost))).toEqual(['$1.50', '–']);
  const sums = sumRows(rows);
  expect([sums.calls, formatCost(sums.cost)]).toEqual([5, '$1.50']);
  expect(describeUnpriced(sums)).toBe('3 calls have no price, so no cost has them.');
  expect(formatCost(sumRows(read(row('b', 3, null))).cost)).toBe('–');
  expect(formatCost(0.000123)).toBe('$0.000123');
});

test('an answer of any form makes rows, and no number that is none', () => {
  for (const answer of [undefined, null, 'x', {}, 7])
    expect(readUsageRows(answer, 'model')).toEqual([]);
  expect(
    read(null, { model: {}, calls: 'many', cost_usd: -1, input: Infinity, output: -5 }),
  ).toEqual(
    Array.from({ length: 2 }, () => ({
      group: '',
      calls: 0,
      unreported: 0,
      unpriced: 0,
      input: 0,
      output: 0,
      cost: undefined,
    })),
  );
});

test('the top is by cost, then by tokens', () => {
  const rows = read(
    row('cheap', 90, 0.1),
    row('free', 5, null),
    row('dear', 1, 9),
    row('none', 1, null),
  );
  expect(takeTop(rows, 3).map(({ group }) => group)).toEqual(['dear', 'cheap', 'free']);
});

test('each day has a row, the last one first', () => {
  const rows = readUsageRows([{ ...row('', 4, 1), day: '2026-02-28' }], 'day');
  expect(fillDays(rows, '2026-03-01', 3).map(({ group, calls }) => [group, calls])).toEqual([
    ['2026-03-01', 0],
    ['2026-02-28', 4],
    ['2026-02-27', 0],
  ]);
});

test('models that report no tokens are named, with what helps', () => {
  const models = read(
    row('gpt', 4, 1),
    row('llama', 4, null, { unreported: 3 }),
    row('', 1, null, { unreported: 1 }),
  );
  expect(listUnreportedModels(models)).toEqual([
    '3 calls of llama reported no tokens, so no sum has them. In Python, set stream_usage=True on the model.',
    '1 call of an unnamed model reported no tokens, so no sum has them. In Python, set stream_usage=True on the model.',
  ]);
});

test('a table for spreadsheets has no formula of a user', () => {
  expect(formatCsv([['=1+1', '@x', '-2', 'a,"b"', 'c\nd', -2]])).toBe(
    `'=1+1,'@x,'-2,"a,""b""","c\nd",-2\r\n`,
  );
});

test('a file has all pages of an agent, and one that names a page twice ends it', async () => {
  const asked: string[] = [];
  const reader = new AgentUsageReader((path) => {
    asked.push(path);
    const offset = Number(/offset=(\d+)/.exec(path)?.[1]);
    const answer = [
      { day: '2026-03-01', user: 'ann', model: 'gpt', calls: offset + 1, cost_usd: null },
    ];
    return Promise.resolve(
      new Response(JSON.stringify(answer), { headers: { 'x-pagination-next': '1000' } }),
    );
  });
  const text = await reader.readFile('2026-03-01', 7, signal);
  expect(asked).toHaveLength(2);
  expect(asked[0]).toContain('from=2026-02-23T00:00:00.000Z&group_by=day,assistant,user,model');
  expect(text.split('\r\n').slice(0, 3)).toEqual([
    'day,assistant,user,model,calls,failed,unreported,unpriced,input,cache_read,output,cost_usd',
    '2026-03-01,,ann,gpt,1,,,,,,,',
    '2026-03-01,,ann,gpt,1001,,,,,,,',
  ]);
});

test('an agent that lists no assistants is shown by their ids', async () => {
  const reader = new AgentUsageReader((path) =>
    path === 'assistants/search'
      ? Promise.reject(new Error('forbidden'))
      : Promise.resolve(new Response(JSON.stringify([{ assistant: 'a', calls: 1 }]))),
  );
  const { assistant, names } = await reader.read('2026-03-01', 7, signal);
  expect([assistant[0]?.group, names.size]).toEqual(['a', 0]);
});
