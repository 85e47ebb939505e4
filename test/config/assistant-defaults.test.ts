import { expect, test } from 'vitest';
import { parseAssistantDefaults } from '../../src/config/agent/assistant-defaults.ts';

const of = (value: unknown): unknown => parseAssistantDefaults(JSON.stringify(value)).get('a');

test.each([
  [
    'settings under configurable',
    { configurable: { model: 'm' } },
    { config: { configurable: { model: 'm' } }, context: { model: 'm' } },
  ],
  [
    'settings as context',
    { context: { model: 'm' } },
    { config: { configurable: { model: 'm' } }, context: { model: 'm' } },
  ],
  [
    'what is no setting of the graph',
    { recursion_limit: 5 },
    { config: { recursion_limit: 5 }, context: {} },
  ],
  ['nothing', {}, { config: {}, context: {} }],
])("a graph's own assistant gets %s", (_, config, expected) => {
  expect(of({ a: config })).toEqual(expected);
});

test('without the setting, or for another graph, there are no defaults', () => {
  expect(parseAssistantDefaults(undefined).size).toBe(0);
  expect(of({ b: { tags: [] } })).toBeUndefined();
});

test.each([
  ['no JSON', '{', /not valid JSON/],
  ['no object', '[]', /must be a JSON object/],
  ['no object for a graph', '{"a":1}', /an object for the graph "a"/],
  [
    'two names for the settings',
    '{"a":{"context":{},"configurable":{}}}',
    /both context and configurable/,
  ],
  ['settings that are none', '{"a":{"context":3}}', /an object as context/],
])('%s is refused', (_, text, sentence) => {
  expect(() => parseAssistantDefaults(text)).toThrow(sentence);
});
