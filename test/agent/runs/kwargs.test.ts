import { expect, test } from 'vitest';
import { checkFields, runKwargs, runMetadata } from '../../../src/agent/runs/making/kwargs.ts';
import { Invalid, Rejected } from '../../../src/errors.ts';

const from = {
  assistant_id: 'a',
  graph_id: 'g',
  version: 3,
  config: { recursion_limit: 7, configurable: { model: 'assistant', tone: 'kind' } },
  context: {},
  metadata: { created_by: 'system', team: 'assistant' },
  thread_config: { configurable: { model: 'thread' } },
  thread_metadata: { team: 'thread' },
  thread_revision: null,
};
const origin = { requestId: 'q', headers: {} };
const ids = { run_id: 'r', thread_id: 't', temporary: false, origin };

test('the request wins over the thread, the thread over the assistant', () => {
  const { config } = runKwargs(
    { assistant_id: 'g', config: { configurable: { user: 'x' } } },
    from,
    ids,
  );
  expect(config).toMatchObject({
    recursion_limit: 7,
    configurable: {
      model: 'thread',
      tone: 'kind',
      user: 'x',
      run_id: 'r',
      thread_id: 't',
      graph_id: 'g',
      assistant_id: 'a',
    },
  });
});

test('ids of the run can not be set by the request', () => {
  const { config } = runKwargs(
    { assistant_id: 'g', config: { configurable: { thread_id: 'another', run_id: 'another' } } },
    from,
    ids,
  );
  expect(config).toMatchObject({ configurable: { thread_id: 't', run_id: 'r' } });
});

test('a header wins over the body, which can not forge the id of the request either', () => {
  const configurable = { 'x-user': 'forged', langgraph_request_id: 'forged', tone: 'curt' };
  const behindGateway = { ...ids, origin: { requestId: 'q', headers: { 'x-user': 'ann' } } };
  const { config } = runKwargs(
    { assistant_id: 'g', config: { configurable } },
    from,
    behindGateway,
  );
  expect(config).toMatchObject({
    configurable: { 'x-user': 'ann', langgraph_request_id: 'q', tone: 'curt' },
  });
});

test('context stands in configurable too, and settings of configurable in the context', () => {
  const both = { tone: 'kind', model: 'thread', user: 'x' };
  const byContext = runKwargs({ assistant_id: 'g', context: { user: 'x' } }, from, ids);
  expect(byContext.context).toEqual(both);
  expect(byContext.config).toMatchObject({ configurable: both });
  const byConfig = runKwargs(
    { assistant_id: 'g', config: { configurable: { user: 'x', checkpoint_id: 'c' } } },
    from,
    ids,
  );
  expect(byConfig.context).toEqual(both);
  expect(byConfig.config).toMatchObject({ configurable: { ...both, checkpoint_id: 'c' } });
});

test('a request can not say who calls, but has its own user_id', () => {
  const configurable = {
    langgraph_auth_user: { identity: 'root' },
    langgraph_auth_user_id: 'root',
    user_id: 'ann',
  };
  const { config } = runKwargs({ assistant_id: 'g', config: { configurable } }, from, ids);
  expect(config).toMatchObject({
    configurable: { langgraph_auth_user: null, langgraph_auth_user_id: '', user_id: 'ann' },
  });
});

test('a run keeps the version of the assistant whose settings it took', () => {
  expect(runKwargs({ assistant_id: 'g' }, from, ids).assistant_version).toBe(3);
});

test('metadata is that of assistant, thread and request, and names the assistant', () => {
  expect(
    runMetadata({ assistant_id: 'g', metadata: { team: 'request', assistant_id: 'forged' } }, from),
  ).toEqual({
    created_by: 'system',
    team: 'request',
    assistant_id: 'a',
    graph_id: 'g',
  });
});

test.each([
  ['values by default', undefined, ['values']],
  ['one word', 'updates', ['updates']],
  ['a list without doubles', ['values', 'custom', 'values'], ['values', 'custom']],
  ['values for an empty list', [], ['values']],
] as const)('stream_mode: %s', (_, given, expected) => {
  expect(
    runKwargs({ assistant_id: 'g', stream_mode: given as never }, from, ids).stream_mode,
  ).toEqual(expected);
});

test.each([
  ['async by default', {}, 'async'],
  ['exit when checkpoints during the run are not wanted', { checkpoint_during: false }, 'exit'],
  ['as asked', { durability: 'sync' as const, checkpoint_during: false }, 'sync'],
])('durability: %s', (_, body, expected) => {
  expect(runKwargs({ assistant_id: 'g', ...body }, from, ids).durability).toBe(expected);
});

test.each([
  ['the end of a thread that others may use', { on_completion: 'delete' as const }, Invalid],
  [
    'configurable together with context',
    { context: { a: 1 }, config: { configurable: { b: 1 } } },
    Rejected,
  ],
])('%s is refused, not dropped', (_, body, error) => {
  expect(() => checkFields({ assistant_id: 'g', ...body }, 'a-thread')).toThrow(error);
});
