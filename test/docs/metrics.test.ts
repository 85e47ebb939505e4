import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const METRIC =
  /['`]((?:gx|controller_runtime|workqueue|informer|missed|watch|rest_client|leader)_[a-z_]+)['`]/g;

test('every metric that a process registers stands on the page of metrics', () => {
  const page = readFileSync('docs/reference/metrics.md', 'utf8');
  const sources = globSync('src/**/*.ts')
    .map((file) => readFileSync(file, 'utf8'))
    .filter((text) => /prom-client|measures/.test(text));
  const names = sources.flatMap((text) => [...text.matchAll(METRIC)]).map(([, name = '']) => name);
  const gauges = sources
    .flatMap((text) => [...text.matchAll(/(?<![#.])gauge\('([a-z_]+)'/g)])
    .map(([, name = '']) => `gx_api_${name}`);
  expect(names.length).toBeGreaterThan(20);
  expect(gauges.length).toBeGreaterThan(5);
  expect([...names, ...gauges].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
