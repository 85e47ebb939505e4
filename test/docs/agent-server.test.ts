import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { GxJson, PASSED_OVER } from '../../src/schema/agent/gx-json.ts';
import { NOT_SERVED } from '../../src/config/agent.ts';

const page = readFileSync('docs/reference/agent-server.md', 'utf8');

test('every setting of the agent server stands on its page', () => {
  const source = ['agent', 'agent-access', 'webhooks']
    .map((name) => readFileSync(`src/config/${name}.ts`, 'utf8'))
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
  // Switches of functions that do not exist yet change nothing.
  const later = ['http.disable_a2a', 'http.disable_event_streaming'];
  const told = (key: string): boolean =>
    page.includes(`\`${key}\``) || page.includes(`\`${key.replace('http.disable', '')}\``);
  expect(built.filter((key) => !later.includes(key) && !told(key))).toEqual([]);
});
