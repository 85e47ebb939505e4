import { readFileSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { RecordedPrice } from '../../../dev/prices/main.ts';
import { Prices } from '../../../src/agent/prices/table.ts';

const prices = new Prices();
const RECORDED = JSON.parse(
  readFileSync('test/agent/prices/recorded.json', 'utf8'),
) as RecordedPrice[];

test('prices are those of the package from which the table comes', () => {
  expect(RECORDED.length).toBeGreaterThan(300);
  const ours = RECORDED.map(
    ({ provider, model, tokens, at }) =>
      prices.findCost({ provider, model, tokens, at: new Date(at) })?.nano,
  );
  const others = RECORDED.filter(
    ({ nano }, at) => Math.abs((ours[at] ?? -1e12) - (nano ?? -1e12)) > 1,
  );
  expect(others).toEqual([]);
});

test('what nobody knows has no price, and not zero', () => {
  const tokens = { input: 10, output: 10 };
  const at = new Date();
  expect(prices.findCost({ provider: 'ollama', model: 'llama3.2', tokens, at })).toBeUndefined();
  expect(prices.findCost({ provider: 'openai', model: undefined, tokens, at })).toBeUndefined();
});

test('an hour in a cache costs what the provider asks for it', () => {
  const call = { provider: 'anthropic', model: 'claude-sonnet-4-5-20250929', at: new Date() };
  const tokens = { input: 1000, output: 0 };
  const hour = prices.findCost({ ...call, tokens: { ...tokens, cache_write_1h: 1000 } });
  const usual = prices.findCost({ ...call, tokens: { ...tokens, cache_write: 1000 } });
  expect([hour?.nano, usual?.nano]).toEqual([6_000_000, 3_750_000]);
});

test('the table is small, and says when it is old', () => {
  expect(statSync('src/agent/prices/prices.json').size).toBeLessThan(300_000);
  const date = new Date(prices.date).getTime();
  const days = (count: number): Date => new Date(date + count * 86_400_000);
  expect([prices.isOld(days(180)), prices.isOld(days(181))]).toEqual([false, true]);
});

test('prices and names of models of gx.json come before those of the table', () => {
  const own = new Prices({
    prices: {
      'llama3.2': { input: 0, output: 0 },
      'openai/gpt-4.1': { input: 1, output: 2, cache_read: 0.5 },
    },
    models: { 'our-deployment': 'gpt-4.1', 'our-claude': 'claude-sonnet-4-5' },
  });
  const find = (provider: string, model: string) =>
    own.findCost({
      provider,
      model,
      tokens: { input: 1000, output: 100, cache_read: 500 },
      at: new Date('2026-09-01T00:00:00Z'),
    });
  expect(find('ollama', 'llama3.2')).toEqual({ nano: 0, from: 'gx.json' });
  expect(find('openai', 'our-deployment')).toEqual({ nano: 950_000, from: 'gx.json' });
  expect(find('azure', 'our-deployment')?.from).toMatch(/^table of /);
  expect(find('anthropic', 'our-claude')?.nano).toBe(500 * 3000 + 500 * 300 + 100 * 15_000);
});
