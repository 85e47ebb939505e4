import { expect, test } from 'vitest';
import { readAgentConfig } from '../../../../src/config/agent/agent.ts';
import { checkServerSecrets } from '../../../../src/control-plane/deployments/refused-secrets.ts';

const refused = (...pairs: [name: string, value: string][]): string[] =>
  checkServerSecrets(pairs.map(([name, value]) => ({ name, value })));

test.each([
  [
    'a number that is none',
    'GX_RUNS_PER_MINUTE',
    'many',
    /^secrets\.1\.value: the agent server would not start: GX_RUNS_PER_MINUTE must be/,
  ],
  [
    'a switch that is neither on nor off',
    'FF_RICH_THREADS',
    'perhaps',
    /FF_RICH_THREADS must be true or false/,
  ],
  [
    'a wrong value in a section of gx.json',
    'LANGGRAPH_HTTP',
    '{"disable_mcp":1}',
    /LANGGRAPH_HTTP: "http\.disable_mcp" must be boolean/,
  ],
  ['a section that is no JSON', 'LANGGRAPH_STORE', '{', /LANGGRAPH_STORE is not valid JSON/],
  [
    'graphs without an export',
    'LANGSERVE_GRAPHS',
    '{"a":"./a.ts"}',
    /LANGSERVE_GRAPHS: "graphs\.a"/,
  ],
  [
    'defaults of a graph that are no object',
    'LANGGRAPH_CONFIG',
    '{"a":1}',
    /LANGGRAPH_CONFIG must have an object for the graph "a"/,
  ],
  [
    'a database that is none',
    'POSTGRES_URI_CUSTOM',
    'mysql://x',
    /POSTGRES_URI_CUSTOM must begin with postgresql:/,
  ],
  [
    'a database of several hosts',
    'POSTGRES_URI_CUSTOM',
    'postgresql://u:p@h1:5432,h2:5432/x',
    /POSTGRES_URI_CUSTOM names several hosts/,
  ],
  [
    'several hosts in the query',
    'POSTGRES_URI_CUSTOM',
    'postgresql:///x?host=h1,h2',
    /POSTGRES_URI_CUSTOM names several hosts/,
  ],
  [
    'a way of authentication that there is not',
    'LANGGRAPH_AUTH_TYPE',
    'langsmith',
    /LANGGRAPH_AUTH_TYPE can't be honoured/,
  ],
])(
  'a secret that would stop the server is refused with its reason: %s',
  (_, name, value, sentence) => {
    expect(refused(['OPENAI_API_KEY', 'x'], [name, value])).toEqual([
      expect.stringMatching(sentence),
    ]);
    expect(() => readAgentConfig({ DATABASE_URI: 'postgresql://x', [name]: value })).toThrow(
      /^Configuration: /,
    );
  },
);

test.each(['GX_SERVER_HOST', 'LANGGRAPH_SERVER_HOST'])(
  '%s may be every address of a pod, and no other',
  (name) => {
    expect(refused([name, '::'])).toEqual([]);
    expect(refused([name, '0.0.0.0'])).toEqual([]);
    expect(refused(['A', 'x'], [name, '127.0.0.1'])).toEqual([
      `secrets.1.value: ${name} must be :: (both families) or 0.0.0.0 (IPv4), because a pod is reached by its own address`,
    ]);
  },
);

test('a refusal never shows the value', () => {
  const hidden = 'postgres-but-hidden';
  expect(
    refused(['POSTGRES_URI_CUSTOM', hidden], ['LANGGRAPH_HTTP', `{"cors":"${hidden}"}`]).join(),
  ).not.toContain(hidden);
});

test('what the server takes or passes over is accepted', () => {
  const names = [
    'GX_CONTROL_PLANE_API_KEY',
    'FF_USE_CORE_API',
    'REDIS_CLUSTER',
    'CHECKPOINT_BATCH_DELAY',
    'OPENAI_API_KEY',
  ];
  expect(refused(...names.map((name): [string, string] => [name, 'anything']))).toEqual([]);
  expect(refused(['LANGGRAPH_HTTP', '{"colour":1}'])).toEqual([]);
  expect(
    refused(
      ['FF_RICH_THREADS', 'false'],
      ['POSTGRES_URI_CUSTOM', 'postgresql://db/x'],
      ['GX_RUNS_PER_MINUTE', ''],
    ),
  ).toEqual([]);
});
