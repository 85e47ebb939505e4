import { expect, test } from 'vitest';
import { readAgentConfig } from '../../src/config/agent/agent.ts';
import { StartError } from '../../src/errors.ts';

const env = { DATABASE_URI: 'postgresql://x' };

test('every setting but the database has a default', () => {
  expect(readAgentConfig(env)).toMatchObject({
    port: 8000,
    host: '::',
    configPath: './gx.json',
    body: {
      bytes: 20 * 1024 * 1024,
      selectionBytes: 1024 * 1024,
      values: 100_000,
      listItems: 1000,
    },
    jobs: {
      slots: 10,
      graceSeconds: 3 * 60,
      maxAttempts: 3,
      maxRecursionLimit: 100_000,
      maxQueued: 100_000,
    },
    callers: { streams: 1000, runsPerMinute: 60_000 },
    trustedProxies: [],
    database: { waitSeconds: 0, statementTimeoutSeconds: 15 * 60 },
    streams: { resumableSeconds: 2 * 60, maxEventBytes: 128 * 1024 * 1024 },
  });
});

test.each([
  [
    'GX_ names win over the ones that deployments bring along',
    { GX_JOBS_PER_WORKER: '3', N_JOBS_PER_WORKER: '7' },
    { jobs: { slots: 3 } },
  ],
  ['an api process runs nothing', { N_JOBS_PER_WORKER: '0' }, { jobs: { slots: 0 } }],
  ['PORT is understood', { PORT: '81' }, { port: 81 }],
])('%s', (_, more, expected) => {
  expect(readAgentConfig({ ...env, ...more })).toMatchObject(expected);
});

test.each([
  [
    'levels are known by their names in Python, too',
    { LOG_LEVEL: 'WARNING' },
    { logLevel: 'warn' },
  ],
  [
    'origins alone',
    { CORS_ALLOW_ORIGINS: 'https://a, https://b' },
    { cors: { allow_origins: ['https://a', 'https://b'] } },
  ],
  [
    'a whole section of origins',
    { CORS_CONFIG: '{"allow_origins":["https://a"],"max_age":5}' },
    { cors: { allow_origins: ['https://a'], max_age: 5 } },
  ],
  [
    'threads that stay as they are when runs are made',
    { FF_RICH_THREADS: 'false' },
    { richThreads: false },
  ],
  [
    'a database of its own',
    { POSTGRES_URI_CUSTOM: 'postgresql://mine' },
    { database: { uri: 'postgresql://mine' } },
  ],
  [
    'sections of the configuration file',
    {
      LANGSERVE_GRAPHS: '{"agent":"./a.ts:graph"}',
      LANGGRAPH_HTTP: '{"cors":null,"disable_store":true}',
    },
    {
      sections: [
        { variable: 'LANGSERVE_GRAPHS', key: 'graphs', value: { agent: './a.ts:graph' } },
        { variable: 'LANGGRAPH_HTTP', key: 'http', value: { disable_store: true } },
      ],
    },
  ],
  [
    'a key-value store',
    { REDIS_URI: 'redis://r', GX_REDIS_URI: 'redis://g' },
    { streams: { store: { uri: 'redis://g', prefix: 'gx:' } } },
  ],
  [
    "a key-value store of one's own",
    { REDIS_URI_CUSTOM: 'rediss://c', GX_REDIS_URI: 'redis://g', REDIS_KEY_PREFIX: 'mine:' },
    { streams: { store: { uri: 'rediss://c', prefix: 'mine:' } } },
  ],
  [
    'names without a meaning here',
    {
      REDIS_CLUSTER: 'true',
      FF_USE_CORE_API: 'true',
      LANGGRAPH_AUTH_TYPE: 'noop',
      FF_RICH_THREADS: 'true',
    },
    {},
  ],
])('%s', (_, more, expected) => {
  expect(readAgentConfig({ ...env, ...more })).toMatchObject(expected);
});

test.each([
  ['encryption of some fields', { GX_AES_JSON_KEYS: 'a,b' }, /GX_AES_JSON_KEYS/],
  ['authentication', { LANGGRAPH_AUTH_TYPE: 'langsmith' }, /LANGGRAPH_AUTH_TYPE/],
  [
    'a wrong value in a section of gx.json',
    { LANGGRAPH_HTTP: '{"disable_a2a":"no"}' },
    /LANGGRAPH_HTTP: "http\.disable_a2a"/,
  ],
  [
    'a section of gx.json that is no JSON',
    { LANGSERVE_GRAPHS: 'agent' },
    /LANGSERVE_GRAPHS is not valid JSON/,
  ],
  ['a database of another kind', { POSTGRES_URI_CUSTOM: 'mysql://y' }, /POSTGRES_URI_CUSTOM/],
  [
    'defaults for a graph that are no settings',
    { LANGGRAPH_CONFIG: '{"a":1}' },
    /LANGGRAPH_CONFIG must have an object/,
  ],
  [
    'logs that are sent somewhere',
    { SELF_HOSTED_LOGS_ENABLED: 'true' },
    /SELF_HOSTED_LOGS_ENABLED/,
  ],
  [
    'an unknown key of the section of origins',
    { CORS_CONFIG: '{"colour":1}' },
    /CORS_CONFIG: colour: Unknown field/,
  ],
  ['a prefix that is no path', { MOUNT_PREFIX: 'agents' }, /MOUNT_PREFIX must begin with a slash/],
])('what this server does not do is not passed over: %s', (_, more, sentence) => {
  expect(() => readAgentConfig({ ...env, ...more })).toThrow(sentence);
});

test('flags win over the environment', () => {
  expect(
    readAgentConfig({ ...env, GX_CONFIG: 'a.json' }, ['--config', 'b.json', '--port', '9']),
  ).toMatchObject({
    configPath: 'b.json',
    port: 9,
  });
});

test('all problems are told at once', () => {
  const start = (): unknown => readAgentConfig({ N_JOBS_PER_WORKER: 'many', PORT: '-1' });
  expect(start).toThrow(StartError);
  expect(start).toThrow(/(?=.*DATABASE_URI)(?=.*N_JOBS_PER_WORKER)(?=.*PORT)/);
});
