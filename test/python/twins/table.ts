/*
 * The tests of the agent server that run over Python twins of their graphs, too. Each file has its tests that can't,
 * or groups of them, with the reason.
 */

type LeftOut = Record<string, string>;

const ZOD = 'It is about schemas in zod; those of Python graphs have tests in test/python.';
const INDEX = 'The server does not serve `store.index` beside graphs in Python yet.';

export const TWINS: Record<string, LeftOut> = {
  'test/agent/wire/cancel.test.ts': {},
  'test/agent/wire/contract.test.ts': {
    'a graph of annotations on a server without TypeScript is described by the zod schema of its context alone': ZOD,
    'items of the store are found by meaning, unless they were kept out': INDEX,
  },
  'test/agent/wire/streams.test.ts': {},
  'test/agent/wire/thread-state.test.ts': {},
  'test/agent/wire/steering.test.ts': {},
  'test/agent/wire/openers.test.ts': {},
  'test/agent/wire/held-threads.test.ts': {},
  'test/agent/wire/health.test.ts': {},
  'test/agent/wire/failed-calls.test.ts': {},
  'test/agent/mcp/questions.test.ts': {},
  'test/agent/mcp/wire.test.ts': {},
  'test/agent/mcp/callers.test.ts': {},
  'test/agent/mcp/processes.test.ts': {},
  'test/agent/a2a/wire.test.ts': {},
  'test/agent/a2a/tck.test.ts': {},
  'test/agent/a2a/callers.test.ts': {},
  'test/agent/a2a/processes.test.ts': {},
  'test/agent/a2a/push.test.ts': {},
  'test/agent/wire/files.test.ts': {},
  'test/agent/once/requests.test.ts': {},
  'test/agent/once/callers.test.ts': {},
};

const isIn = (test: string, name: string): boolean => test === name || test.startsWith(`${name} > `);

/** Returns why a test is left out, if it is. */
export const reasonFor = (leftOut: LeftOut, test: string): string | undefined =>
  Object.entries(leftOut).find(([name]) => isIn(test, name))?.[1];

/** Returns the names that are left out, and that no test has. */
export const strays = (leftOut: LeftOut, tests: string[]): string[] =>
  Object.keys(leftOut).filter((name) => !tests.some((test) => isIn(test, name)));
