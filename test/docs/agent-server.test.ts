import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { GxJson, PASSED_OVER } from '../../src/schema/agent/gx-json.ts';
import { NOT_SERVED } from '../../src/config/agent/agent.ts';

const page = readFileSync('docs/reference/agent-server.md', 'utf8');
const pages = ['docs/reference/agent-server.md', ...globSync('docs/reference/agent-server/*.md')]
  .map((file) => readFileSync(file, 'utf8'))
  .join('');

test('each page on one subject is at most 300 lines long, and the first page lists it', () => {
  const parts = globSync('docs/reference/agent-server/*.md');
  expect(parts.length).toBeGreaterThan(10);
  const lines = (file: string): number => readFileSync(file, 'utf8').split('\n').length;
  expect(parts.filter((file) => lines(file) > 300)).toEqual([]);
  expect(parts.filter((file) => !page.includes(file.slice('docs/reference/'.length)))).toEqual([]);
});

test('every setting of the agent server stands on its page', () => {
  const source = ['agent', 'agent-access', 'webhooks']
    .map((name) => readFileSync(`src/config/agent/${name}.ts`, 'utf8'))
    .join('');
  const names = [...source.matchAll(/\[(?:'[A-Z_]+'(?:, )?)+\]/g)].flatMap(([list]) =>
    [...list.matchAll(/'([A-Z_]+)'/g)].map(([, name]) => name),
  );
  expect(names.length).toBeGreaterThan(30);
  const refused = new Set<string | undefined>(NOT_SERVED.flatMap(({ names: some }) => some));
  expect(names.filter((name) => !refused.has(name) && !page.includes(`\`${name}\``))).toEqual([]);
});

test('every key of gx.json that changes how the server answers stands there too', () => {
  const groups = {
    http: GxJson.properties.http,
    store: GxJson.properties.store,
    'webhooks.url': GxJson.properties.webhooks.properties.url,
  };
  const keys = Object.entries(groups).flatMap(([group, { properties }]) =>
    Object.keys(properties).map((key) => `${group}.${key}`),
  );
  const built = keys.filter((key) => !(key in PASSED_OVER));
  const told = (key: string): boolean =>
    pages.includes(`\`${key}\``) || pages.includes(`\`${key.replace('http.disable', '')}\``);
  expect(built.filter((key) => !told(key))).toEqual([]);
});
