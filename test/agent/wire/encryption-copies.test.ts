import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../../kit/until.ts';
import {
  betrayingRows,
  call,
  canary,
  openEncrypted,
  type Encrypted,
} from '../../kit/postgres-encrypted.ts';

/* A module that encrypts one key of each record finds that key wherever the server copies a record to. */

let server: Encrypted;

beforeAll(async () => {
  server = await openEncrypted({
    config: 'test/agent/wire/encryption/graphs/one-key.json',
    env: { MODULE_SECRET: 'a secret of the test' },
  });
});

afterAll(() => server.stop());

const ssn = (name: string): { ssn: string } => ({ ssn: canary(name) });

const FAILS = `/fails?token=${canary('webhook')}`;

test('no table has it, and every reader gets it', async () => {
  const { assistants, threads, runs, crons, store } = server.agent.client;
  const settings = (name: string): object => ({
    configurable: ssn(`${name}-configurable`),
    metadata: ssn(`${name}-labels`),
  });
  const assistant = await assistants.create({
    graphId: 'social',
    config: settings('assistant'),
    metadata: ssn('assistant'),
  });
  expect(assistant).toMatchObject({ config: settings('assistant'), metadata: ssn('assistant') });
  const { assistant_id: by } = await assistants.create({
    graphId: 'social',
    context: ssn('assistant-context'),
  });
  expect(await assistants.get(by)).toMatchObject({ context: ssn('assistant-context') });

  const { thread_id } = await threads.create({ metadata: ssn('thread') });
  const call_ = {
    input: { ...ssn('input'), asks: true },
    config: settings('run'),
    webhook: server.receiver.url + FAILS,
  };
  const run = await runs.create(thread_id, assistant.assistant_id, call_);
  await runs.join(thread_id, run.run_id);
  expect(await runs.get(thread_id, run.run_id)).toMatchObject({
    kwargs: { input: ssn('input'), config: settings('run') },
  });
  expect(
    await runs.wait(thread_id, 'social', { command: { resume: ssn('resume') } }),
  ).toMatchObject(ssn('resume'));
  const commands = {
    update: { ...ssn('update'), asks: false },
    goto: [{ node: 'keep', input: ssn('goto') }],
  };
  const gone = await runs.create(thread_id, 'social', {
    command: commands,
    context: ssn('context'),
    metadata: ssn('run'),
    afterSeconds: 1000,
  });
  expect(await runs.get(thread_id, gone.run_id)).toMatchObject({
    kwargs: { command: commands, context: ssn('context') },
    metadata: ssn('run'),
  });
  expect((await threads.get(thread_id)).metadata).toMatchObject(ssn('thread'));
  await threads.copy(thread_id);
  expect((await threads.getHistory(thread_id)).length).toBeGreaterThan(1);

  const payload = { input: ssn('cron-input'), config: settings('cron') };
  await crons.create('social', { schedule: '0 0 1 1 *', ...payload, metadata: ssn('cron') });
  expect(await crons.search()).toMatchObject([{ payload, metadata: ssn('cron') }]);
  await store.putItem(['notes'], 'one', ssn('item'));
  expect((await store.getItem(['notes'], 'one'))?.value).toEqual(ssn('item'));
  // A waited run whose answer is kept for its key.
  const once = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'of-the-test' },
  };
  const kept = await fetch(`${server.agent.url}/runs/wait`, {
    ...once,
    body: JSON.stringify({ assistant_id: by, input: ssn('once') }),
  });
  expect(await kept.json()).toMatchObject(ssn('once'));
  await Array.fromAsync(
    runs.stream(null, 'social', {
      input: ssn('stream'),
      streamMode: ['values', 'debug', 'checkpoints', 'tasks'],
      streamResumable: true,
    }),
  );
  await until('the webhook is tried', () =>
    server.receiver.at(FAILS).length > 0 ? true : undefined,
  );
  expect(
    (await call(server.agent, 'POST', '/threads/search', { metadata: ssn('thread') })).status,
  ).toBe(422);

  expect(await betrayingRows(server.database)).toEqual([]);
  // All else stays readable.
  expect(JSON.stringify(await server.agent.client.crons.search())).toContain('configurable');
});
