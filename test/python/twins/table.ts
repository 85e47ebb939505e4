import type { LeftOut } from '../left-out.ts';

/*
 * The tests of the agent server that run over Python twins of their graphs, too. Each file has its tests that can't,
 * or groups of them, with the reason.
 */

const ONLY_JAVASCRIPT = 'Only JavaScript can throw such a value.';
const ZOD = 'It is about schemas in zod; those of Python graphs have tests in test/python.';
const ONE_HANDLER = 'A module in Python has one handler of json for all kinds of records.';
const SERIALIZER = "LangGraph's serializer in Python refuses such a value.";
const BROKEN = 'Its gx.json names no graph that could have a twin.';

export const TWINS: Record<string, LeftOut> = {
  'test/agent/wire/contract.test.ts': {
    'a graph of annotations on a server without TypeScript is described by its fields and the zod schema of its context':
      ZOD,
  },
  'test/agent/wire/broken-graphs.test.ts': {
    'a graph that > throws a text fails alone, with a sentence': ONLY_JAVASCRIPT,
    'a graph that > throws nothing fails alone, with a sentence': ONLY_JAVASCRIPT,
    'a graph that > throws null fails alone, with a sentence': ONLY_JAVASCRIPT,
    'a graph that > throws a symbol fails alone, with a sentence': ONLY_JAVASCRIPT,
    'a graph that > throws a promise that fails fails alone, with a sentence': ONLY_JAVASCRIPT,
    'a graph that > throws what defends itself fails alone, with a sentence': ONLY_JAVASCRIPT,
    'a graph that > rejects with nothing fails alone, with a sentence': ONLY_JAVASCRIPT,
    'a graph that > throws a circle fails alone, with a sentence': ONLY_JAVASCRIPT,
    'a graph that > returns a circle fails alone, with a sentence': SERIALIZER,
    'a graph that > writes something that fails when it is told to its stream fails where that is read, with a sentence':
      'The JSON of such an object is null in Python.',
    'a graph that > returns a function has a result all the same': SERIALIZER,
    'a graph that > returns characters that the database does not hold has a result all the same':
      'Half a character becomes a question mark in Python.',
    'a graph that > eats all memory is given up after the two lives that are set, and costs its neighbours none':
      'The limit of a Python process has tests of its own in test/python/ends.test.ts.',
  },
  'test/agent/wire/values.test.ts': {},
  'test/agent/budgets/runs.test.ts': {},
  'test/agent/ag-ui/callers.test.ts': {},
  'test/agent/ag-ui/copilotkit.test.ts': {},
  'test/agent/ag-ui/hostile.test.ts': {},
  'test/agent/ag-ui/clients.test.ts': {},
  'test/agent/ag-ui/requests.test.ts': {},
  'test/agent/ag-ui/joins.test.ts': {},
  'test/agent/ag-ui/random.test.ts': {},
  'test/agent/wire/cancel.test.ts': {},
  'test/agent/wire/streams.test.ts': {},
  'test/agent/wire/assistant-versions.test.ts': {},
  'test/agent/wire/thread-state.test.ts': {},
  'test/agent/wire/steering.test.ts': {},
  'test/agent/wire/strict-resume.test.ts': {},
  'test/agent/wire/openers.test.ts': {},
  'test/agent/wire/held-threads.test.ts': {},
  'test/agent/wire/failed-calls.test.ts': {},
  'test/agent/wire/health.test.ts': {},
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
  'test/agent/once/protocols.test.ts': {},
  'test/agent/once/requests.test.ts': {},
  'test/agent/once/callers.test.ts': {},
  'test/agent/wire/encryption.test.ts': {},
  'test/agent/wire/encryption-module.test.ts': {},
  'test/agent/wire/encryption-contexts.test.ts': {},
  'test/agent/wire/encryption-copies.test.ts': {},
  'test/agent/wire/encryption-faults.test.ts': {
    'a start says in one sentence what is wrong with the module > it leaves some records out':
      ONE_HANDLER,
    'a start says in one sentence what is wrong with the module > it names a kind that does not exist':
      ONE_HANDLER,
    'a start says in one sentence what is wrong with the module > its handler for contexts is no function':
      'The package langgraph_sdk takes it by a decorator.',
    'a start says in one sentence what is wrong with the module > a handler is no function':
      'The package langgraph_sdk itself refuses such a handler.',
  },
  'test/agent/wire/auth.test.ts': {},
  'test/agent/wire/auth-filters.test.ts': {},
  'test/agent/custom-routes/custom-routes.test.ts': {
    'a route of the user > that fails is a 500 in the words of the server, and what it throws stays in the log':
      'Starlette answers a failure itself; test/python/http-app.test.ts shows it.',
  },
  'test/agent/custom-routes/guarded-routes.test.ts': {
    'an application of @hono/zod-openapi > checks what it is sent, as it says it does':
      'FastAPI refuses with the status 422.',
  },
  'test/agent/custom-routes/webhooks-inside.test.ts': {},
  'test/agent/wire/keys.test.ts': {},
  'test/agent/wire/records.test.ts': {},
  'test/agent/wire/fields.test.ts': {},
  'test/agent/wire/sdk.test.ts': {
    'runs > a graph that throws what is no error takes nothing down': ONLY_JAVASCRIPT,
  },
  'test/agent/wire/webhooks.test.ts': {},
  'test/agent/expiry/expiry.test.ts': {},
  'test/agent/wire/queries.test.ts': {},
  'test/agent/wire/defaults.test.ts': {},
  'test/agent/wire/settings.test.ts': {},
  'test/agent/wire/contexts.test.ts': {},
  'test/agent/event-streaming/streaming.test.ts': {},
  'test/agent/event-streaming/commands.test.ts': {},
  'test/agent/event-streaming/answers.test.ts': {
    'of two tabs that answer at once one is the answer, and the input of the other starts anew':
      'It reads the text that JavaScript makes of an object.',
  },
  'test/agent/event-streaming/websocket.test.ts': {},
  'test/agent/event-streaming/extensions.test.ts': {
    'a stream transformer > that breaks fails the run, and one that fails to end does not':
      'LangGraph in Python streams nothing more behind a transformer that fails to end.',
  },
  'test/agent/event-streaming/remote-graph.test.ts': {},
  'test/agent/wire/tool-stops.test.ts': {},
  'test/agent/wire/handed-on.test.ts': {},
  'test/agent/wire/lost-leases.test.ts': {},
  'test/agent/wire/taken-up.test.ts': {},
  'test/crash/dead-workers.test.ts': {},
  'test/agent/wire/processes.test.ts': {},
  'test/agent/wire/adversity.test.ts': {},
  'test/agent/wire/told-early.test.ts': {},
  'test/agent/wire/leaving-readers.test.ts': {},
  'test/agent/wire/message-ids.test.ts': {},
  'test/agent/wire/crons.test.ts': {},
  'test/agent/wire/cron-ticks.test.ts': {},
  'test/agent/wire/key-rotation.test.ts': {},
  'test/agent/tracing/passed-on.test.ts': {},
  'test/agent/a2a/clients.test.ts': {},
  'test/agent/a2a/odd-times.test.ts': {},
  'test/agent/a2a/push-off.test.ts': {},
  'test/agent/a2a/random.test.ts': {},
  'test/agent/custom-routes/calls-inside.test.ts': {},
  'test/agent/mcp/clients.test.ts': {},
  'test/agent/mcp/random.test.ts': {},
  'test/agent/queue/tickets.test.ts': {},
  'test/agent/revisions/pins.test.ts': {},
  'test/agent/revisions/pinned-calls.test.ts': {},
  'test/agent/revisions/shares.test.ts': {},
  'test/agent/stream/valkey/agent/streams.test.ts': {},
  'test/agent/wire/bad-bodies.test.ts': {},
  'test/agent/wire/bad-input.test.ts': {
    'a start > with a gx.json that is no JSON ends with one sentence': BROKEN,
    'a start > with a gx.json with an unknown key ends with one sentence': BROKEN,
    'a start > with a graph file that is not there ends with one sentence': BROKEN,
  },
  'test/agent/wire/batches.test.ts': {},
  'test/agent/wire/connections.test.ts': {},
  'test/agent/wire/encryption-places.test.ts': {},
  'test/agent/wire/farewell.test.ts': {},
  'test/crash/full-database.test.ts': {},
  'test/agent/wire/limits.test.ts': {},
  'test/agent/wire/metrics.test.ts': {},
  'test/agent/wire/other-names.test.ts': {},
  'test/agent/wire/outlived-keys.test.ts': {},
  'test/agent/wire/protocols.test.ts': {},
  'test/agent/wire/work-reports.test.ts': {},
};
