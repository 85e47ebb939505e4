/*
 * The tests of the agent server that run over graphs in JavaScript alone, each with the reason. The others are in the
 * table beside this one.
 */

const NO_GRAPH = 'No graph runs in it.';
const ANY_GRAPH = 'It is about the server, and the graphs that it runs make no difference.';
const BOTH = 'It starts graphs of both languages itself.';

export const WITHOUT_TWINS: Readonly<Record<string, string>> = {
  'test/agent/db/limited-locks.test.ts': NO_GRAPH,
  'test/agent/db/migration-lock.test.ts': NO_GRAPH,
  'test/agent/db/pool.test.ts': NO_GRAPH,
  'test/agent/db/unreleased.test.ts': NO_GRAPH,
  'test/agent/dev/embedded-postgres/start.test.ts': NO_GRAPH,
  'test/agent/dev/agent/run.test.ts':
    '`gx dev` over graphs in Python has tests of its own in test/python/dev.test.ts.',
  'test/agent/graph-thread/checkpoints/lists.test.ts':
    'The lists of graphs in Python have tests in test/python/lists.test.ts.',
  'test/agent/graph-types/agent/types.test.ts': 'It is about types of TypeScript.',
  'test/agent/graphs/agent/messages.test.ts':
    'It is the thread of graphs in JavaScript; those of a runner are in test/agent/runner.',
  'test/agent/imports/imports.test.ts':
    'Threads of graphs in Python are imported in test/python/imports.test.ts.',
  'test/agent/queue/older-tables.test.ts': ANY_GRAPH,
  'test/agent/revisions/first-release.test.ts': 'The first release has no graphs in Python.',
  'test/agent/revisions/tokens.test.ts':
    'Tokens of models in Python are counted in test/python/tokens.test.ts.',
  'test/agent/runner/cases.test.ts': BOTH,
  'test/agent/runner/kills.test.ts': BOTH,
  'test/agent/runner/languages.test.ts': BOTH,
  'test/agent/runner/loaded-modules.test.ts': 'It is about modules of JavaScript.',
  'test/agent/sbom/agent/build.test.ts': 'It is about packages that npm and Debian have installed.',
  'test/agent/tracing/logs.test.ts':
    'It logs by a package for JavaScript; lines of graphs in Python are in test/python/runs.test.ts.',
  'test/agent/tracing/through-gateway.test.ts': ANY_GRAPH,
  'test/agent/tracing/traces.test.ts':
    'Traces of graphs in Python have tests of their own in test/python/traces.test.ts.',
  'test/agent/ui/ui.test.ts':
    'Its components are built beside the graph in JavaScript, which makes no difference to them.',
  'test/agent/budgets/queued.test.ts':
    'Runs that stay in the queue have not begun; runs.test.ts has graphs in Python.',
  'test/agent/budgets/tenants.test.ts':
    'Answers to reports tell of these budgets; runs.test.ts has graphs in Python.',
  'test/agent/budgets/shared.test.ts':
    'The database decides about budgets that runs share; runs.test.ts has graphs in Python.',
  'test/agent/usage/ledger.test.ts':
    'Its models are of JavaScript; test/python/usage.test.ts has those of Python.',
  'test/agent/usage/reprice.test.ts': NO_GRAPH,
  'test/agent/usage/reports.test.ts':
    'Reports read the database, and calls are the same whatever language made them.',
  'test/agent/wire/behind-a-proxy.test.ts': ANY_GRAPH,
  'test/agent/wire/behind-the-gateway.test.ts': ANY_GRAPH,
  'test/agent/wire/disabled.test.ts': ANY_GRAPH,
  'test/agent/wire/ends.test.ts': ANY_GRAPH,
  'test/agent/wire/foreign-cookies.test.ts': ANY_GRAPH,
  'test/agent/wire/graph-log.test.ts':
    'It is about a package for JavaScript; lines of graphs in Python are in test/python/runs.test.ts.',
  'test/agent/wire/late-database.test.ts': ANY_GRAPH,
  'test/agent/wire/other-password.test.ts': ANY_GRAPH,
  'test/agent/wire/pages.test.ts':
    'Its graphs are those of the clients in test/matrix; test/python/clients.test.ts has those in Python.',
  'test/agent/wire/passes.test.ts': ANY_GRAPH,
  'test/agent/wire/schemas.test.ts':
    'It is about zod and types of TypeScript; schemas in Python are in test/python/states.test.ts.',
  'test/agent/wire/vendor-variables.test.ts': ANY_GRAPH,
};
