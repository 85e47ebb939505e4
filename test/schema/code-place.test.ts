import { expect, test } from 'vitest';
import { parseCodePlace, isEmbedCode, decideLanguage } from '../../src/schema/agent/code-place.ts';

test.each([
  [
    './chat.ts:graph',
    { language: 'javascript', place: './chat.ts', isModule: false, name: 'graph' },
  ],
  [
    'chat.mjs:default',
    { language: 'javascript', place: 'chat.mjs', isModule: false, name: 'default' },
  ],
  [
    './graphs.runner:echo',
    { language: 'javascript', place: './graphs.runner', isModule: false, name: 'echo' },
  ],
  ['./chat:graph', { language: 'javascript', place: './chat', isModule: false, name: 'graph' }],
  ['chat:graph', { language: 'python', place: 'chat', isModule: true, name: 'graph' }],
  [
    './src/chat.py:graph',
    { language: 'python', place: './src/chat.py', isModule: false, name: 'graph' },
  ],
  [
    'chat.py:make_graph',
    { language: 'python', place: 'chat.py', isModule: false, name: 'make_graph' },
  ],
  [
    'deep_agent.graph:get_agent',
    { language: 'python', place: 'deep_agent.graph', isModule: true, name: 'get_agent' },
  ],
  [
    'langgraph.templates.agent:graph',
    { language: 'python', place: 'langgraph.templates.agent', isModule: true, name: 'graph' },
  ],
])('the language of %s follows from its place', (reference, expected) => {
  expect(parseCodePlace(reference)).toEqual(expected);
});

test('a file without the name of an export has a language, too', () => {
  expect(['./app.py', './app.ts', 'my.app:app'].map(decideLanguage)).toEqual([
    'python',
    'javascript',
    'python',
  ]);
});

test('an embedding is a place in code, or a provider and a model', () => {
  const places = ['./embed.ts:embed', 'src/embed.py:embed', 'my.embed:embed'];
  const models = ['openai:text-embedding-3-small', 'ollama:nomic-embed-text:latest'];
  expect([...places, ...models].filter(isEmbedCode)).toEqual(places);
});
