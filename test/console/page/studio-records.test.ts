import { expect, test } from 'vitest';
import {
  cronCatalog,
  buildItemCatalog,
  runCatalog,
  listStoredParts,
  describeWebhook,
  type Catalog,
} from '../../../src/console/page/studio/records/catalogs.ts';
import { formatBytes } from '../../../src/console/page/studio/byte-text.ts';
import {
  describeCall,
  describeUnreported,
  describeUsage,
} from '../../../src/console/page/studio/usage-text.ts';
import { listRefusal } from '../../../src/console/page/studio/records/list-refusal.ts';
import { readListedRecord } from '../../../src/console/page/studio/records/listed-record.ts';
import { buildTraceAddress } from '../../../src/console/page/studio/agent-answers.ts';
import { ScannedJson } from '../../../src/console/page/studio/json/json-text.ts';

const cells = ({ columns }: Catalog, fields: Record<string, unknown>) =>
  Object.fromEntries(columns.map(({ head, cell }) => [head, cell(fields)]));

test('a cron shows when it fires next, unless it rests or has ended', () => {
  const next_run_date = '2027-01-01T00:00:00Z';
  expect(
    cells(cronCatalog, { schedule: '* * * * *', timezone: null, next_run_date, enabled: true }),
  ).toMatchObject({
    Schedule: { text: '* * * * *' },
    Zone: { text: 'UTC' },
    Next: { time: next_run_date },
    Ends: { time: '' },
  });
  expect(cells(cronCatalog, { next_run_date, enabled: false })['Next']).toEqual({
    text: 'It rests',
  });
  expect(cells(cronCatalog, { next_run_date: 'x' })['Next']).toEqual({ text: 'Never again' });
});

test.each([
  [null, ''],
  [{ state: 'pending', attempts: 0, last_error: null }, 'pending'],
  [{ state: 'sent', attempts: 1, last_error: null }, 'sent after 1 attempt'],
  [
    { state: 'failed', attempts: 3, last_error: 'It answered 500.' },
    'failed after 3 attempts: It answered 500.',
  ],
  [{ state: {}, attempts: 'x' }, ''],
])('the webhook %j is shown as "%s"', (status, words) => {
  expect(describeWebhook(status)).toBe(words);
});

test.each([
  [null, ''],
  [{ input: 0, output: 0, cost_usd: null }, '0 in, 0 out'],
  [{ input: 1234, output: 56, cost_usd: 0.0012 }, '1,234 in, 56 out, $0.001200'],
  [{ input: 1234, output: 56, cost_usd: 12.345 }, '1,234 in, 56 out, $12.35'],
])('the usage of a run, %j, is "%s"', (usage, words) => {
  expect(describeUsage(usage)).toBe(words);
});

test.each([
  [null, ''],
  [{ unreported: 0 }, ''],
  [{ unreported: 2, failed: 2 }, ''],
  [{ unreported: 1, failed: 0 }, '1 call reported nothing: set `stream_usage`'],
  [
    { unreported: 3, failed: 0, unreported_models: ['a', 'b', 'c', 'd'] },
    '3 calls of a, b, c reported nothing: set `stream_usage`',
  ],
  [{ unreported: 1, unreported_models: [{}] }, '1 call reported nothing: set `stream_usage`'],
])('of the usage %j is said: "%s"', (usage, words) => {
  expect(describeUnreported(usage)).toBe(words);
});

test('a call shows its price, or that it reported nothing', () => {
  const call = {
    run: 'r',
    node: 'n',
    model: 'm',
    input: 3,
    output: 2,
    isReported: true,
    cost: 0.25,
  };
  expect(describeCall(call)).toBe('3 in, 2 out, $0.25');
  expect(describeCall({ ...call, isReported: false })).toBe('reported nothing');
});

test('ids of a hostile agent stay one part of a path', () => {
  expect(runCatalog('../a').whole?.({ run_id: '../../info?x=#' })).toBe(
    'threads/..%2Fa/runs/..%2F..%2Finfo%3Fx%3D%23',
  );
});

test('a store is searched by meaning only where somebody asks for it', () => {
  expect(buildItemCatalog(['a'], { query: '', filter: {} }).body).toEqual({
    namespace_prefix: ['a'],
    filter: {},
  });
  expect(buildItemCatalog([], { query: 'warm', filter: { kind: 'note' } }).body).toMatchObject({
    query: 'warm',
    filter: { kind: 'note' },
  });
});

test('the room of a thread is listed by its parts, the largest first', () => {
  const answer = {
    checkpoints: { count: 2, bytes: 20 },
    pending_writes: { count: 1, bytes: 10 },
    channel_values: { count: 3, bytes: 300, by_channel: { messages: { count: 3, bytes: 300 } } },
  };
  expect(listStoredParts(answer)).toEqual([
    { name: 'Values of messages', count: 3, bytes: 300 },
    { name: 'Checkpoints', count: 2, bytes: 20 },
    { name: 'Writes of steps', count: 1, bytes: 10 },
  ]);
  expect(listStoredParts('nothing')).toHaveLength(2);
  expect([formatBytes(999), formatBytes(1000), formatBytes(20_500_000)]).toEqual([
    '999 bytes',
    '1.0 kB',
    '20.5 MB',
  ]);
});

test.each([
  ['that caused it', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }, 'a'.repeat(32)],
  ['of its own', undefined, '01234567012340128012012345678901'],
  [
    'of its own, where the other one is no trace',
    { traceparent: '../x' },
    '01234567012340128012012345678901',
  ],
])('a run links to the trace %s', (_, trace, id) => {
  const run = { run_id: '01234567-0123-4012-8012-012345678901', kwargs: { trace } };
  expect(buildTraceAddress({ trace_link: 'https://jaeger.example/trace/{trace_id}?x' }, run)).toBe(
    `https://jaeger.example/trace/${id}?x`,
  );
  for (const trace_link of [
    undefined,
    7,
    'https://jaeger.example',
    'javascript:window.hacked={trace_id}',
    'http:///{trace_id}',
  ])
    expect(buildTraceAddress({ trace_link }, run)).toBeUndefined();
  expect(
    buildTraceAddress({ trace_link: 'https://jaeger.example/{trace_id}' }, { run_id: '../..' }),
  ).toBeUndefined();
});

test('a list that the agent does not serve or show is one sentence', () => {
  expect(listRefusal({ status: 404, message: 'Not Found' }, 'crons')).toBe(
    'This agent does not serve crons.',
  );
  expect(listRefusal({ status: 404, message: 'Thread with ID 1 not found' }, 'runs')).toBe(
    'Thread with ID 1 not found',
  );
  expect(listRefusal({ status: 403, message: 'Forbidden' }, 'crons')).toBe(
    'This agent does not let you see crons.',
  );
  expect(listRefusal({ message: 'No answer.' }, 'crons')).toBe('No answer.');
});

test('a record keeps its short fields, and leaves long ones and those that are no JSON', async () => {
  const json = new ScannedJson(`{"key": "a", "value": "${'x'.repeat(5000)}", "bad": nothing}`);
  expect((await readListedRecord(json, json.root)).fields).toEqual({
    key: 'a',
    value: undefined,
    bad: undefined,
  });
});
